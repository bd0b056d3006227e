// Changes as they happen, through the client, real sockets and nodes in memory.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct FollowChangesTests {
    private static let zoneID = RecordZone.ID(zoneName: "Notes")
    private typealias Page = Database.RecordZoneChange.Page

    private func withDatabase(_ body: (Database, TestServer) async throws -> Void) async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let result: Result<Void, any Error>
        do {
            let database = container.privateCloudDatabase
            try await database.save(RecordZone(zoneID: Self.zoneID))
            result = .success(try await body(database, server))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try await server.stop()
        try result.get()
    }

    private static func note(_ name: String, _ text: String = "") -> Record {
        var record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: name, zoneID: zoneID)
        )
        record["text"] = .string(text)
        return record
    }

    private static func names(_ page: Page?) -> [String] {
        (page?.modifications ?? []).map(\.record.recordID.recordName).sorted()
    }

    /// Waits until something holds, for a minute at most.
    private func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<6_000 {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    // MARK: What is told

    @Test func aZoneIsFollowed() async throws {
        try await withDatabase { database, _ in
            try await database.save(Self.note("a"))
            var pages = database.followRecordZoneChanges(inZoneWith: Self.zoneID, since: nil)
                .makeAsyncIterator()
            let first = try await pages.next()
            #expect(Self.names(first) == ["a"])
            #expect(first?.isUpToDate == true)
            try await database.save(Self.note("b", "hello"))
            let second = try await pages.next()
            #expect(second?.modifications.map { $0.record["text"] } == ["hello"])
            #expect(second?.isUpToDate == true)
            try await database.deleteRecord(withID: Self.note("a").recordID)
            let third = try await pages.next()
            #expect(third?.deletions.map(\.recordID.recordName) == ["a"])
            // A fetch goes on where a stream stopped, and a stream where a fetch did.
            let rest = try await database.recordZoneChanges(
                inZoneWith: Self.zoneID,
                since: second?.changeToken
            )
            #expect(rest.deletions.map(\.recordID.recordName) == ["a"])
            var others = database.followRecordZoneChanges(
                inZoneWith: Self.zoneID,
                since: rest.changeToken,
                desiredKeys: []
            ).makeAsyncIterator()
            #expect(try await others.next()?.isUpToDate == true)
            try await database.save(Self.note("c", "hidden"))
            let last = try await others.next()
            #expect(Self.names(last) == ["c"])
            #expect(last?.modifications.first?.record.allKeys() == [])
        }
    }

    @Test func aDatabaseIsFollowed() async throws {
        try await withDatabase { database, _ in
            var pages = database.followDatabaseChanges(since: nil).makeAsyncIterator()
            let first = try await pages.next()
            #expect(first?.modifications.map(\.zoneID.zoneName) == ["Notes"])
            #expect(first?.isUpToDate == true)
            try await database.save(RecordZone(zoneName: "Drafts"))
            #expect(try await pages.next()?.modifications.map(\.zoneID.zoneName) == ["Drafts"])
            try await database.save(Record(recordType: "Note"))
            let loose = try await pages.next()
            let names = loose?.modifications.map(\.zoneID.zoneName)
            #expect(names == [RecordZone.ID.default.zoneName])
            try await database.deleteRecordZone(withID: RecordZone.ID(zoneName: "Drafts"))
            let gone = try await pages.next()
            #expect(gone?.deletions.map(\.zoneID.zoneName) == ["Drafts"])
            #expect(gone?.deletions.map(\.reason) == [.deleted])
        }
    }

    @Test func theEndOfAZoneIsAnError() async throws {
        try await withDatabase { database, _ in
            var pages = database.followRecordZoneChanges(inZoneWith: Self.zoneID, since: nil)
                .makeAsyncIterator()
            _ = try await pages.next()
            try await database.deleteRecordZone(withID: Self.zoneID)
            do {
                _ = try await pages.next()
                Issue.record("the stream went on")
            } catch let error as ServiceError {
                #expect(error.code == .zoneNotFound)
            }
        }
    }

    // MARK: Many, and slow ones

    /// On one connection, whose calls go on beside them.
    @Test func manyFollow() async throws {
        try await withDatabase { database, server in
            try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        let changes = database.followRecordZoneChanges(
                            inZoneWith: Self.zoneID,
                            since: nil
                        )
                        for try await page in changes where !page.modifications.isEmpty {
                            return Self.names(page)
                        }
                        return []
                    }
                }
                #expect(try await eventually { server.callsInProgress == 100 })
                try await database.save(Self.note("a"))
                for try await names in group { #expect(names == ["a"]) }
            }
            #expect(try await eventually { server.callsInProgress == 0 })
        }
    }

    /// It holds up nobody, also not those on its own connection, and misses nothing.
    @Test func aReaderThatTakesNothing() async throws {
        try await withDatabase { database, _ in
            var slow = database.followRecordZoneChanges(inZoneWith: Self.zoneID, since: nil)
                .makeAsyncIterator()
            var quick = database.followRecordZoneChanges(inZoneWith: Self.zoneID, since: nil)
                .makeAsyncIterator()
            _ = try await slow.next()
            _ = try await quick.next()
            let text = String(repeating: "x", count: 50_000)
            for number in 0..<20 {
                try await database.save(Self.note("n\(number)", text))
                #expect(Self.names(try await quick.next()) == ["n\(number)"])
            }
            var told: Set<String> = []
            while told.count < 20 { told.formUnion(Self.names(try await slow.next())) }
            #expect(told.count == 20)
        }
    }

    // MARK: Ends

    @Test func aTaskThatIsCancelledEndsItsCall() async throws {
        try await withDatabase { (database: Database, server: TestServer) async throws in
            let following = Task {
                let changes = database.followRecordZoneChanges(
                    inZoneWith: Self.zoneID,
                    since: nil
                )
                for try await _ in changes {}
            }
            #expect(try await eventually { server.callsInProgress == 1 })
            following.cancel()
            let error = await #expect(throws: ServiceError.self) { try await following.value }
            #expect(error?.code == .operationCancelled)
            #expect(try await eventually { server.callsInProgress == 0 })
        }
    }

    @Test func aLoopThatIsLeftEndsItsCall() async throws {
        try await withDatabase { database, server in
            for try await _ in database.followDatabaseChanges(since: nil) { break }
            #expect(try await eventually { server.callsInProgress == 0 })
        }
    }

    /// The node goes, in order or not; the stream goes on at the other one where it was.
    @Test(arguments: [true, false]) func aStreamGoesOnAtAnotherNode(isDrained: Bool) async throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        let one = try await TestServer(clusterKey: key)
        let other = try await TestServer(clusterKey: key)
        other.follow([one])
        var configuration = Container.Configuration(endpoints: [one.endpoint, other.endpoint])
        configuration.accessToken = try await one.makeUser("ada")
        configuration.timeout = .seconds(60)
        let container = Container(identifier: TestServer.container, configuration: configuration)
        let database = container.privateCloudDatabase
        try await database.save(RecordZone(zoneID: Self.zoneID))
        try await database.save(Self.note("a"))
        var pages = database.followRecordZoneChanges(inZoneWith: Self.zoneID, since: nil)
            .makeAsyncIterator()
        let first = try await pages.next()
        #expect(Self.names(first) == ["a"])
        // The other node has what was told before the first one goes.
        let there = other.container(token: configuration.accessToken)
        let hasAll = try await eventually {
            let changes = try? await there.privateCloudDatabase.recordZoneChanges(
                inZoneWith: Self.zoneID,
                since: first?.changeToken
            )
            return changes != nil
        }
        #expect(hasAll)
        if isDrained { one.drain() } else { try await one.stop() }
        try await there.privateCloudDatabase.save(Self.note("b"))
        #expect(Self.names(try await pages.next()) == ["b"])
        for container in [container, there] { await container.close() }
        if isDrained { try await one.stop() }
        try await other.stop()
    }

    /// Nobody is reached for as long as a call may take.
    @Test func withoutANodeTheStreamEnds() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let container = server.container(token: token, timeout: .seconds(3))
        var pages = container.privateCloudDatabase.followDatabaseChanges(since: nil)
            .makeAsyncIterator()
        #expect(try await pages.next()?.isUpToDate == true)
        try await server.stop()
        do {
            _ = try await pages.next()
            Issue.record("the stream went on")
        } catch let error as ServiceError {
            #expect(error.code == .networkFailure)
        }
        await container.close()
    }
}
