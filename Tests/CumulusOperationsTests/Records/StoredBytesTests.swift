// Requests that change large stored records: how much a request may read, what is looked up before
// its turn, and how cascades go on by bytes.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct StoredBytesTests {
    private static let zone = ZoneAddress(name: "z")
    private static let large = FieldValue.string(String(repeating: "x", count: 1_000))
    private let store: TestStore

    /// Makes two zones with records of about 1,000 bytes.
    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z", "y"]), by: .alice)
        try store.save((0..<6).map { Self.item("r\($0)", ["s": Self.large, "n": 1]) })
        try store.save([Self.item("other", ["s": Self.large, "n": 1], in: "y")])
    }

    private static func item(
        _ name: String,
        _ fields: [String: FieldValue?] = [:],
        in zone: String = "z",
        parent: String? = nil
    ) -> SaveItem {
        SaveItem(name, fields, in: ZoneAddress(name: zone), parent: parent)
    }

    /// A large record that is deleted with the record `root`.
    private static func child(_ name: String) -> SaveItem {
        item(name, ["s": large, "of": .owner("root")])
    }

    private static func deletion(_ names: String..., other: Bool = false) -> ModifyRecords {
        let more = other ? [DeleteItem("other", in: ZoneAddress(name: "y"))] : []
        return ModifyRecords(
            database: .private,
            deletes: names.map { DeleteItem($0, in: zone) } + more
        )
    }

    private static func change(_ names: String...) -> ModifyRecords {
        ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: names.map { item($0, ["n": 2]) }
        )
    }

    /// The size of a record as it is stored.
    private func size(_ name: String, in zone: String = "z") throws -> Int {
        let number = try #require(try store.zoneNumber(ZoneAddress(name: zone), by: .alice))
        return try #require(try store.reader.get(.record(number, name))).count
    }

    private func names(in zone: String = "z") throws -> [String] {
        try store.names(in: .private, zone: ZoneAddress(name: zone), by: .alice)
    }

    private func tag(of name: String) throws -> Bytes {
        try store.fetch(name, in: .private, zone: Self.zone, by: .alice).get().changeTag
    }

    /// The error of the whole request; nil if each item was done.
    private func refusal(of modify: ModifyRecords) throws -> ServiceError? {
        switch try store.run(store.request(modify, by: .alice)) {
        case .success(let outcome):
            #expect(outcome.codes.allSatisfy { $0 == nil })
            return nil
        case .failure(let error): return error
        }
    }

    /// Expects that the request reads this many bytes: a bound with one byte less refuses it, and
    /// nothing changes.
    private func expectBound(
        _ bytes: Int,
        of modify: ModifyRecords,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        store.storedBytesPerRequest = bytes - 1
        let before = try store.reader.rows(.log, .all(.commit)).count
        let error = try refusal(of: modify)
        #expect(error?.code == .limitExceeded, sourceLocation: sourceLocation)
        #expect(error?.reason == .tooLarge, sourceLocation: sourceLocation)
        #expect(error?.message.contains("change fewer") == true, sourceLocation: sourceLocation)
        let after = try store.reader.rows(.log, .all(.commit)).count
        #expect(after == before, sourceLocation: sourceLocation)
        store.storedBytesPerRequest = bytes
        #expect(try refusal(of: modify) == nil, sourceLocation: sourceLocation)
    }

    // MARK: The bound

    @Test func aDeletionMayReadSoMuchAndNoMore() throws {
        try expectBound(try size("r0") + size("r1"), of: Self.deletion("r0", "r1"))
        #expect(try names() == ["r2", "r3", "r4", "r5"])
    }

    @Test func aChangeOfASmallFieldMayReadSoMuchAndNoMore() throws {
        let before = try tag(of: "r1")
        try expectBound(try size("r0") + size("r1"), of: Self.change("r0", "r1"))
        #expect(try tag(of: "r1") != before)
    }

    /// The zone that comes first stays unchanged, too.
    @Test func allZonesOfARequestCountTogether() throws {
        let sum = try size("r0") + size("r1") + size("other", in: "y")
        try expectBound(sum, of: Self.deletion("r0", "r1", other: true))
        #expect(try names(in: "y") == [])
        #expect(try names() == ["r2", "r3", "r4", "r5"])
    }

    @Test func oneRecordAloneMayBeAsLargeAsItIs() throws {
        store.storedBytesPerRequest = 10
        #expect(try refusal(of: Self.change("r0")) == nil)
        #expect(try refusal(of: Self.deletion("r0")) == nil)
        #expect(try refusal(of: Self.change("r1", "r2"))?.code == .limitExceeded)
    }

    @Test func newRecordsCountNothing() throws {
        store.storedBytesPerRequest = 10
        let saves = (0..<4).map { Self.item("new\($0)", ["s": Self.large]) }
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: saves)
        #expect(try refusal(of: modify) == nil)
    }

    /// A repeated request gets its answer, however large the records are by now.
    @Test func aRepeatedRequestIsAnsweredAnyhow() throws {
        let saves = ["a", "b"].map { Self.item($0, ["n": 1]) }
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: saves)
        let request = store.request(modify, by: .alice)
        let first = try store.run(request).get()
        for name in ["a", "b"] { try store.save([Self.item(name, ["s": Self.large])]) }
        store.storedBytesPerRequest = 1_500
        let second = try store.run(request).get()
        #expect(second.codes == first.codes && second.isRepeated)
        #expect(try refusal(of: modify)?.code == .limitExceeded)
    }

    // MARK: Targets and shares

    /// Whether the writer sends the request back, so that its targets are looked up.
    private func needsTargets(_ modify: ModifyRecords) throws -> Bool {
        let scope = try store.scopeNumber()
        let asker = Asker(scope: store.scope, caller: .alice)
        var isSentBack = false
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let outcome = try modify.run(for: asker, in: scope, &transaction)
            if case .success(.needsTargets) = outcome { isSentBack = true }
        }
        return isSentBack
    }

    /// One record may refer to many, and can't be divided.
    @Test func largeTargetsAreLookedUpBeforeTheTurn() throws {
        store.storedBytesPerRequest = 3_000
        let owners = FieldValue.list((0..<6).map { .owner("r\($0)") })
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [Self.item("n", ["to": owners])]
        )
        #expect(try needsTargets(modify))
        #expect(try refusal(of: modify) == nil)
        let zone = try #require(try store.zoneNumber(Self.zone, by: .alice))
        let targets = try #require(try store.reader.record(zone, "n")).targets
        #expect(targets.count == 6)
        try store.delete([DeleteItem("r3", in: Self.zone)])
        #expect(try !names().contains("n"))
    }

    @Test func largeParentsAreLookedUpBeforeTheTurn() throws {
        store.storedBytesPerRequest = 3_000
        let saves = (0..<6).map { Self.item("c\($0)", ["n": 1], parent: "r\($0)") }
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: saves)
        #expect(try needsTargets(modify))
        #expect(try refusal(of: modify) == nil)
        let missing = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: saves + [Self.item("lost", ["n": 1], parent: "nobody")]
        )
        #expect(try store.modify(missing, by: .alice).codes.contains(.referenceViolation))
    }

    /// The records below a root are read for its share, which can't be divided.
    @Test func aRootIsSharedWhateverHangsBelowIt() throws {
        let bed = try ShareTestBed()
        try bed.save("root", by: bed.owner)
        for number in 0..<6 {
            let item = Self.item("c\(number)", ["s": Self.large], parent: "root")
            #expect(try bed.save([item], by: bed.owner) == nil)
        }
        bed.store.storedBytesPerRequest = 2_000
        #expect(try bed.share("root") == nil)
        #expect(try bed.code("share-root", by: bed.owner) == nil)
    }

    // MARK: Turns

    /// The named record goes first, and each turn takes as many as fit.
    @Test func aCascadeOverLargeRecordsGoesInTurns() throws {
        try store.save([Self.item("root", ["n": 1])])
        try store.save((0..<8).map { Self.child("c\($0)") })
        // A turn reads up to half of this bound.
        store.storedBytesPerRequest = 4_000
        let request = store.request(Self.deletion("root"), by: .alice)
        let outcome = try store.run(request).get()
        #expect(outcome.codes == [nil] && outcome.owes)
        var left = try names().filter { $0.hasPrefix("c") }
        #expect(try !names().contains("root") && left.count >= 5)
        while try !store.payCascades(turns: 1) {
            let now = try names().filter { $0.hasPrefix("c") }
            #expect(left.count - now.count <= 3)
            left = now
        }
        #expect(try names() == ["r0", "r1", "r2", "r3", "r4", "r5"])
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    /// Each turn deletes at least one record, however small the bound is.
    @Test func aCascadeEndsUnderTheSmallestBound() throws {
        try store.save([Self.item("root", ["n": 1])])
        try store.save((0..<4).map { Self.child("c\($0)") })
        store.storedBytesPerRequest = 1
        try store.delete([DeleteItem("root", in: Self.zone)])
        #expect(try names() == ["r0", "r1", "r2", "r3", "r4", "r5"])
    }

    /// A batch that has read much accepts no further request.
    @Test func otherRequestsWaitForTheNextBatch() throws {
        store.storedBytesPerRequest = 8_000
        var group = GroupCommit(engine: store.engine, state: store.state)
        var isFull = [group.isFull]
        for name in ["r0", "r1"] {
            _ = try store.run(store.request(Self.change(name), by: .alice), in: &group).get()
            isFull.append(group.isFull)
        }
        #expect(isFull == [false, false, true])
    }

    /// One step of a walk finds no more for the writer than a turn may read.
    @Test func walksFindLargeRecordsOneByOne() throws {
        let zone = try #require(try store.zoneNumber(Self.zone, by: .alice))
        let place = try #require(
            try store.reader.zones(of: store.scopeNumber()).first { $0.name == "z" }
        )
        let lens = try RecordLens(of: store.scopeNumber(), in: store.reader)
        var after: String?
        for number in 0..<6 {
            let found = try DroppedRecords.find(
                in: place,
                of: store.scopeNumber(),
                after: after,
                limit: 100,
                byteLimit: 1_000,
                by: lens,
                store.reader
            )
            #expect(found.last == "r\(number)")
            after = found.last
        }
        try store.delete((0..<6).map { DeleteItem("r\($0)", in: Self.zone) })
        let purge = Collection.Purge(
            stable: try store.reader.vector(of: store.scopeNumber()),
            diedBefore: .max
        )
        let found = try purge.find(in: zone, after: nil, limit: 100, byteLimit: 1, store.reader)
        #expect(found.names == ["r0"] && found.last == "r0")
        let all = try purge.find(in: zone, after: nil, limit: 100, store.reader)
        #expect(all.names.count == 6 && all.last == nil)
    }
}
