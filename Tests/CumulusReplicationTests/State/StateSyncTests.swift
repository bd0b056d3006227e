// Nodes that hand over state instead of commits come to hold what the commits would have made, at
// once and whole.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct StateSyncTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("r", ["a": 0, "b": 0, "n": 10])])
        try other.take(from: one)
        one.now += 10
        other.now = one.now + 10
    }

    /// Each takes the state of the other.
    private func exchange(_ way: StateWay) throws {
        try one.takeState(of: other, way)
        try other.takeState(of: one, way)
        #expect(try differences() == [])
    }

    private func differences() throws -> [String] {
        let states = try [one, other].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        let derived = try [one, other].flatMap { try DerivedRows.differences(in: $0.engine) }
        return ReplicatedState.differences(states[0], states[1]) + derived
    }

    private func value(_ name: String) throws -> Bytes? {
        try? other.fetch(name, in: .private, by: .alice).get().fields
    }

    // MARK: What two nodes made of one record

    @Test(arguments: StateWay.allCases) func fieldsOfBothStand(way: StateWay) throws {
        try one.save([SaveItem("r", ["a": 1])])
        try other.save([SaveItem("r", ["b": 2])])
        try exchange(way)
        #expect(try value("r") == WireField.body(["a": 1, "b": 2, "n": 10]))
    }

    @Test(arguments: StateWay.allCases) func ofTwoTypesTheFirstOneStands(way: StateWay) throws {
        try one.save([SaveItem("r", ["x": 1])])
        try other.save([SaveItem("s", ["x": "a"])])
        try exchange(way)
        #expect(try value("r") == WireField.body(["a": 0, "b": 0, "n": 10, "x": 1]))
        #expect(try value("s") == WireField.body(["x__string": "a"]))
    }

    @Test(arguments: StateWay.allCases) func aTextStandsBesideIncrements(way: StateWay) throws {
        try one.save([SaveItem("r", ["x": 1])])
        try one.save([SaveItem("r", increments: ["x": 1])])
        try other.save([SaveItem("r", ["x": "日本"])])
        try exchange(way)
        let fields: [String: FieldValue?] = ["a": 0, "b": 0, "n": 10, "x__string": "日本"]
        #expect(try value("r") == WireField.body(fields))
    }

    /// Wherever a zone was filled, what its records name is wanted where it stands.
    @Test(arguments: StateWay.allCases) func assetsAreWanted(way: StateWay) throws {
        let list = Bytes().withUnsafeBytes { ChunkList(cutting: $0) }
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(one.scope)
            let database = DatabaseID(kind: .private, owner: Caller.alice.user)
            let number = try transaction.makeDatabase(scope, database)
            _ = try DatabaseAssets(of: number).enter(list, by: Caller.alice.user, &transaction)
        }
        let asset = Asset(digest: list.digest, size: 0)
        try one.save([SaveItem("p", ["file": .asset(asset)])])
        try exchange(way)
        let wanted = try other.reader.rows(.log, .all(.wantedAsset))
        #expect(wanted.count == 1)
        let number = try #require(
            try other.reader.database(
                other.scopeNumber(),
                DatabaseID(kind: .private, owner: Caller.alice.user)
            )
        )
        #expect(wanted.first?.key == RowKey.wantedAsset(number, list.digest).bytes)
    }

    @Test(arguments: StateWay.allCases) func aDeletionBeatsAnEdit(way: StateWay) throws {
        try one.delete([DeleteItem("r")])
        try other.save([SaveItem("r", ["a": 2])])
        try exchange(way)
        #expect(try value("r") == nil)
    }

    @Test(arguments: StateWay.allCases) func theNewerOfTwoLivesIsShown(way: StateWay) throws {
        try one.save([SaveItem("s", ["a": 1])])
        try other.save([SaveItem("s", ["b": 2])])
        try exchange(way)
        #expect(try value("s") == WireField.body(["b": 2]))
        try one.delete([DeleteItem("s")])
        try exchange(way)
        #expect(try value("s") == nil)
    }

    @Test(arguments: StateWay.allCases) func incrementsOfBothCountOnceEach(way: StateWay) throws {
        let save = SaveItem("r", increments: ["n": 1])
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [save])
        let retried = one.request(modify, by: .alice)
        try one.run(retried)
        try other.run(retried)
        try other.save([SaveItem("r", increments: ["n": 5])])
        try exchange(way)
        #expect(try value("r") == WireField.body(["a": 0, "b": 0, "n": 16]))
    }

    /// Increments of another scope say nothing about this one's vector.
    @Test func increasesInOneEnvironmentDontStopTheOther() throws {
        let save = SaveItem("r", increments: ["n": 1])
        for _ in 0..<3 { try one.save([save]) }
        let cluster = try #require(try one.reader.scope(.cluster))
        let offer = try StateSource(one.reader, scope: cluster).offer(to: VersionVector())
        #expect(offer.increments.isEmpty)
        _ = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
        let own = StateSource(one.reader, scope: try one.scopeNumber())
        #expect(try own.offer(to: VersionVector()).increments.count == 3)
    }

    /// Something else wrote between the merge and the end: nothing is lost, nothing is taken.
    @Test func aMergeThatWasDisturbedTakesNothing() throws {
        try one.save([SaveItem("s", ["a": 1])])
        let scope = try other.scopeNumber()
        let source = StateSource(
            ReadTransaction(try one.engine.snapshot(), reach: .disk),
            scope: try one.scopeNumber()
        )
        let offer = try source.offer(to: other.vector()) { _ in true }
        var sync: StateSync?
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            var begun = try StateSync(offer, in: scope, &transaction)
            _ = try begun.merge(recordLimit: 100, &transaction)
            sync = begun
        }
        try other.save([SaveItem("t", ["a": 2])])
        let last = try #require(sync)
        var isDone = true
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            isDone = try last.finish(&transaction)
        }
        #expect(!isDone)
        #expect(try value("t") == WireField.body(["a": 2]))
        #expect(try value("s") == nil)
    }

    // MARK: What can't be taken

    /// Each damage to what a donor says is noticed before anything is written.
    @Test func anOfferThatCanNotBeIsRefused() throws {
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let good = try source.offer(to: other.vector()) { _ in true }
        let base = try other.vector()
        _ = try StateIntake(good, above: base, clock: .init(now: one.now))
        let run = try #require(good.vectors.keys.first)
        let changes: [(inout StateOffer) -> Void] = [
            { $0.base = VersionVector() },
            { $0.vectors[run]?.time = HybridTime(milliseconds: 1_760_000_000_000) },
            { $0.vectors[run]?.seq = .max },
            {
                let end = VectorRow(seq: 1 << 48, time: HybridTime(1), hash: Commit.noHash)
                $0.vectors[Incarnation(7)] = end
            },
            { $0.vectors[run]?.hash = [1] },
            { $0.vectors = [:] },
            { $0.zones.append($0.zones[0]) },
            { $0.zones[0].extent = .nothing },
            { $0.zones[0].heads.cover(Dot(run, 1_000)) },
            { $0.zones[0].row.horizon.cover(Dot(run, 1_000)) },
            { $0.zones[0].row.deadThrough = $0.zones[0].row.generation },
            { $0.zones[0].row.generation = Zones.lastGeneration + 1 },
            { $0.zones[0].row.generation = .max },
            {
                $0.zones[0].row.deadThrough = .max
                $0.zones[0].extent = .nothing
            },
            { $0.registers[0].row.stamp.dot.seq = 1_000 },
            { $0.registers[0].row.stamp.time = HybridTime(.max) },
        ]
        for (number, change) in changes.enumerated() {
            var offer = good
            change(&offer)
            #expect(throws: MalformedBytes.self, "change \(number)") {
                _ = try StateIntake(offer, above: base, clock: .init(now: one.now))
            }
        }
        var last = good
        last.zones[0].row.generation = Zones.lastGeneration
        _ = try StateIntake(last, above: base, clock: .init(now: one.now))
    }

    /// The cluster's clocks were an hour ahead and were set right: a node that joins then takes the
    /// state of one whose clock is right, and of no other.
    @Test func aStateAheadOfTheClockIsTakenFromADonorThatIsRight() throws {
        try one.save([SaveItem("s", ["a": 1])])
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let offer = try source.offer(to: VersionVector()) { _ in true }
        var clock = CommitIntake.Clock(now: one.now - 3_600_000)
        #expect(throws: MalformedBytes.self) {
            _ = try StateIntake(offer, above: VersionVector(), clock: clock)
        }
        clock.isSenderRight = true
        _ = try StateIntake(offer, above: VersionVector(), clock: clock)
    }

    @Test func aPageThatCanNotBeIsRefused() throws {
        try one.save([SaveItem("s", ["a": 1]), SaveItem("t", ["a": 1])])
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let offer = try source.offer(to: other.vector()) { _ in true }
        var pages = StatePages(source, offer)
        let good = try #require(try pages.next(byteLimit: 10_000))
        #expect(good.records.map(\.name) == ["r", "s", "t"])
        let changes: [(inout StatePage) -> Void] = [
            { $0.zone = 7 },
            { $0.zone = -1 },
            { $0.records.reverse() },
            { $0.records.append($0.records[2]) },
            { $0.records[0].record.rows = [] },
            { $0.records[0].record.rows.append($0.records[1].record.rows[0]) },
            { $0.records[0].record.rows[0].removeLast(40) },
            { $0.records[0].record.rows[0] = [] },
        ]
        for (number, change) in changes.enumerated() {
            var page = good
            change(&page)
            var intake = try StateIntake(offer, above: other.vector(), clock: .init(now: one.now))
            #expect(throws: MalformedBytes.self, "change \(number)") { _ = try intake.read(page) }
        }
        var intake = try StateIntake(offer, above: other.vector(), clock: .init(now: one.now))
        _ = try intake.read(good)
        #expect(throws: MalformedBytes.self) { _ = try intake.read(good) }
    }

    /// A record's lives come in several pages, and in the order of the record's rows.
    @Test func aRecordInPartsIsPutTogether() throws {
        try other.save([SaveItem("s", ["a": 1])])
        try one.save([SaveItem("s", ["a": 2])])
        try one.take(from: other)
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let offer = try source.offer(to: VersionVector()) { _ in true }
        let whole = try pages(source, offer, byteLimit: 10_000)
        let parts = try pages(source, offer, byteLimit: 1)
        #expect(whole.map { $0.records.map(\.record.rows.count) } == [[1, 2]])
        #expect(parts.map { $0.records.map(\.record.rows.count) } == [[1], [1], [1]])
        #expect(parts.map(\.goesOn) == [false, true, false])

        let fresh = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
        var intake = fresh
        let read = try parts.map { try intake.read($0) }
        #expect(read.map { $0.records.map(\.name) } == [["r"], [], ["s"]])
        #expect(read[2].records[0].bytes == whole[0].records[1].record)
        try intake.checkEnd()

        // A part is refused that comes twice, or before another record, or without a row.
        var named = parts[2]
        named.records[0].name = "t"
        var empty = parts[1]
        empty.records[0].record.rows = []
        for wrong in [[1, 1, 2], [1, 2, 2]].map({ $0.map { parts[$0] } }) + [
            [parts[1], named], [empty],
        ] {
            var intake = fresh
            #expect(throws: MalformedBytes.self) {
                for page in wrong { _ = try intake.read(page) }
            }
        }
        intake = fresh
        _ = try intake.read(parts[1])
        #expect(throws: MalformedBytes.self) { try intake.checkEnd() }
    }

    /// Nobody can fill our memory with a record that never ends.
    @Test func aRecordWithoutAnEndIsRefused() throws {
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let offer = try source.offer(to: VersionVector()) { _ in true }
        for rows in [[Bytes(repeating: 0, count: 1 << 20)], Array(repeating: [], count: 1_000)] {
            var page = StatePage(zone: 0)
            page.records = [("r", StagedRecord(rows: rows))]
            page.goesOn = true
            var intake = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
            #expect(throws: MalformedBytes.self) {
                for _ in 0..<70 { _ = try intake.read(page) }
            }
        }
    }

    private func pages(
        _ source: StateSource,
        _ offer: StateOffer,
        byteLimit: Int
    ) throws -> [StatePage] {
        var pages = StatePages(source, offer)
        var read: [StatePage] = []
        while let page = try pages.next(byteLimit: byteLimit) { read.append(page) }
        return read
    }

    /// Whatever bytes stand in a row: it is refused, or taken as some record, and never a crash.
    @Test(arguments: 1...30) func damagedRowsDoNoHarm(seed: UInt64) throws {
        try one.save([SaveItem("s", ["a": 1, "b": 2], increments: ["n": 4])])
        let source = StateSource(one.reader, scope: try one.scopeNumber())
        let offer = try source.offer(to: other.vector()) { _ in true }
        var pages = StatePages(source, offer)
        let good = try #require(try pages.next(byteLimit: 10_000))
        let scope = try other.scopeNumber()
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            var page = good
            let record = Int.random(in: 0..<page.records.count, using: &dice)
            let bytes = page.records[record].record.rows[0]
            page.records[record].record.rows[0] = Damage.mutation(of: bytes, using: &dice)
            var intake = try StateIntake(offer, above: other.vector(), clock: .init(now: one.now))
            guard let read = try? intake.read(page) else { continue }
            try? other.change { (transaction: inout WriteTransaction) throws(EngineError) in
                var sync = try StateSync(offer, in: scope, &transaction)
                try sync.take(read, &transaction)
                while try !sync.merge(recordLimit: 10, &transaction) {}
                _ = try sync.finish(&transaction)
                throw .corrupt("as far as that")
            }
        }
    }

    @Test(arguments: StateWay.allCases) func aDeletedZoneIsGone(way: StateWay) throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try exchange(way)
        try one.modify(ModifyZones(deleting: ["z"]), by: .alice)
        try other.save([SaveItem("s", ["a": 1], in: zone)])
        try exchange(way)
        #expect(try other.zoneNumber(zone, by: .alice) == nil)
    }

    // MARK: Forgotten deaths

    /// The tombstone is gone, the vector still tells that the life ended.
    @Test(arguments: StateWay.allCases) func whatWasForgottenStaysDead(way: StateWay) throws {
        try one.delete([DeleteItem("r")])
        try one.purge()
        #expect(try StoredRecords.all(in: one.reader).allSatisfy { $0.place.name != "r" })
        try other.save([SaveItem("r", ["a": 2])])
        try exchange(way)
        #expect(try value("r") == nil)
    }

    @Test func whoIsBehindTheHorizonTakesAllOfTheZone() throws {
        try one.delete([DeleteItem("r")])
        try one.purge()
        let scope = try one.scopeNumber()
        let offer = try StateSource(one.reader, scope: scope).offer(to: other.vector())
        #expect(offer.zones.map(\.extent) == [.full])
    }

    // MARK: Whole or not at all

    @Test func anEmptyNodeTakesEverything() throws {
        let requests = try RandomWork(seed: 3)
        var work = requests
        _ = try work.edit(requests: 60)
        let fresh = try TestStore(seed: 4)
        try fresh.takeState(of: work.store, .full)
        let states = try [fresh, work.store].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
        #expect(states[0].count > 20)
        #expect(try DerivedRows.differences(in: fresh.engine) == [])
        // Its log begins behind what it took.
        let source = StateSource(fresh.reader, scope: try fresh.scopeNumber())
        #expect(try !source.logReaches(VersionVector()))
        #expect(try source.logReaches(work.store.vector()))
    }

    @Test func aSyncThatBreaksOffLeavesNothing() throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("s", ["a": 1], in: ZoneAddress(name: "z"))])
        let before = try other.allRows()
        try other.takeState(of: one, .full, pages: 1)
        #expect(try other.allRows() != before)
        #expect(try other.zoneNumber(ZoneAddress(name: "z"), by: .alice) == nil)
        try other.restart()
        let left =
            try other.reader.rows(.log, .all(.stage)).count
            + other.reader.rows(.meta, .all(.stagedZone)).count
        #expect(left == 0)
        #expect(try DerivedRows.differences(in: other.engine) == [])
        #expect(try StoredRecords.all(in: other.reader).count == 1)
        try exchange(.full)
    }

    @Test(arguments: StateWay.allCases) func whatIsWrittenMeanwhileStays(way: StateWay) throws {
        try one.save([SaveItem("r", ["a": 1])])
        try other.takeState(of: one, way) {
            try other.save([SaveItem("r", ["b": 5]), SaveItem("new", ["c": 1])])
        }
        #expect(try value("r") == WireField.body(["a": 1, "b": 5, "n": 10]))
        #expect(try value("new") == WireField.body(["c": 1]))
        try exchange(way)
    }
}

