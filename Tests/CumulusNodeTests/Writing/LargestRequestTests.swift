// The largest request of each kind that changes something: how long it holds the writer.
//
// Shares, references and subscriptions have files of their own beside this one.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@Suite(.serialized) struct LargestRequestTests {
    private static let items = Limits.standard.itemsPerRequest
    /// A turn takes less than 50 milliseconds on a quiet machine.
    ///
    /// A machine that does other work as well takes several times as long; work that grows with the
    /// square takes seconds.
    private static let longestTurn = 250

    /// Sends requests, and holds the longest turn of the writer to the limit.
    private func measure(
        _ what: String,
        at server: TestServer,
        _ requests: () throws -> Void
    ) rethrows {
        server.node.meter.longestTurn.store(0, ordering: .relaxed)
        try requests()
        let milliseconds = server.node.meter.longestTurn.value / 1_000
        print("\(what): longest turn of the writer \(milliseconds) ms")
        #expect(milliseconds < Self.longestTurn, "\(what)")
    }

    private func records(_ fields: Int, _ bytes: Int) -> [Record] {
        (0..<Self.items).map { number in
            var record = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "n\(fields)-\(number)")
            )
            for field in 0..<fields {
                record["field\(field)"] = .string(String(repeating: "x", count: bytes))
            }
            return record
        }
    }

    private func deletion(_ records: [Record]) -> Bytes {
        ModifyRecordsRequest(
            database: .private,
            policy: 2,
            isAtomic: true,
            saves: [],
            deletes: records.map {
                WireRecordID(name: Bytes($0.recordID.recordName.utf8), zone: nil)
            }
        ).encoded()
    }

    /// Records of a large field, and records of 40 small ones, whose values all stand in indexes.
    ///
    /// Each such value is a row, and most of them are written in later turns.
    @Test(arguments: [(1, 5_000), (40, 80)]) func ofRecords(fields: Int, bytes: Int) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let records = records(fields, bytes)
            // The types and fields are new the first time.
            for name in ["new", "known"] {
                let request = RawRequest.save(
                    encoded: records.map { $0.encodedSave(allKeys: true) },
                    policy: 2
                )
                #expect(request.count <= Limits.standard.requestBytes)
                let what = "a save of 400 \(name) records, \(fields) fields"
                try measure(what, at: server) {
                    let answer = try client.modify(request, id: RawRequest.newID())
                    for save in answer.saves { _ = try save.get() }
                }
            }
            let what = "a deletion of 400 records, \(fields) fields"
            try measure(what, at: server) {
                _ = try client.modify(deletion(records), id: RawRequest.newID())
            }
        }
    }

    // MARK: Records that are stored large

    /// Bytes of the records: nearly as large as a record may be, and many smaller ones.
    private static let sizes = [Limits.standard.recordBytes - 4_096, 100_000]

    /// How many records of that size may be changed at once.
    private func most(of bytes: Int) -> Int {
        Limits.standard.storedBytesPerRequest / (bytes + 1_000)
    }

    /// Saves large records, one at a time: a text with an index, or bytes without.
    private func plant(
        _ count: Int,
        _ bytes: Int,
        isText: Bool,
        _ more: [String: FieldValue] = [:],
        by client: RawClient
    ) throws -> [Record] {
        let value: FieldValue =
            isText
            ? .string(String(repeating: "word ", count: bytes / 5))
            : .bytes(Bytes(repeating: 1, count: bytes))
        return try (0..<count).map { number in
            var record = Record("large-\(number)", more)
            record["value"] = value
            _ = try client.save([record])[0].get()
            return record
        }
    }

    @Test(arguments: [true, false], sizes)
    func ofDeletionsOfLargeRecords(isText: Bool, bytes: Int) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let most = most(of: bytes)
            // One more may just fit beside what the others leave.
            let records = try plant(most + 2, bytes, isText: isText, by: client)
            try measure("a deletion of \(most + 2) records of \(bytes) bytes, refused", at: server)
            {
                let refusal = try error {
                    _ = try client.modify(deletion(records), id: RawRequest.newID())
                }
                #expect(refusal.code == .limitExceeded && refusal.reason == .tooLarge)
            }
            try measure("a deletion of \(most) records of \(bytes) bytes", at: server) {
                let some = Array(records.prefix(most))
                let answer = try client.modify(deletion(some), id: RawRequest.newID())
                #expect(answer.deletes.allSatisfy { $0 == nil })
            }
        }
    }

    @Test(arguments: [true, false], sizes)
    func ofSmallChangesOfLargeRecords(isText: Bool, bytes: Int) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let most = most(of: bytes)
            // One more may just fit beside what the others leave.
            let records = try plant(most + 2, bytes, isText: isText, by: client)
            func change(_ count: Int) -> Bytes {
                let saves = records.prefix(count).map {
                    Record($0.recordID.recordName, ["n": 1]).encodedSave(allKeys: true)
                }
                return RawRequest.save(encoded: saves, policy: 2)
            }
            try measure("a change of \(most + 2) records of \(bytes) bytes, refused", at: server) {
                let refusal = try error {
                    _ = try client.modify(change(records.count), id: RawRequest.newID())
                }
                #expect(refusal.code == .limitExceeded && refusal.reason == .tooLarge)
            }
            try measure("a change in \(most) records of \(bytes) bytes", at: server) {
                let answer = try client.modify(change(most), id: RawRequest.newID())
                for save in answer.saves { _ = try save.get() }
            }
        }
    }

    /// Targets of references are looked up before the turn, and records that go along go in later
    /// turns.
    @Test(arguments: [true, false])
    func ofReferencesAndCascadesOfLargeRecords(isText: Bool) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let root = Record("root", ["n": 1])
            _ = try client.save([root])[0].get()
            let more = ["of": FieldValue.owner("root")]
            let records = try plant(30, Self.sizes[0], isText: isText, more, by: client)
            try measure("a save of references to 30 large records", at: server) {
                let owners = records.map { FieldValue.owner($0.recordID.recordName) }
                _ = try client.save([Record("many", ["to": .list(owners)])])[0].get()
            }
            try measure("a cascade over 30 large records", at: server) {
                let answer = try client.modify(deletion([root]), id: RawRequest.newID())
                #expect(answer.deletes.allSatisfy { $0 == nil })
            }
            for result in try client.fetch("root", "large-0", "large-29", "many") {
                #expect(result.refusal?.code == .unknownItem)
            }
        }
    }

    // MARK: Other requests

    /// A zone's records go in later turns.
    @Test func ofZones() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let zones = (0..<Self.items).map { WireZoneID(name: Bytes("z\($0)".utf8), owner: []) }
            func send(_ saves: [WireZoneID], _ deletes: [WireZoneID]) throws {
                let request = ModifyZonesRequest(database: .private, saves: saves, deletes: deletes)
                _ = try client.perform(
                    .zonesModify,
                    request.encoded(),
                    requestID: RawRequest.newID()
                )
            }
            try measure("a save of 400 zones", at: server) { try send(zones, []) }
            try measure("a deletion of 400 zones", at: server) { try send([], zones) }
        }
    }

    @Test func ofMarks() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let most = MarkRead.mostIDs(.standard)
            let ids = (0..<most).map { number in
                withUnsafeBytes(of: (UInt64(number), UInt64(7))) { Bytes($0) }
            }
            for _ in 0..<2 {
                try measure("\(most) marks", at: server) {
                    _ = try client.perform(
                        .feedsMarkRead,
                        MarkReadRequest(ids: ids).encoded(),
                        requestID: RawRequest.newID()
                    )
                }
            }
        }
    }

    /// As many subscriptions as fit into a request and into what one user may have.
    @Test func ofSubscriptions() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try client.save([Record(recordType: "Note", recordID: .init(recordName: "n"))])
            let saves = (0..<Self.items).map { number in
                let predicate = Query.Predicate.field("title") == "title \(number)"
                return Subscription(
                    id: "s\(number)",
                    kind: .query(recordType: "Note", predicate: predicate)
                )
            }
            var record = Record(recordType: "Note", recordID: .init(recordName: "m"))
            record["title"] = "a title"
            _ = try client.save([record])[0].get()
            func send(_ saves: [WireSubscription], _ deletes: [Bytes]) throws {
                let request = ModifySubscriptionsRequest(
                    database: .private,
                    saves: saves,
                    deletes: deletes
                )
                let answer = try client.perform(
                    .subscriptionsModify,
                    request.encoded(),
                    requestID: RawRequest.newID()
                )
                let refusals = try ModifySubscriptionsResponse(wire: answer[0]).saves
                #expect(refusals.allSatisfy { $0 == nil })
            }
            try measure("a save of 400 subscriptions", at: server) {
                try send(saves.map { WireSubscription($0) }, [])
            }
            try measure("a deletion of 400 subscriptions", at: server) {
                try send([], saves.map { Bytes($0.id.utf8) })
            }
        }
    }
}
