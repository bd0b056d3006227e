// Saves with very many references: their targets are looked up before the writer's turn, and the
// ones that changed since are looked up again in it.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ManyReferencesTests {
    private static let zone = ZoneAddress(name: "z")
    private static let few = TargetSurvey.fewReferences
    private static let many = few + 1
    private let engine = CountingEngine()
    private let store: TestStore

    /// Makes a zone with the records `t0`, `t1` and so on, to which saves refer.
    init() throws {
        store = try TestStore(engine: engine)
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try save((0..<Self.many).map { Self.item("t\($0)") })
    }

    private static func item(
        _ name: String,
        _ fields: [String: FieldValue?] = [:],
        parent: String? = nil
    ) -> SaveItem {
        SaveItem(name, fields, in: zone, parent: parent)
    }

    private func save(_ items: [SaveItem]) throws {
        for start in stride(from: 0, to: items.count, by: 300) {
            let part = Array(items[start..<min(start + 300, items.count)])
            #expect(try store.save(part).codes.allSatisfy { $0 == nil })
        }
    }

    private func delete(_ name: String) throws {
        #expect(try store.delete([DeleteItem(name, in: Self.zone)]).codes == [nil])
    }

    /// A save of the record `n` with `count` references.
    private static func request(
        _ count: Int = many,
        _ saves: [SaveItem] = [],
        deleting deletes: [String] = []
    ) -> ModifyRecords {
        let owners = (0..<count).map { FieldValue.owner("t\($0)") }
        return ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [item("n", ["of": .list(owners)])] + saves,
            deletes: deletes.map { DeleteItem($0, in: zone) }
        )
    }

    /// The request with the findings about its targets.
    private func surveyed(_ request: ModifyRecords) throws -> ModifyRecords {
        let scope = try store.scopeNumber()
        var survey = try TargetSurvey(request, of: scope, by: .alice, in: store.reader)
        while try !survey.advance(store.reader, steps: 100) {}
        var surveyed = request
        surveyed.targets = survey
        return surveyed
    }

    /// Whether the writer sends the request back to be surveyed.
    private func isSentBack(_ request: ModifyRecords) throws -> Bool {
        let scope = try store.scopeNumber()
        var isSentBack = false
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let asker = Asker(scope: store.scope, caller: .alice)
            let outcome = try request.run(for: asker, in: scope, &transaction)
            if case .success(.needsSurvey) = outcome { isSentBack = true }
        }
        return isSentBack
    }

    private func row(_ name: String) throws -> RecordRow? {
        let zone = try #require(try store.zoneNumber(Self.zone, by: .alice))
        return try store.reader.record(zone, name)
    }

    /// The lives to which `n` refers, in the order of its references.
    private func births() throws -> [Dot] {
        try #require(try row("n")).targets.map(\.birth)
    }

    /// The life of the target with this number; several targets are of one commit.
    private func target(_ number: Int) throws -> Dot? {
        try #require(try row("n")).targets.first { $0.element == number }?.birth
    }

    private func birth(_ name: String) throws -> Dot {
        try #require(try row(name)).birth.dot
    }

    private func names() throws -> [String] {
        try store.names(in: .private, zone: Self.zone, by: .alice)
    }

    private func checkRows() throws {
        #expect(try DerivedRows.differences(in: engine) == [])
        #expect(try LogReplay.differences(in: engine) == [])
    }

    // MARK: Which requests are surveyed

    @Test func onlyVeryManyReferencesAreSurveyed() throws {
        #expect(try !isSentBack(Self.request(Self.few)))
        #expect(try isSentBack(Self.request(Self.many)))
        #expect(try !isSentBack(try surveyed(Self.request(Self.many))))
        let links = FieldValue.list((0..<2_000).map { .link("t\($0)") })
        let request = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [Self.item("links", ["to": links])]
        )
        #expect(try !isSentBack(request))
    }

    @Test func theWriterLooksUpNoTargetThatWasSurveyed() throws {
        let request = try surveyed(Self.request())
        var before = engine.reads
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(engine.reads - before < Self.few / 5)
        #expect(try births().count == Self.many)
        // The writer doesn't look them up if the record exists already, either.
        let again = try surveyed(Self.request())
        before = engine.reads
        #expect(try store.modify(again, by: .alice).codes == [nil])
        #expect(engine.reads - before < Self.few / 5)
        #expect(try births().count == Self.many)
        try checkRows()
    }

    @Test func theWriterLooksUpNoTargetOfALink() throws {
        let links = FieldValue.list((0..<2_000).map { .link("t\($0)") })
        let before = engine.reads
        try save([Self.item("links", ["to": links])])
        #expect(engine.reads - before < Self.few / 5)
        #expect(try row("links")?.targets == [])
        try delete("t0")
        #expect(try names().contains("links"))
        try checkRows()
    }

    // MARK: What changes before the writer's turn

    @Test func aTargetThatIsDeletedMeanwhileIsMissing() throws {
        let request = try surveyed(Self.request())
        try delete("t7")
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(try births().count == Self.many - 1)
        #expect(try target(7) == nil)
        // The reference was saved while there was no target, so it matches the next record of that
        // name.
        try save([Self.item("t7")])
        try delete("t7")
        #expect(try !names().contains("n"))
        try checkRows()
    }

    @Test func aTargetThatComesMeanwhileIsFound() throws {
        let old = try birth("t7")
        try delete("t7")
        let request = try surveyed(Self.request())
        try save([Self.item("t7")])
        let new = try birth("t7")
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(try births().count == Self.many)
        #expect(try target(7) == new && new != old)
        try checkRows()
    }

    /// The deletion shares the writer's turn, so nothing of it is in the engine yet.
    @Test func aTargetThatIsDeletedInTheSameTurnIsMissing() throws {
        let request = try surveyed(Self.request())
        let deletion = ModifyRecords(database: .private, deletes: [DeleteItem("t7", in: Self.zone)])
        let answers = try store.run([
            store.request(deletion, by: .alice),
            store.request(request, by: .alice),
        ])
        for answer in answers {
            #expect(try answer.get().codes == [nil])
        }
        #expect(try births().count == Self.many - 1)
        try checkRows()
    }

    /// With more changes than targets, all targets are looked up again.
    @Test func veryManyChangesHideNone() throws {
        let request = try surveyed(Self.request())
        try save((0...Self.many).map { Self.item("other\($0)") })
        try delete("t7")
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(try births().count == Self.many - 1)
    }

    @Test func whatIsForgottenMeanwhileIsMissing() throws {
        let request = try surveyed(Self.request())
        try delete("t7")
        try store.forgetDeleted()
        #expect(try row("t7") == nil)
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(try births().count == Self.many - 1)
    }

    @Test func anotherZoneOfTheNameHasNoneOfThem() throws {
        let request = try surveyed(Self.request())
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        #expect(try store.modify(request, by: .alice).codes == [nil])
        #expect(try births() == [])
    }

    @Test func aZoneThatIsDeletedMeanwhileIsNotFound() throws {
        let request = try surveyed(Self.request())
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        #expect(try store.modify(request, by: .alice).codes == [.zoneNotFound])
    }

    // MARK: Targets in the same request

    /// A request sees its own saves and deletes, whether or not it was surveyed.
    @Test(arguments: [5, many]) func targetsOfTheSameRequestCount(count: Int) throws {
        try delete("t0")
        let request = Self.request(count, [Self.item("t0")], deleting: ["t3"])
        #expect(try store.modify(request, by: .alice).codes == [nil, nil, nil])
        let (known, new) = (try births(), try birth("t0"))
        #expect(known.count == count - 1)
        #expect(try target(0) == new)
        #expect(try target(3) == nil)
        #expect(try names().contains("n"))
        try checkRows()
    }

    @Test func aParentIsLookedUpToo() throws {
        var request = Self.request()
        request.saves.append(Self.item("child", parent: "t1"))
        request.saves.append(Self.item("orphan", parent: "t2"))
        let known = try surveyed(request)
        try delete("t2")
        let codes = try store.modify(known, by: .alice).codes
        #expect(codes == [.batchRequestFailed, .batchRequestFailed, .referenceViolation])
        request.saves.removeLast()
        #expect(try store.modify(surveyed(request), by: .alice).codes == [nil, nil])
    }

    // MARK: Owners of one record

    @Test func ownersThatComeMeanwhileCount() throws {
        var request = Self.request()
        request.limits.ownersPerRecord = 2
        request = try surveyed(request)
        try save([Self.item("a", ["one": .owner("t5")]), Self.item("b", ["one": .owner("t5")])])
        #expect(try store.modify(request, by: .alice).codes == [.limitExceeded])
        #expect(try !names().contains("n"))
    }

    @Test func ownersThatGoMeanwhileDoNotCount() throws {
        try save([Self.item("a", ["one": .owner("t5")]), Self.item("b", ["one": .owner("t5")])])
        var request = Self.request()
        request.limits.ownersPerRecord = 2
        request = try surveyed(request)
        try delete("a")
        // A change of an owner that stays counts once.
        try save([Self.item("b", ["title": "changed"])])
        #expect(try store.modify(request, by: .alice).codes == [nil])
        try checkRows()
    }

    // MARK: The limit of a request

    @Test func aRequestHasSoManyReferencesAtMost() throws {
        var request = Self.request(20, [Self.item("m", ["one": .owner("t1"), "to": .link("t2")])])
        request.limits.ownersPerRequest = 20
        let before = engine.reads
        let error = #expect(throws: ServiceError.self) {
            try store.modify(request, by: .alice)
        }
        #expect(error?.code == .limitExceeded && error?.reason == .tooManyItems)
        #expect(error?.message.contains("21 references") == true)
        #expect(error?.message.contains("(20)") == true)
        // References are counted before anything is looked up.
        #expect(engine.reads - before < 10)
        request.limits.ownersPerRequest = 21
        #expect(try store.modify(request, by: .alice).codes == [nil, nil])
    }
}