@Suite struct CollectionTests {
    private let store: TestStore

    init() throws {
        store = try TestStore(seed: 1)
        try store.save([SaveItem("r", ["a": 0]), SaveItem("s", ["a": 0])])
        try store.delete([DeleteItem("r")])
        store.now += 1_000
    }

    private func holdsTombstone() throws -> Bool {
        try StoredRecords.all(in: store.reader).contains { $0.row.isDead }
    }

    private func horizon() throws -> VersionVector {
        let source = StateSource(store.reader, scope: try store.scopeNumber())
        return try source.zones().reduce(into: VersionVector()) { $0.merge($1.row.horizon) }
    }

    @Test func aTombstoneStaysUntilAllHaveReadPastIt() throws {
        let vector = try store.vector()
        for reports in [[nil], [VersionVector()], [vector, nil]] as [[VersionVector?]] {
            try store.purge(Collection.stable(vector, reports: reports))
            #expect(try holdsTombstone())
        }
        #expect(try horizon().isEmpty)
        try store.purge(Collection.stable(vector, reports: [vector]))
        #expect(try !holdsTombstone())
        #expect(try horizon() == vector)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try store.names(in: .private, by: .alice) == ["s"])
    }

    @Test func aTombstoneStaysForItsTime() throws {
        try store.purge(diedBefore: store.now - 1_000)
        #expect(try holdsTombstone())
        try store.purge(diedBefore: store.now - 999)
        #expect(try !holdsTombstone())
    }

