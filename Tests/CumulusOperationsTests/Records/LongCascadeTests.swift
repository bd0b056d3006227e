// Cascades that are too long for one turn of the writer: they go in steps, the root first, and the
// rest is owed, whatever happens in between.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct LongCascadeTests {
    private static let step = 10
    private static let zone = ZoneAddress(name: "z")
    private let store: TestStore

    init() throws {
        store = try LongCascadeTests.prepare(TestStore())
    }

    private static func prepare(_ store: TestStore) throws -> TestStore {
        store.cascadeRecords = step
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        // The cascade has a tree of 31 records, and a chain of 20 that hangs on it.
        try store.save([save("r"), save("other")])
        try store.save((0..<5).map { save("r\($0)", ["of": .owner("r")]) })
        for branch in 0..<5 {
            try store.save((0..<5).map { save("r\(branch)\($0)", ["of": .owner("r\(branch)")]) })
        }
        try store.save(
            (0..<20).map { save("c\($0)", ["of": .owner($0 == 0 ? "r00" : "c\($0 - 1)")]) }
        )
        return store
    }

    private static func save(
        _ name: String,
        _ fields: [String: FieldValue?] = [:],
        parent: String? = nil
    ) -> SaveItem {
        SaveItem(name, fields, in: zone, parent: parent)
    }

    private func save(_ name: String, _ fields: [String: FieldValue?] = [:], parent: String? = nil)
        throws
    {
        let item = LongCascadeTests.save(name, fields, parent: parent)
        #expect(try store.save([item]).codes == [nil])
    }

    private static func deletion(_ names: String..., isAtomic: Bool = true) -> ModifyRecords {
        ModifyRecords(
            database: .private,
            isAtomic: isAtomic,
            deletes: names.map { DeleteItem($0, in: zone) }
        )
    }

    private func run(_ request: WriteRequest<ModifyRecords>) throws -> ModifyOutcome {
        try store.run(request).get()
    }

    /// Deletes the root, but not the rest that is left after the first turn.
    private func begin() throws -> ModifyOutcome {
        try run(store.request(LongCascadeTests.deletion("r"), by: .alice))
    }

    private static func names(_ store: TestStore) throws -> [String] {
        try store.names(in: .private, zone: zone, by: .alice)
    }

    private func names() throws -> [String] { try LongCascadeTests.names(store) }

    // MARK: Steps

    @Test func eachTurnDeletesSoManyAndTheRootGoesFirst() throws {
        let outcome = try begin()
        #expect(outcome.codes == [nil])
        #expect(outcome.owes && outcome.dots.count == 1)
        var left = try names()
        #expect(left.count == 52 - LongCascadeTests.step && !left.contains("r"))
        while try !store.payCascades(turns: 1) {
            let now = try names()
            #expect(left.count - now.count <= LongCascadeTests.step && now.count < left.count)
            left = now
            try #require(DerivedRows.differences(in: store.engine) == [])
        }
        #expect(try names() == ["other"])
        #expect(try LogReplay.differences(in: store.engine) == [])
        for (_, bytes) in try store.reader.rows(.log, .all(.commit)) {
            let deletes = try Commit(bytes).operations.filter { operation in
                if case .delete = operation { true } else { false }
            }
            #expect(deletes.count <= LongCascadeTests.step)
        }
    }

    /// A cascade for which there is room goes in one commit.
    @Test func aCascadeThatHasRoomIsOneCommit() throws {
        store.cascadeRecords = 51
        let outcome = try begin()
        #expect(!outcome.owes && outcome.dots.count == 1)
        #expect(try names() == ["other"])
    }

    /// A turn doesn't read all 6,000 records that refer to a deleted one; the survey reads them
    /// once.
    @Test func aTurnReadsFewRows() throws {
        let engine = CountingEngine()
        let store = try TestStore(engine: engine)
        store.cascadeRecords = 20
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        let save = LongCascadeTests.save
        try store.save([save("r", [:], nil)])
        try store.save((0..<20).map { save("r\($0)", ["of": .owner("r")], nil) })
        for branch in 0..<20 {
            let leaves = (0..<300).map {
                save("\(branch)-\($0)", ["of": .owner("r\(branch)")], nil)
            }
            try store.save(leaves)
        }
        var before = engine.rowsLent
        let modify = LongCascadeTests.deletion("r")
        _ = try store.run(store.request(modify, by: .alice)).get()
        #expect(engine.rowsLent - before < 8_000)
        before = engine.rowsLent
        #expect(try !store.payCascades(turns: 1))
        #expect(engine.rowsLent - before < 2_000)
    }

    @Test func theStepsAreTheCallersAndTellEachRecord() throws {
        let token = try store.changes(in: "z").token
        _ = try begin()
        try store.payCascades()
        let page = try store.changes(in: "z", since: token)
        #expect(page.deletions.count == 51)
        let commits = try store.reader.rows(.log, .all(.commit)).map { try Commit($0.value) }
        #expect(commits.suffix(5).allSatisfy { $0.user == "_alice" })
    }

    // MARK: Repetition

    @Test func aRepeatedRequestIsToldThatTheRestIsStillOwed() throws {
        let modify = LongCascadeTests.deletion("r")
        let request = store.request(modify, by: .alice)
        let first = try run(request)
        try store.restart()
        let second = try run(request)
        #expect(second == first && second.isRepeated && second.owes)
        try store.payCascades()
        let third = try run(request)
        #expect(third == first && third.isRepeated && !third.owes)
    }

    // MARK: Ends in the middle

    /// A run ends before or after any call of its store: all records are there, or all go.
    @Test(arguments: [true, false]) func whatAnEndInterruptsGoesOn(isPowerCut: Bool) throws {
        let base = try #require(try store.backup() as? MemoryEngine)
        for moment in CountingEngine.Moment.allCases {
            var call = 1
            while try goesOn(from: base, after: call, moment, isPowerCut) { call += 1 }
            // Each turn writes and flushes.
            #expect(call > 10, "there was hardly anything to interrupt")
        }
    }

    private func goesOn(
        from base: MemoryEngine,
        after call: Int,
        _ moment: CountingEngine.Moment,
        _ isPowerCut: Bool
    ) throws -> Bool {
        let rows = MemoryEngine(reopening: base)
        let engine = CountingEngine(rows)
        let first = try TestStore(seed: 7, engine: engine)
        first.cascadeRecords = LongCascadeTests.step
        engine.end(at: call, moment)
        do {
            try first.delete([DeleteItem("r", in: LongCascadeTests.zone)])
        } catch {
            #expect(engine.hasEnded, "\(error)")
        }
        if !isPowerCut { rows.flush() }
        let next = try TestStore(seed: 8, engine: MemoryEngine(reopening: rows))
        next.cascadeRecords = LongCascadeTests.step
        let before = try LongCascadeTests.names(next)
        try next.payCascades()
        let after = try LongCascadeTests.names(next)
        #expect(after == (before.contains("r") ? before : ["other"]), "call \(call), \(moment)")
        #expect(before.count == 52 || !before.contains("r"))
        #expect(try DerivedRows.differences(in: next.engine) == [])
        return engine.hasEnded
    }

    // MARK: What others save meanwhile

    @Test func aChildThatComesMeanwhileGoesAlong() throws {
        _ = try begin()
        let doomed = try #require(names().first { $0 != "other" })
        try save("new", ["of": .owner(doomed)])
        // The owner is gone already, so the record refers to nothing.
        try save("late", ["of": .owner("r0")])
        try store.payCascades()
        #expect(try names() == ["late", "other"])
    }

    @Test func aChildThatMovesAwayMeanwhileStays() throws {
        _ = try begin()
        let doomed = try #require(names().first { $0 != "other" })
        try save(doomed, ["of": .owner("other")])
        try store.payCascades()
        #expect(try names().contains(doomed))
    }

    @Test func anotherLifeOfTheRootKeepsWhatItOwns() throws {
        _ = try begin()
        try save("r")
        try save("heir", ["of": .owner("r")])
        try store.payCascades()
        #expect(try names() == ["heir", "other", "r"])
    }

    @Test func aZoneThatIsDeletedMeanwhileOwesNothing() throws {
        _ = try begin()
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        #expect(try store.payCascades())
        #expect(try store.reader.rows(.log, .all(.cascadeDebt)).isEmpty)
    }

    // MARK: Parents

    /// The child is found behind the records that the first commit would have deleted.
    @Test func aChildByParentForbidsAllOfIt() throws {
        try save("stays", parent: "c19")
        #expect(try begin().codes == [.referenceViolation])
        #expect(try names().count == 53)
        try save("stays", ["of": .owner("c0")])
        #expect(try begin().codes == [nil])
        try store.payCascades()
        #expect(try names() == ["other"])
    }

    @Test func ofSeveralDeletionsOnlyTheForbiddenOneFails() throws {
        try save("stays", parent: "c19")
        let modify = LongCascadeTests.deletion("r1", "r0", isAtomic: false)
        store.cascadeRecords = 4
        #expect(try store.modify(modify, by: .alice).codes == [nil, .referenceViolation])
        let left = try names()
        #expect(left.contains("r0") && left.contains("c19"))
        #expect(!left.contains { $0.hasPrefix("r1") })
    }

    @Test func aChildThatTheSameRequestMovesForbidsNothing() throws {
        try save("moves", parent: "c19")
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [LongCascadeTests.save("moves", parent: "other")],
            deletes: [DeleteItem("r", in: LongCascadeTests.zone)]
        )
        #expect(try store.modify(modify, by: .alice).codes == [nil, nil])
        #expect(try names() == ["moves", "other"])
    }

    @Test func aCascadeThatIsTooLongToLookThroughIsRefused() throws {
        var modify = LongCascadeTests.deletion("r")
        for (limit, code) in [(50, ServiceError.Code.limitExceeded), (51, nil)] {
            modify.limits.recordsPerCascade = limit
            var survey = try CascadeSurvey(modify, of: store.scopeNumber(), by: .alice)
            var surveyed = modify
            while surveyed.survey == nil {
                surveyed.survey = try survey.advance(store.reader, steps: 7)
            }
            #expect(try store.modify(surveyed, by: .alice).codes == [code])
        }
    }
}
