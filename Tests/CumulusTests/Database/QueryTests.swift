// Queries through the client, a real socket and a node in memory: pages, and what the four apps ask
// that people know CloudKit from.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct QueryTests {
    /// A user's databases, with a schema in which the system fields that apps ask for are indexed.
    private func withContainer(
        schema: String? = nil,
        _ body: (Container, TestServer) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        if let schema { try await server.importSchema(schema) }
        let container = try await server.container(user: "ada")
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(container, server))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try await server.stop()
        try result.get()
    }

    private static let indexes = """
        "___recordID" REFERENCE QUERYABLE,
        "___createTime" TIMESTAMP QUERYABLE SORTABLE,
        "___createdBy" REFERENCE QUERYABLE,
        "___modTime" TIMESTAMP QUERYABLE SORTABLE,
        """

    private func record(
        _ type: String,
        _ name: String,
        _ fields: [String: FieldValue]
    ) -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: name))
        for (key, value) in fields { record[key] = value }
        return record
    }

    private func names(
        _ page: (
            matchResults: [(Record.ID, Result<Record, any Error>)],
            queryCursor: QueryCursor?
        )
    ) throws -> [String] {
        try page.matchResults.map { try $0.1.get().recordID.recordName }
    }

    // MARK: Pages

    @Test func pagesAndTheSequenceOverThem() async throws {
        try await withContainer { container, _ in
            let database = container.privateCloudDatabase
            let records = (0..<25).map { number in
                record("Note", "n\(number + 10)", ["rank": .int64(Int64(number % 5))])
            }
            _ = try await database.modifyRecords(saving: records, deleting: [])
            let query = Query(
                recordType: "Note",
                predicate: .field("rank") < 4,
                sortDescriptors: [.init(key: "rank", ascending: false)]
            )
            let expected = (0..<25).filter { $0 % 5 < 4 }
                .sorted { ($1 % 5, $1) < ($0 % 5, $0) }.map { "n\($0 + 10)" }
            var page = try await database.records(matching: query, resultsLimit: 7)
            var found = try names(page)
            #expect(found.count == 7)
            while let cursor = page.queryCursor {
                page = try await database.records(continuingMatchFrom: cursor, resultsLimit: 7)
                found += try names(page)
            }
            #expect(found == expected)
            var all: [String] = []
            for try await record in database.allRecords(matching: query, pageSize: 3) {
                all.append(record.recordID.recordName)
            }
            #expect(all == expected)
            #expect(try await database.count(matching: query) == 20)
            let first = try await database.records(matching: query, resultsLimit: 1)
            let cursor = try #require(first.queryCursor)
            #expect(QueryCursor(text: cursor.text) == cursor)
            #expect(QueryCursor(text: "") == nil && QueryCursor(text: "AAAA") == nil)
            let elsewhere = await #expect(throws: ServiceError.self) {
                try await container.publicCloudDatabase.records(continuingMatchFrom: cursor)
            }
            #expect(elsewhere?.message.hasPrefix("the cursor is of another query") == true)
            let work = try await database.explain(query)
            #expect(work.rowsKept == 20)
            #expect(!work.plan.isEmpty)
        }
    }

    @Test func onlyDesiredKeysTravel() async throws {
        try await withContainer { container, _ in
            let database = container.privateCloudDatabase
            try await database.save(record("Note", "a", ["x": 1, "y": 2]))
            let query = Query(recordType: "Note", predicate: .field("x") == 1)
            let page = try await database.records(matching: query, desiredKeys: ["y"])
            let found = try page.matchResults[0].1.get()
            #expect(found.allKeys() == ["y"])
            #expect(found.recordChangeTag != nil)
            #expect(page.queryCursor == nil)
        }
    }

    @Test func theServersRefusalComesThrough() async throws {
        try await withContainer { container, _ in
            let database = container.privateCloudDatabase
            let query = Query(recordType: "Nobody", predicate: .field("x") == 1)
            let error = await #expect(throws: ServiceError.self) {
                try await database.records(matching: query)
            }
            #expect(error?.code == .unknownItem)
            await #expect(throws: ServiceError.self) {
                try await database.records(matching: query, resultsLimit: -1)
            }
        }
    }

    /// A page of one node, the next one of another that has the same records.
    @Test func aCursorGoesOnElsewhere() async throws {
        let key = Bytes(repeating: 7, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(clusterKey: key)
        second.follow([first])
        let token = try await first.makeUser("ada")
        let near = first.container(token: token)
        let far = second.container(token: token)
        let records = (0..<9).map { record("Note", "n\($0)", ["x": 1]) }
        _ = try await near.privateCloudDatabase.modifyRecords(saving: records, deleting: [])
        let query = Query(recordType: "Note", predicate: .field("x") == 1)
        let page = try await near.privateCloudDatabase.records(matching: query, resultsLimit: 4)
        let cursor = try #require(page.queryCursor)
        // The token of a user who was added there has to arrive here first.
        var rest: [String] = []
        for _ in 0..<100 where rest.isEmpty {
            do {
                rest = try names(
                    await far.privateCloudDatabase.records(continuingMatchFrom: cursor)
                )
            } catch let error as ServiceError where error.code == .notAuthenticated {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        #expect(try names(page) + rest == (0..<9).map { "n\($0)" })
        await near.close()
        await far.close()
        await second.unfollow()
        try await first.stop()
        try await second.stop()
    }

    // MARK: What apps ask

    /// CloudPhotos: title prefix, near me, mine, the last five days; ten at a time.
    @Test func photos() async throws {
        let schema = """
            DEFINE SCHEMA RECORD TYPE Photo (
                \(Self.indexes)
                title STRING QUERYABLE SORTABLE SEARCHABLE,
                date TIMESTAMP QUERYABLE SORTABLE,
                location LOCATION QUERYABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            """
        try await withContainer(schema: schema) { container, server in
            let now = Timestamp(millisecondsSince1970: 1_795_000_000_000)
            func daysAgo(_ days: Int64) -> Timestamp {
                Timestamp(millisecondsSince1970: now.millisecondsSince1970 - days * 86_400_000)
            }
            let database = container.publicCloudDatabase
            let photos = (0..<24).map { (number: Int) -> Record in
                let title = number % 2 == 0 ? "Sunset \(number)" : "Harbour"
                let location = Location(latitude: 48 + Double(number), longitude: 16)
                let fields: [String: FieldValue] = [
                    "title": .string(title),
                    "date": .timestamp(daysAgo(Int64(number))),
                    "location": .location(location),
                ]
                return record("Photo", "p\(number + 10)", fields)
            }
            _ = try await database.modifyRecords(saving: photos, deleting: [])
            let other = try await server.container(user: "bob")
            try await other.publicCloudDatabase.save(
                record("Photo", "bobs", ["title": "Sunset of Bob", "date": .timestamp(now)])
            )
            await other.close()

            let sunsets = Query(
                recordType: "Photo",
                predicate: try Query.Predicate(format: "title BEGINSWITH %@", "Sunset"),
                sortDescriptors: [.init(key: "date", ascending: false)]
            )
            let page = try await database.records(matching: sunsets, resultsLimit: 10)
            #expect(try names(page).prefix(3) == ["p10", "bobs", "p12"])
            #expect(page.matchResults.count == 10)
            let rest = try await database.records(
                continuingMatchFrom: try #require(page.queryCursor),
                resultsLimit: 10
            )
            #expect(try names(rest) == ["p28", "p30", "p32"])
            #expect(rest.queryCursor == nil)

            let here = Location(latitude: 48, longitude: 16)
            let near = Query(
                recordType: "Photo",
                predicate: try Query.Predicate(
                    format: "distanceToLocation:fromLocation:(location, %@) < %f",
                    here,
                    250_000.0
                ),
                sortDescriptors: [.init(key: "location", relativeLocation: here)]
            )
            #expect(try names(await database.records(matching: near)) == ["p10", "p11", "p12"])

            let user = try await container.userRecordID()
            let mine = Query(
                recordType: "Photo",
                predicate: try Query.Predicate(format: "creatorUserRecordID == %@", user)
            )
            #expect(try await database.count(matching: mine) == 24)

            let recent = Query(
                recordType: "Photo",
                predicate: try Query.Predicate(format: "date > %@", daysAgo(5)),
                sortDescriptors: [.init(key: "date", ascending: false)]
            )
            let five = ["p10", "bobs", "p11", "p12", "p13", "p14"]
            #expect(try names(await database.records(matching: recent)) == five)
        }
    }

    /// Continuum asks for the comments of a post that the app does not hold yet.
    @Test func comments() async throws {
        let schema = """
            DEFINE SCHEMA RECORD TYPE Comment (
                \(Self.indexes)
                post REFERENCE QUERYABLE,
                text STRING,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            """
        try await withContainer(schema: schema) { container, _ in
            let database = container.publicCloudDatabase
            let comments = (0..<6).map { number in
                record(
                    "Comment",
                    "c\(number)",
                    [
                        "post": .reference(
                            Record.Reference(recordName: number < 4 ? "post" : "other")
                        ),
                        "text": "well said",
                    ]
                )
            }
            _ = try await database.modifyRecords(saving: comments, deleting: [])
            let post = Record.ID(recordName: "post")
            func others(except held: [Record.ID]) async throws -> [String] {
                let query = Query(
                    recordType: "Comment",
                    predicate: try Query.Predicate(
                        format: "post == %@ AND NOT (recordID IN %@)",
                        post,
                        held
                    )
                )
                return try names(await database.records(matching: query))
            }
            #expect(try await others(except: []) == ["c0", "c1", "c2", "c3"])
            let held = [Record.ID(recordName: "c1"), Record.ID(recordName: "c5")]
            #expect(try await others(except: held) == ["c0", "c2", "c3"])
        }
    }

    /// Timeline: what is mine, in a range of dates.
    @Test func timeline() async throws {
        let schema = """
            DEFINE SCHEMA RECORD TYPE Event (
                \(Self.indexes)
                date TIMESTAMP QUERYABLE SORTABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            """
        try await withContainer(schema: schema) { container, server in
            func save(_ prefix: String, _ container: Container) async throws {
                let events = (0..<10).map { number in
                    let date = Date(timeIntervalSince1970: Double(number))
                    return record("Event", "\(prefix)\(number)", ["date": date.queryArgument])
                }
                let database = container.publicCloudDatabase
                _ = try await database.modifyRecords(saving: events, deleting: [])
            }
            try await save("e", container)
            let other = try await server.container(user: "bob")
            try await save("b", other)
            await other.close()
            func asked(_ format: String, _ arguments: any QueryArgument...) async throws -> [String]
            {
                let predicate = try Query.Predicate(format: format, argumentArray: arguments)
                let query = Query(
                    recordType: "Event",
                    predicate: predicate,
                    sortDescriptors: [.init(key: "date")]
                )
                return try names(await container.publicCloudDatabase.records(matching: query))
            }
            let dates = (Date(timeIntervalSince1970: 3), Date(timeIntervalSince1970: 6))
            let user = Record.ID(recordName: "__defaultOwner__")
            #expect(
                try await asked(
                    "creatorUserRecordID == %@ AND date >= %@ AND date < %@",
                    user,
                    dates.0,
                    dates.1
                ) == ["e3", "e4", "e5"]
            )
            #expect(
                try await asked("date >= %@ AND date < %@", dates.0, dates.1)
                    == ["b3", "e3", "b4", "e4", "b5", "e5"]
            )
        }
    }

    @Test func foundationsValuesAreArguments() {
        #expect(Data([1, 2]).queryArgument == .bytes([1, 2]))
        let half = Date(timeIntervalSince1970: 0.0015).queryArgument
        #expect(half == .timestamp(Timestamp(millisecondsSince1970: 2)))
        let never = Date(timeIntervalSince1970: .infinity).queryArgument
        #expect(never.double?.isNaN == true)
    }

    /// FoodPin: all restaurants, the newest first, without their pictures.
    @Test func restaurants() async throws {
        let schema = """
            DEFINE SCHEMA RECORD TYPE Restaurant (
                \(Self.indexes)
                name STRING QUERYABLE,
                picture BYTES,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            """
        try await withContainer(schema: schema) { container, _ in
            let database = container.publicCloudDatabase
            for number in 0..<3 {
                try await database.save(
                    record(
                        "Restaurant",
                        "r\(number)",
                        ["name": .string("Café \(number)"), "picture": .bytes([1, 2, 3])]
                    )
                )
                // Creation dates tell milliseconds apart.
                try await Task.sleep(for: .milliseconds(5))
            }
            let query = Query(
                recordType: "Restaurant",
                sortDescriptors: [.init(key: "creationDate", ascending: false)]
            )
            let page = try await database.records(matching: query, desiredKeys: ["name"])
            #expect(try names(page) == ["r2", "r1", "r0"])
            #expect(try page.matchResults.allSatisfy { try $0.1.get().allKeys() == ["name"] })
        }
    }
}