    @Test func purgesGoOnWhereTheyStopped() throws {
        let names = (0..<25).map { "n\($0)" }
        try store.save(names.map { SaveItem($0, ["a": 1]) })
        try store.delete(names.map { DeleteItem($0) })
        store.now += 1_000
        try store.purge(rowLimit: 4)
        #expect(try StoredRecords.all(in: store.reader).map(\.place.name) == ["s"])
    }

    @Test func aTruncatedLogSaysHowFarItReaches() throws {
        let old = try store.vector()
        try store.save([SaveItem("t", ["a": 1])])
        let source = { StateSource(store.reader, scope: try store.scopeNumber()) }
        #expect(try source().logReaches(VersionVector()))
        try store.truncateLog(through: old)
        #expect(try !source().logReaches(VersionVector()))
        #expect(try source().logReaches(old))
        let left = try store.commits(above: [:]).values.joined().map(\.0.stamp.dot.seq)
        #expect(left == [old.dots[0].seq + 1])
        // The node goes on as before.
        try store.restart()
        try store.save([SaveItem("u", ["a": 1])])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func nothingBeyondTheVectorIsTruncated() throws {
        var beyond = try store.vector()
        let dot = beyond.dots[0]
        beyond[dot.incarnation] += 5
        try store.truncateLog(through: beyond)
        try store.save([SaveItem("t", ["a": 1])])
        #expect(
            try store.commits(above: [:]).values.joined().map(\.0.stamp.dot.seq) == [dot.seq + 1]
        )
    }

