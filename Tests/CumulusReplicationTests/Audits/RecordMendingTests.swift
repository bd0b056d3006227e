// Rows that don't decode: they are found and named, other nodes' records take their place where it
// is certain that nothing is lost by that, and nothing else changes.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusTesting
import Testing

@testable import CumulusStorage

@Suite struct RecordMendingTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        for number in 0..<20 { try one.save([SaveItem("r\(number)", ["n": 1])]) }
        try one.delete([DeleteItem("r7")])
        try other.take(from: one)
    }

    private func zone(of store: TestStore) throws -> ZoneNumber {
        try #require(try store.zoneNumber(ZoneAddress(name: Names.defaultZone), by: .alice))
    }

    private func damage(_ key: RowKey, in store: TestStore) throws {
        var batch = EngineBatch()
        batch.writes = [.init(family: key.family, key: key.bytes, value: [0xFF])]
        try store.engine.commit(batch)
        try store.restart()
    }

    private func damage(_ name: String) throws {
        try damage(.record(zone(of: one), name), in: one)
    }

    private func survey() throws -> [StoreDamage] {
        var survey = StoreSurvey(one.reader)
        var damages: [StoreDamage] = []
        while !survey.isFinished { damages += try survey.step(limit: 7) }
        return damages
    }

    /// What another store would have put in the place of what is damaged.
    private func mending(
        of damages: [RecordDamage],
        meanwhile: () throws -> Void = {}
    ) throws -> RecordMending {
        try meanwhile()
        var mending = RecordMending(damages)
        let stretches = mending.stretches(of: one.scope)
        #expect(Stretch.areInOrder(stretches))
        let snapshot = ReadTransaction(try other.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try other.scopeNumber())
        let offer = try source.outline(of: stretches)
        var intake = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
        mending.begin(offer, of: one.scope)
        var pages = StatePages(source, offer, of: stretches)
        while let page = try pages.next(byteLimit: 200) {
            mending.take(
                try intake.read(page),
                of: offer.zones[page.zone].commitZone,
                in: one.scope
            )
        }
        return mending
    }

    /// Mends what can be; returns for each damage whether it was.
    private func mend(meanwhile: () throws -> Void = {}) throws -> [Bool] {
        let damages = try RecordDamage.all(survey(), in: one.reader)
        let mending = try mending(of: damages, meanwhile: meanwhile)
        return try damages.indices.map { index in
            guard case .mended(let mending) = mending.outcome(of: index) else { return false }
            var isMended = false
            try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMended = try mending.run(&transaction)
            }
            return isMended
        }
    }

    private func names() throws -> [String] {
        try RecordDamage.all(survey(), in: one.reader).flatMap(\.names).map(\.name).sorted()
    }

    @Test func damagedRowsAreNamedAndMended() throws {
        #expect(try survey().isEmpty)
        let before = try one.contents()
        for name in ["r0", "r3", "r4", "r7", "r9"] { try damage(name) }
        #expect(try names() == ["r0", "r3", "r4", "r7", "r9"])
        #expect(try mend() == [true, true, true, true, true])
        #expect(try survey().isEmpty)
        #expect(try one.contents() == before)
        #expect(try DerivedRows.differences(in: one.engine.snapshot()).isEmpty)
    }

    /// The other one has not read the last change of it.
    @Test func whatOnlyThisNodeKnowsIsKept() throws {
        try one.save([SaveItem("r3", ["n": 2])])
        try damage("r3")
        try damage("r4")
        #expect(try mend() == [false, true])
        #expect(try names() == ["r3"])
    }

    /// A change that this node has not read may not come without its commit.
    @Test func whatIsAheadOfThisNodeWaits() throws {
        try damage("r3")
        try other.save([SaveItem("r3", ["n": 2])])
        #expect(try mend() == [false])
    }

    /// A deletion that the other one has forgotten: the tombstone goes here too.
    @Test func aForgottenDeletionIsForgotten() throws {
        try other.purge(.init(stable: try other.vector(), diedBefore: .max), limit: 10)
        try damage("r7")
        // It may not have read what is forgotten: the horizon says that it has.
        #expect(try mend() == [true])
        #expect(try survey().isEmpty)
        #expect(try DerivedRows.differences(in: one.engine.snapshot()).isEmpty)
        let database = try Authorisation.database(.private, for: .alice)
        let number = try #require(try one.reader.database(one.scopeNumber(), database))
        let row = try #require(try one.reader.zone(number, Names.defaultZone))
        #expect(!row.horizon.isEmpty)
    }

    /// A record's life that is not shown.
    @Test func livesBehindAreMended() throws {
        let maker = try TestStore(copying: one, seed: 3)
        try maker.save([SaveItem("twin", ["n": 1])])
        try one.save([SaveItem("twin", ["n": 2])])
        for store in [one, other] { try store.take(from: maker) }
        try other.take(from: one)
        try one.take(from: other)
        let siblings = try one.reader.rows(.records, .siblings(of: zone(of: one)))
        let before = try one.contents()
        try damage(RowKey(.sibling, bytes: try #require(siblings.first).key), in: one)
        #expect(try names() == ["twin"])
        #expect(try mend() == [true])
        #expect(try one.contents() == before)
    }

    /// Where the change index can't be read, the other node has to have read everything.
    @Test(arguments: [true, false]) func withoutNamesAllHasToBeRead(isRead: Bool) throws {
        if !isRead { try one.save([SaveItem("r11", ["n": 2])]) }
        let change = try #require(
            try one.reader.rows(.index, .changes(of: zone(of: one))).first
        )
        var batch = EngineBatch()
        batch.writes = [.init(family: .index, key: Bytes(change.key.dropLast(2)), value: [])]
        try one.engine.commit(batch)
        try damage("r3")
        #expect(try mend() == [isRead])
    }

    /// All but the first and the last are gone, of changes, references and indexes.
    @Test func derivedRowsFollowFromRecords() throws {
        try one.save([
            SaveItem(
                "child",
                ["to": .reference(Record.Reference(recordName: "r1", action: .deleteSelf))]
            )
        ])
        let before = try one.contents()
        let rows = try one.reader.rows(.index, KeyRange(start: [], end: [0xFF]))
        #expect(Set(rows.compactMap(\.key.first)).count == 3)
        var batch = EngineBatch()
        batch.writes = rows[2..<rows.count - 2].map {
            .init(family: .index, key: $0.key, value: nil)
        }
        try one.engine.commit(batch)
        let (first, last) = (rows[1].key, rows[rows.count - 2].key)
        let range = KeyRange(start: first + [0], end: last)
        let damage = StoreDamage(.index, range, between: first, and: last, "")
        var isMended = false
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            isMended = try damage.mendDerivedRows(&transaction)
        }
        #expect(isMended)
        #expect(try one.contents() == before)
        // Mending is not possible while a record can't be read.
        try self.damage("r3")
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            isMended = try damage.mendDerivedRows(&transaction)
        }
        #expect(!isMended)
    }

    /// Rows of other kinds are found, and no record takes their place.
    @Test func otherRowsAreFound() throws {
        let commit = try #require(try one.reader.rows(.log, .all(.commit)).last)
        try damage(RowKey(.commit, bytes: commit.key), in: one)
        let found = try survey()
        #expect(found.map(\.family) == [.log] && found.flatMap(\.subspaces) == [.commit])
        #expect(try RecordDamage.all(found, in: one.reader).isEmpty)
    }
}

extension TestStore {
    /// All rows of records and what is derived from them.
    fileprivate func contents() throws -> [Bytes: Bytes] {
        var contents: [Bytes: Bytes] = [:]
        for family in [Family.records, .index] {
            let all = KeyRange(start: [], end: [0xFF])
            for (key, value) in try reader.rows(family, all) { contents[key] = value }
        }
        for (key, value) in try reader.rows(.meta, .all(.zoneState)) { contents[key] = value }
        return contents
    }
}
