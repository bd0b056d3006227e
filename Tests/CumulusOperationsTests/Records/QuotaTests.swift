// The quota of a database: its size is measured, and a save that would exceed the quota is refused
// with advice.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QuotaTests {
    private let store: TestStore
    private static let quota = 10_000

    private struct Refusal: Equatable {
        let code: ServiceError.Code
        let message: String

        init(_ error: ServiceError) {
            (code, message) = (error.code, error.message)
        }
    }

    init() throws {
        store = try TestStore()
    }

    private var limits: Limits {
        var limits = Limits.standard
        limits.privateDatabaseBytes = Self.quota
        return limits
    }

    private func save(
        _ saves: [SaveItem],
        in database: DatabaseScope = .private,
        _ limits: Limits? = nil,
        isAtomic: Bool = false,
        by caller: Caller = .alice
    ) throws -> [Refusal?] {
        var modify = ModifyRecords(
            database: database,
            policy: .changedKeys,
            isAtomic: isAtomic,
            saves: saves
        )
        modify.limits = limits ?? self.limits
        return try store.modify(modify, by: caller).saves.map { item in
            if case .failure(let failure) = item { Refusal(failure.error) } else { nil }
        }
    }

    private func item(_ name: String, bytes: Int, in zone: String = "") -> SaveItem {
        let address = zone.isEmpty ? ZoneAddress() : ZoneAddress(name: zone)
        return SaveItem(name, ["text": .string(String(repeating: "x", count: bytes))], in: address)
    }

    private func usage(_ caller: Caller = .alice) throws -> DatabaseUsage {
        let id = DatabaseID(kind: .private, owner: caller.user)
        let number = try #require(try store.reader.database(store.scopeNumber(), id))
        return try store.reader.usage(of: number)
    }

    @Test func whatWouldGrowBeyondIsRefusedAndTheRestIsSaved() throws {
        #expect(try save([item("a", bytes: 4_000), item("b", bytes: 4_000)]) == [nil, nil])
        let refused = try save([item("c", bytes: 4_000), item("d", bytes: 1_000)])
        #expect(refused[0]?.code == .quotaExceeded && refused[1] == nil)
        let text = refused[0]?.message ?? ""
        #expect(text.hasPrefix("your private database takes 80"))
        #expect(text.contains("of 10000 bytes") && text.contains("delete records or assets"))
        // Other users have databases of their own.
        #expect(try save([item("c", bytes: 9_000)], by: .bob) == [nil])
        #expect(try usage().total < Self.quota && usage().records == 3)
    }

    @Test func recordsThatShrinkOrGoMakeRoomAtOnce() throws {
        var free = limits
        free.privateDatabaseBytes = 0
        let saves = [item("a", bytes: 9_000), item("b", bytes: 9_000)]
        #expect(try save(saves, free) == [nil, nil])
        // The database is over the quota that an operator has set.
        #expect(try save([item("c", bytes: 1)])[0]?.code == .quotaExceeded)
        #expect(try save([item("b", bytes: 8_000)]) == [nil])
        #expect(try save([item("b", bytes: 8_001)])[0]?.code == .quotaExceeded)
        try store.delete([DeleteItem("a")])
        #expect(try save([item("c", bytes: 1_000)]) == [nil])
    }

    @Test func allZonesCountAndOneThatGoesMakesRoom() throws {
        try store.modify(ModifyZones(saving: ["x", "y"]), by: .alice)
        #expect(
            try save([item("a", bytes: 4_000, in: "x"), item("a", bytes: 4_000)]) == [nil, nil]
        )
        // A request has one commit per zone, and the next zone counts the one before.
        let both = try save([item("b", bytes: 1_000, in: "x"), item("b", bytes: 1_000, in: "y")])
        #expect(both[0] == nil && both[1]?.code == .quotaExceeded)
        try store.modify(ModifyZones(deleting: ["x"]), by: .alice)
        #expect(try save([item("b", bytes: 5_000, in: "y")]) == [nil])
        try store.modify(ModifyZones(saving: ["x"]), by: .alice)
        #expect(try save([item("a", bytes: 1_000, in: "x")])[0]?.code == .quotaExceeded)
    }

    @Test func anAtomicRequestStandsOrFallsAsAWhole() throws {
        try store.modify(ModifyZones(saving: ["x"]), by: .alice)
        let saves = [item("a", bytes: 1_000, in: "x"), item("b", bytes: 9_500, in: "x")]
        let refused = try save(saves, isAtomic: true)
        #expect(refused.map { $0?.code } == [.batchRequestFailed, .quotaExceeded])
        #expect(try save([saves[1]], isAtomic: true) == [nil])
    }

    @Test func thePublicDatabaseIsHeldToItsOwn() throws {
        var limits = limits
        (limits.privateDatabaseBytes, limits.publicDatabaseBytes) = (0, Self.quota)
        let large = item("a", bytes: 9_000)
        #expect(try save([large], in: .public, limits) == [nil])
        // The quota counts for the database, not for the author.
        let refused = try save([item("b", bytes: 2_000)], in: .public, limits, by: .bob)[0]
        #expect(refused?.code == .quotaExceeded)
        #expect(refused?.message.contains("publicDatabaseBytes") == true)
        #expect(try save([large, item("b", bytes: 9_000)], limits) == [nil, nil])
    }

    /// Nodes and callers may claim sizes that no disk could hold.
    @Test func sumsDontOverflow() throws {
        let asset = Asset(digest: Bytes(repeating: 1, count: 32), size: UInt64(Int64.max))
        let fields = try RecordBody(checking: ["file": .asset(asset)])
        let zone = Commit.Zone(
            database: DatabaseID(kind: .private, owner: Caller.alice.user),
            name: Names.defaultZone,
            generation: 1
        )
        let names = (0..<9).map { "r\($0)" }
        let operations = names.map { name in
            let put = Commit.Put(recordName: name, birth: nil, type: "Note", fields: fields)
            return Commit.Operation.put(put)
        }
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform(operations, in: scope, zone: zone, author: Author())
        }
        #expect(try save([SaveItem("new", ["n": 1])])[0]?.code == .quotaExceeded)
        // The asset is named here, so its content need not be here.
        let copies = (0..<9).map { SaveItem("copy\($0)", ["file": .asset(asset)]) }
        #expect(try save(copies).allSatisfy { $0?.code == .quotaExceeded })
        let none: [String: FieldValue?] = ["file": nil]
        #expect(try save(names.map { SaveItem($0, none) }).allSatisfy { $0 == nil })
        #expect(try usage().assetBytes == 0)
        #expect(try save([SaveItem("new", ["n": 1])]) == [nil])
    }

    @Test func anAssetTakesItsSizeOnceARecordNamesIt() throws {
        let list = SampleAsset.list(of: [6_000])
        let large = SampleAsset.list(of: [6_000, 6_000])
        func prepare(_ list: ChunkList, _ limits: Limits) throws -> Refusal? {
            let request = PrepareAssets(database: .private, lists: [.success(list)], limits: limits)
            let outcome = try store.run(store.request(request, by: .alice)).get()
            guard case .failure(let failure) = outcome[0] else { return nil }
            return Refusal(failure.error)
        }
        #expect(try prepare(large, limits)?.code == .quotaExceeded)
        #expect(try prepare(list, limits) == nil)
        let entry = list.entries[0]
        let chunk = PackedChunk(
            digest: entry.digest,
            row: ChunkRow(
                pack: 1,
                offset: 0,
                length: 100,
                size: entry.size,
                isCompressed: true,
                checksum: Bytes(repeating: 1, count: 16)
            )
        )
        let entering = EnterChunks(database: .private, chunks: [chunk], length: 100)
        _ = try store.run(store.request(entering, by: .alice)).get()
        let asset = FieldValue.asset(Asset(digest: list.digest, size: list.size))
        func named(_ name: String) -> SaveItem { SaveItem(name, ["file": asset]) }
        #expect(try save([named("a")]) == [nil])
        #expect(try usage().assetBytes == 6_000)
        #expect(try save([named("b")])[0]?.code == .quotaExceeded)
        // The upload of content that is here already goes on.
        #expect(try prepare(list, limits) == nil)
        #expect(try save([SaveItem("a", ["file": asset, "n": 1])]) == [nil])
        let none: [String: FieldValue?] = ["file": nil]
        #expect(try save([SaveItem("a", none)]) == [nil])
        #expect(try usage().assetBytes == 0)
        #expect(try save([named("b")]) == [nil])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }
}
