// Addresses of databases: which texts are addresses, and that nobody sees a password.

import Testing

@testable import PostgresStorage

@Suite struct AddressTests {
    @Test(arguments: [
        ("postgres://cumulus:geheim@db.example:5433/n?sslmode=require", "n on db.example:5433"),
        ("postgresql://cumulus@10.0.0.1/notes", "notes on 10.0.0.1"),
        ("postgres://cumulus@/?host=/run/postgresql", "cumulus on /run/postgresql"),
        ("postgres://", "the default on this machine"),
    ])
    func anAddressDescribesItself(url: String, description: String) throws {
        #expect(try PostgresAddress(url).description == description)
    }

    @Test(arguments: [
        "", "notes", "host=db.example dbname=notes", "mysql://db/notes",
        "postgres://a:%zz@db/notes", "postgres://db/notes?nothing=1",
    ])
    func anotherTextIsNone(text: String) {
        let error = #expect(throws: PostgresError.badAddress) { try PostgresAddress(text) }
        #expect(error?.description.contains("zz") == false)
    }

    @Test(arguments: [
        ("", ""),
        ("postgres://cumulus@db/notes", "postgres://cumulus@db/notes"),
        ("postgres://cumulus:geheim@db:1/notes", "postgres://cumulus:…@db:1/notes"),
        ("postgresql://cumulus:ge@heim@db/notes", "postgresql://cumulus:…@db/notes"),
        ("postgres://c:ge:heim@db/n?sslmode=require", "postgres://c:…@db/n?sslmode=require"),
        ("postgres://db/n?user=c&password=ge&port=1", "postgres://db/n?user=c&password=…&port=1"),
        ("postgres://db/n?sslpassword=ge&passfile=f", "postgres://db/n?sslpassword=…&passfile=f"),
        ("postgres://c:a?b@db/n", "postgres://c:…@db/n"),
        ("postgres://c:a/b@db/n", "postgres://c:…@db/n"),
        ("postgres://db?password=a@b", "postgres://db?password=…"),
        ("cumulus:geheim@db/notes", "…"),
    ])
    func aPasswordIsHidden(url: String, shown: String) {
        #expect(PostgresAddress.hidingPassword(in: url) == shown)
    }

    @Test func aPasswordBesideTheURLGoesBefore() throws {
        let address = try PostgresAddress("postgres://cumulus:one@db/notes", password: "two")
        let keywords = address.keywords(application: "cumulusd 7")
        let names = keywords.map(\.name)
        #expect(keywords.last?.value == "two")
        let (url, password) = (names.firstIndex(of: "dbname"), names.firstIndex(of: "password"))
        #expect(try #require(url) < #require(password))
    }
}
