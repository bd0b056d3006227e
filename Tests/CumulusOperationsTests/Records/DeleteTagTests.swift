// Deletions with a change tag: done if the record still has that tag, and refused if not.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DeleteTagTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "Notes")

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["Notes"]), by: .alice)
    }

    private func item(_ name: String, tag: Bytes?, in zone: ZoneAddress) -> DeleteItem {
        DeleteItem(address: RecordAddress(zone: zone, name: name), changeTag: tag)
    }

    private func tag(_ name: String, in zone: ZoneAddress = ZoneAddress()) throws -> Bytes? {
        let found = try store.fetch(name, in: .private, zone: zone, by: .alice)
        return try? found.get().changeTag
    }

    private func delete(_ items: [DeleteItem]) throws -> [ServiceError.Code?] {
        try store.delete(items).deletes.map(\.code)
    }

    @Test func onlyWhatWasSeenIsDeleted() throws {
        let zone = ZoneAddress()
        try store.save([SaveItem("n", ["a": 1])])
        let seen = try tag("n")
        try store.save([SaveItem("n", ["a": 2])])
        #expect(try delete([item("n", tag: seen, in: zone)]) == [.serverRecordChanged])
        #expect(try tag("n") != nil)
        #expect(try delete([item("n", tag: try tag("n"), in: zone)]) == [nil])
        #expect(try tag("n") == nil)
        #expect(try delete([item("n", tag: seen, in: zone)]) == [.unknownItem])
        #expect(try delete([item("n", tag: nil, in: zone)]) == [nil])
    }

    @Test func aStaleTagStopsAnAtomicZone() throws {
        let saves = ["a", "b"].map { SaveItem($0, ["a": 1], in: zone) }
        try store.save(saves)
        let stale = Bytes(repeating: 7, count: 8)
        let items = [
            item("a", tag: try tag("a", in: zone), in: zone), item("b", tag: stale, in: zone),
        ]
        #expect(try delete(items) == [.batchRequestFailed, .serverRecordChanged])
        #expect(try tag("a", in: zone) != nil)
        #expect(try delete([items[0]]) == [nil])
    }
}
