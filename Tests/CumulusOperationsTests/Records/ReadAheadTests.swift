// Requests of one batch read their rows together, before their turns. Each still sees what those
// before it wrote.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ReadAheadTests {
    private static let zone = ZoneAddress(name: "z")
    private let engine = CountingEngine()
    private let store: TestStore

    init() throws {
        store = try TestStore(engine: engine)
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try store.save((0..<100).map { SaveItem("n\($0)", ["a": 1], in: Self.zone) })
    }

    private func saving(
        _ name: String,
        _ fields: [String: FieldValue?] = [:],
        tag: Bytes? = nil,
        _ policy: SavePolicy = .ifUnchanged
    ) -> WriteRequest<ModifyRecords> {
        let item = SaveItem(name, fields, in: Self.zone, tag: tag)
        let change = ModifyRecords(database: .private, policy: policy, saves: [item])
        return store.request(change, by: .alice)
    }

    private func deleting(_ name: String) -> WriteRequest<ModifyRecords> {
        let item = DeleteItem(name, in: Self.zone)
        return store.request(ModifyRecords(database: .private, deletes: [item]), by: .alice)
    }

    private func tag(of name: String) throws -> Bytes {
        try store.fetch(name, in: .private, zone: Self.zone, by: .alice).get().changeTag
    }

    private func codes(
        _ requests: [WriteRequest<ModifyRecords>]
    ) throws -> [[ServiceError.Code?]] {
        try store.run(requests).map { try $0.get().codes }
    }

    @Test func aRequestSeesWhatThoseBeforeItInTheBatchWrote() throws {
        let old = try tag(of: "n0")
        let twice = saving("n5", ["a": 7], .allKeys)
        let found = try codes([
            saving("n0", ["a": 2], tag: old), saving("n0", ["a": 3], tag: old),
            deleting("n1"), saving("n1", ["b": 1]), deleting("n2"), deleting("n2"),
            saving("new"), saving("new"), deleting("new"), saving("n3", ["a": 3], .changedKeys),
            twice, twice,
        ])
        #expect(
            found == [
                [nil], [.serverRecordChanged], [nil], [nil], [nil], [nil],
                [nil], [.serverRecordChanged], [nil], [nil], [nil], [nil],
            ]
        )
        let left = try store.names(in: .private, zone: Self.zone, by: .alice)
        #expect(!left.contains("new") && !left.contains("n2") && left.contains("n1"))
        #expect(try DerivedRows.differences(in: engine) == [])
        #expect(try LogReplay.differences(in: engine) == [])
    }

    /// The batch after it reads the rows anew.
    @Test func aBatchForgetsWhatItReadAhead() throws {
        for round in Int64(2)..<5 {
            let tags = try (0..<3).map { try tag(of: "n\($0)") }
            let requests = (0..<3).map { saving("n\($0)", ["a": .int64(round)], tag: tags[$0]) }
            #expect(try codes(requests) == [[nil], [nil], [nil]])
        }
    }

    @Test func aBatchReadsItsRecordsTogether() throws {
        func reads(_ body: () throws -> Void) rethrows -> Int {
            let before = engine.reads
            try body()
            return engine.reads - before
        }
        let requests = (0..<40).map { saving("n\($0)", ["a": 2], .allKeys) }
        let alone = try reads { for request in requests { _ = try store.run(request).get() } }
        let again = (0..<40).map { saving("n\($0)", ["a": 3], .allKeys) }
        let together = try reads { _ = try store.run(again) }
        #expect(together + 60 < alone, "\(together) reads together, \(alone) alone")
    }

    @Test func aRequestReadsItsRecordsTogether() throws {
        let items = (0..<100).map { SaveItem("n\($0)", ["a": 2], in: Self.zone) }
        let before = engine.reads
        #expect(try store.save(items).codes.allSatisfy { $0 == nil })
        #expect(engine.reads - before < 50, "\(engine.reads - before) reads for 100 records")
    }
}