    @Test func incrementsGoWhenNobodyCanRepeatThem() throws {
        let day: Int64 = 24 * 3_600_000 + 10 * 60_000
        for _ in 0..<3 { try store.save([SaveItem("s", increments: ["n": 1])]) }
        let scope = try store.scopeNumber()
        let vector = try store.vector()
        let count = { try store.reader.rows(.log, .increments(of: scope)).count }
        func expire(
            _ members: [ReportRow]?,
            after wait: Int64,
            removal: Int64? = nil
        ) throws -> Int {
            let now = store.now + wait
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try Collection.expireIncrements(
                    of: scope,
                    members: members,
                    removal: removal,
                    now: now,
                    entryLimit: 2,
                    &transaction
                )
            }
            return try count()
        }
        // They can still be read from the log.
        #expect(try expire([], after: day + 1) == 3)
        try store.truncateLog(through: vector)
        // A request may still come, a member never reported, or not since, or knows more than we.
        #expect(try expire([], after: day) == 3)
        #expect(try expire(nil, after: day + 1) == 3)
        let early = ReportRow(vector: vector, time: store.now + day)
        #expect(try expire([early], after: day + 1) == 3)
        var beyond = vector
        beyond[Incarnation(1)] = 1
        let ahead = ReportRow(vector: beyond, time: store.now + day + 1)
        #expect(try expire([ahead], after: day + 1) == 3)
        let late = ReportRow(vector: vector, time: store.now + day + 1)
        // What others had taken of a removed member they tell when they report after that.
        let lead = Limits.standard.requestLeadMilliseconds
        #expect(try expire([late], after: day + 1, removal: late.time - lead) == 3)
        #expect(try expire([late], after: day + 1, removal: late.time - lead - 1) == 1)
        #expect(try expire([late], after: day + 1) == 0)
    }

    @Test func reportsAreKept() throws {
        let vector = try store.vector()
        let node = Bytes(repeating: 7, count: 16)
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            Collection.note(vector, of: node, in: scope, at: 7, &transaction)
        }
        try store.restart()
        #expect(try store.reader.reports(of: scope) == [node: ReportRow(vector: vector, time: 7)])
    }
}

extension TestStore {
    /// Drops tombstones; unless told otherwise all that died by now.
    fileprivate func purge(
        _ stable: VersionVector? = nil,
        diedBefore: Int64? = nil,
        rowLimit: Int = 1_000
    ) throws {
        let purge = Collection.Purge(
            stable: try stable ?? vector(),
            diedBefore: diedBefore ?? now + 1
        )
        try self.purge(purge, limit: rowLimit)
    }

    func truncateLog(through vector: VersionVector) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Collection.truncateLog(of: scope, through: vector, &transaction)
        }
    }
}
