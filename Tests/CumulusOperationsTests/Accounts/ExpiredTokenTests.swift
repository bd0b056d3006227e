// Which tokens a node forgets, and what it must still know.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ExpiredTokenTests {
    private let store: TestStore
    private static let day: Int64 = 24 * 3_600_000
    private static let id = Bytes(repeating: 1, count: 16)

    init() throws {
        store = try TestStore()
        _ = try administer(AddUser(name: "ada", id: Self.id)).get()
        let hashed = HashedPassword(salt: Self.id, hash: Bytes(repeating: 9, count: 32))
        _ = try administer(ResetPassword(hashed, user: "ada")).get()
    }

    private func administer<Asked: ClusterChange>(
        _ change: Asked
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(WriteRequest(change, caller: .administrator))
    }

    private func digest(_ number: Int) -> Bytes { Sessions.digest(of: Bytes("\(number)".utf8)) }

    private func signIn(_ number: Int) throws {
        let user = try #require(try Users.find("ada", in: store.reader))
        let password = try #require(try Passwords.find(of: user.id, in: store.reader))
        let change = SignIn(
            PasswordProof(user: user, password: password.version),
            NewSession(digest: digest(number))
        )
        let request = WriteRequest(change, caller: .anonymous)
        _ = try store.run(request).get()
    }

    private func vector() throws -> VersionVector {
        try store.reader.vector(of: #require(try store.reader.scope(.cluster)))
    }

    /// Forgets tokens in steps of two, as far as all members have read.
    private func forget(readBy stable: VersionVector) throws {
        let expired = ExpiredTokens(stable: stable, now: store.now)
        var last: Bytes?
        repeat {
            let found = try expired.find(after: last, limit: 2, in: store.reader)
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                try expired.drop(found.digests, in: &transaction)
            }
            last = found.last
        } while last != nil
    }

    /// The number of registers of a kind, including removed ones.
    private func count(_ namespace: String) throws -> Int {
        let scope = try #require(try store.reader.scope(.cluster))
        return try store.reader.registerRows(scope, namespace).count
    }

    @Test func aTokenGoesAMonthAfterItsEnd() throws {
        for number in 0..<5 { try signIn(number) }
        _ = try administer(RevokeSession(digest: digest(3), user: "ada")).get()
        let before = try ScopeDigest.all(in: store.reader)
        store.now += 60 * Self.day - 1
        try forget(readBy: vector())
        #expect(try count("token") == 5)
        // A session is used in between.
        store.now += 1
        try signIn(5)
        try forget(readBy: vector())
        #expect(try count("token") == 1)
        #expect(try count("revoked") == 0)
        #expect(try count("session") == 1)
        let session = try Sessions.find(digest(5), now: store.now, in: store.reader)
        #expect(session?.user.name == "ada")
        #expect(try Sessions.find(digest(0), now: store.now, in: store.reader) == nil)
        // Nodes are compared by commits and records, and none of these are forgotten.
        let after = try ScopeDigest.all(in: store.reader)
        #expect(after.map(\.digest) == before.map(\.digest))
        let commits = [before, after].map { digests in digests.reduce(0) { $0 + $1.commits } }
        #expect(commits[1] == commits[0] + 1)
        // A restart does not bring them back.
        try store.restart()
        #expect(try count("token") == 1)
    }

    @Test func whatAMemberHasNotReadStays() throws {
        try signIn(0)
        let read = try vector()
        try signIn(1)
        _ = try administer(RevokeSession(digest: digest(0), user: "ada")).get()
        store.now += 100 * Self.day
        // The member may know the first token, but not that it was revoked.
        try forget(readBy: read)
        #expect(try count("token") == 2)
        #expect(try count("revoked") == 1)
        try forget(readBy: VersionVector())
        #expect(try count("token") == 2)
        try forget(readBy: vector())
        #expect(try count("token") == 0)
        #expect(try count("revoked") == 0)
    }

    @Test func whatNeverExpiresStays() throws {
        _ = try administer(AddToken([1], user: "ada")).get()
        _ = try administer(AddToken([2], user: "ada")).get()
        let revoked = Sessions.digest(of: [2])
        _ = try administer(RevokeSession(digest: revoked, user: "ada")).get()
        _ = try administer(EndSessions(user: "ada")).get()
        _ = try administer(AddToken([3], user: "ada")).get()
        store.now += 4_000 * Self.day
        try forget(readBy: vector())
        #expect(try count("token") == 3)
        // One register is the token's; the other counts how often all sessions of the user were
        // ended.
        #expect(try count("revoked") == 2)
        #expect(try Sessions.find(revoked, now: store.now, in: store.reader) == nil)
        let last = Sessions.digest(of: [3])
        #expect(try Sessions.find(last, now: store.now, in: store.reader) != nil)
    }
}
