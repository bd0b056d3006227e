// Two nodes compared by digests, and record by record where these differ: equal records count as
// equal whatever each node has read, damage is found and mended, and nothing else changes.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct StateAuditTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        for number in 0..<20 { try one.save([SaveItem("r\(number)", ["n": 1])]) }
        try one.delete([DeleteItem("r7")])
        try other.take(from: one)
    }

    private struct Finding {
        var differences: [StateAudit.Difference] = []
        var compared: UInt64 = 0
        var unsettled: UInt64 = 0

        var names: [String: StateAudit.Difference.Kind] {
            Dictionary(uniqueKeysWithValues: differences.map { ($0.name, $0.kind) })
        }
    }

    /// What the first node finds when it reads the other one, in stretches and pages of some bytes.
    ///
    /// - Parameter meanwhile: Happens once the digests are compared.
    private func audit(
        byteLimit: Int = 300,
        meanwhile: () throws -> Void = {}
    ) throws -> Finding {
        let digests = try compareDigests(byteLimit: byteLimit)
        try meanwhile()
        var finding = try compareRecords(of: digests.suspects, byteLimit: byteLimit)
        finding.compared += digests.compared
        return finding
    }

    private func compareRecords(of stretches: [Stretch], byteLimit: Int) throws -> Finding {
        let source = try source(other)
        let offer = try source.outline(of: stretches)
        var intake = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
        var audit = try StateAudit(offer, of: stretches, one.scopeNumber(), one.reader)
        var pages = StatePages(source, offer, of: stretches)
        var finding = Finding()
        while let next = try pages.next(byteLimit: byteLimit) {
            var page = try intake.read(next)
            while !page.records.isEmpty { finding.differences += try audit.step(&page) }
        }
        try intake.checkEnd()
        var page = StateIntake.Page(zone: 0)
        while !audit.isFinished { finding.differences += try audit.step(&page) }
        (finding.compared, finding.unsettled) = (audit.compared, audit.unsettled)
        return finding
    }

    private func compareDigests(
        byteLimit: Int,
        mostSuspects: Int = 4_096
    ) throws -> DigestAudit {
        let source = try source(other)
        let offer = try source.outline()
        var audit = DigestAudit(
            offer,
            try one.scopeNumber(),
            one.reader,
            mostSuspects: mostSuspects
        )
        var digests = DigestWalk(source, offer)
        while true {
            let some = try digests.next(byteLimit: byteLimit, stretchBytes: byteLimit)
            if some.isEmpty { break }
            for digest in some { try audit.compare(digest) }
        }
        try audit.finish()
        return audit
    }

    private func source(_ store: TestStore) throws -> StateSource {
        let snapshot = ReadTransaction(try store.engine.snapshot(), reach: .disk)
        return StateSource(snapshot, scope: try store.scopeNumber())
    }

    private func repair(_ differences: [StateAudit.Difference]) throws -> Int {
        let scope = try one.scopeNumber()
        var repaired = 0
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            repaired = try StateAudit.repair(differences, in: scope, &transaction)
        }
        return repaired
    }

    private func place(_ store: TestStore) throws -> ZonePlace {
        let zone = ZoneAddress(name: Names.defaultZone)
        let number = try #require(try store.zoneNumber(zone, by: .alice))
        let database = try Authorisation.database(.private, for: .alice)
        return ZonePlace(
            scope: try store.scopeNumber(),
            database: try #require(try store.reader.database(store.scopeNumber(), database)),
            number: number,
            zone: Commit.Zone(database: database, name: Names.defaultZone, generation: 1)
        )
    }

    /// Changes a row as no commit does.
    private func damage(_ name: String, in store: TestStore) throws {
        let place = try place(store)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let rows = try transaction.lives(place.number, name)
            var row = rows[0]
            row.createdBy = "_nobody"
            _ = try transaction.replace(rows, with: [row], of: name, at: place)
        }
    }

    private func lose(_ name: String, in store: TestStore) throws {
        let place = try place(store)
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try transaction.erase(transaction.lives(place.number, name), of: name, at: place)
        }
    }

    private func digests() throws -> [Bytes] {
        try [one, other].map {
            try ScopeDigest($0.scope, $0.scopeNumber(), in: $0.reader).digest
        }
    }

    @Test(arguments: [1, 300, 1 << 20]) func whatIsTheSameIsTheSame(byteLimit: Int) throws {
        let finding = try audit(byteLimit: byteLimit)
        #expect(finding.differences.isEmpty)
        #expect(finding.compared == 19)
        #expect(finding.unsettled == 0)
    }

    /// A node that has read more is not damaged.
    @Test func whatOneHasNotReadIsLeftOut() throws {
        try one.save([SaveItem("r1", ["n": 2]), SaveItem("new", ["n": 1])])
        try other.delete([DeleteItem("r2")])
        try other.save([SaveItem("newer", ["n": 1])])
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("r", in: ZoneAddress(name: "z"))])
        let finding = try audit()
        #expect(finding.differences.isEmpty, "\(finding.names)")
        #expect(finding.compared == 17)
        #expect(finding.unsettled == 5)
    }

    @Test(arguments: [1, 300]) func damageIsFoundAndMended(byteLimit: Int) throws {
        try damage("r3", in: one)
        try damage("r4", in: other)
        try lose("r5", in: one)
        try lose("r19", in: other)
        let finding = try audit(byteLimit: byteLimit)
        #expect(
            finding.names == [
                "r3": .otherContent, "r4": .otherContent, "r5": .missingHere,
                "r19": .missingThere,
            ]
        )
        // The operator decides which side is right: the first one takes the other's records.
        #expect(try repair(finding.differences) == 3)
        #expect(try audit().names == ["r19": .missingThere])
        #expect(try DerivedRows.differences(in: one.engine).isEmpty)
        try lose("r19", in: one)
        #expect(try digests()[0] == digests()[1])
    }

    // MARK: Stretches

    /// Names in the order of their bytes: r0, r1, r10 to r19, r2, and so on without r7.
    @Test func onlyWhatDiffersIsAskedFor() throws {
        try damage("r1", in: one)
        try damage("r12", in: other)
        try lose("r13", in: one)
        try lose("r9", in: other)
        let digests = try compareDigests(byteLimit: 1)
        #expect(
            digests.suspects.map { [$0.after, $0.through] } == [
                ["r0", "r1"], ["r11", "r13"], ["r8", nil],
            ]
        )
        #expect(digests.compared == 15)
        // No more of them than a node has room for: what lies between is compared again.
        let few = try compareDigests(byteLimit: 1, mostSuspects: 2)
        #expect(few.suspects.map { [$0.after, $0.through] } == [["r0", "r1"], ["r11", nil]])
        #expect(few.compared == 3)
        let last = try compareDigests(byteLimit: 1, mostSuspects: 1)
        #expect(last.suspects.map { [$0.after, $0.through] } == [["r0", nil]])
        #expect(last.compared == 1)
    }

    /// Tombstones and frontiers are forgotten at other times by every node.
    @Test func whatNodesForgetIsNotInDigests() throws {
        try one.delete([DeleteItem("r3")])
        try other.take(from: one)
        try one.purge(.init(stable: try one.vector(), diedBefore: .max), limit: 10)
        let digests = try compareDigests(byteLimit: 1)
        #expect(digests.suspects.isEmpty)
        #expect(digests.compared == 18)
    }

    /// A tombstone that only one of them still has stands in the frontier of another life.
    @Test func frontiersAreNotInDigests() throws {
        let maker = try TestStore(copying: one, seed: 3)
        try maker.save([SaveItem("twin", ["n": 3])])
        try one.save([SaveItem("twin", ["n": 1])])
        try one.delete([DeleteItem("twin")])
        try other.take(from: one)
        try one.purge(.init(stable: try one.vector(), diedBefore: .max), limit: 10)
        for store in [one, other] { try store.take(from: maker) }
        let rows = try [one, other].map { store in
            try StoredRecords.all(in: store.reader).first { $0.place.name == "twin" }?.row
        }
        #expect(rows[0]?.frontier.count == 1)
        #expect(rows[1]?.frontier.count == 2)
        #expect(try compareDigests(byteLimit: 1).suspects.isEmpty)
    }

    /// All values, lives and counters stand in them: whatever two nodes come to hold is the same.
    @Test(arguments: UInt64(1)...20) func nodesThatConvergedHaveNoSuspects(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let store = Bool.random(using: &dice) ? one : other
            let name = "r\(Int.random(in: 0..<24, using: &dice))"
            switch Int.random(in: 0..<4, using: &dice) {
            case 0: try store.delete([DeleteItem(name)])
            case 1: try store.save([SaveItem(name, ["n": 7])])
            default: try store.save([SaveItem(name, ["m": 8])], .allKeys)
            }
            if Int.random(in: 0..<12, using: &dice) == 0 { try one.take(from: other) }
        }
        let before = try compareDigests(byteLimit: 1)
        #expect(!before.suspects.isEmpty)
        try one.take(from: other)
        try other.take(from: one)
        #expect(try compareDigests(byteLimit: 1).suspects.isEmpty)
        #expect(try digests()[0] == digests()[1])
    }

    /// What the other node sends is not believed.
    @Test func stretchesComeInTheirOrder() throws {
        func audit() throws -> DigestAudit {
            DigestAudit(try source(other).outline(), try one.scopeNumber(), one.reader)
        }
        func digest(_ zone: Int, _ through: String?) -> StretchDigest {
            StretchDigest(zone: zone, through: through, records: 1, digest: [])
        }
        var begun = try audit()
        try begun.compare(digest(0, "r1"))
        for wrong in [digest(1, nil), digest(0, "r1"), digest(0, "r0"), digest(.max, "r2")] {
            var copy = begun
            #expect(throws: MalformedBytes.self) { try copy.compare(wrong) }
        }
        #expect(throws: MalformedBytes.self) { try begun.finish() }
        try begun.compare(digest(0, nil))
        #expect(throws: MalformedBytes.self) { try begun.compare(digest(1, nil)) }
        try begun.finish()
    }

    @Test(arguments: ["r0", "r2", "r9"])
    func recordsThatWereNotAskedForAreRefused(name: String) throws {
        func stretch(_ after: String?, _ through: String?) throws -> Stretch {
            let database = try place(one).zone.database
            return Stretch(
                database: database,
                zone: Names.defaultZone,
                after: after,
                through: through
            )
        }
        let asked = [try stretch("r1", "r12"), try stretch("r3", "r4")]
        let source = try source(other)
        let offer = try source.outline(of: asked)
        var audit = try StateAudit(offer, of: asked, one.scopeNumber(), one.reader)
        var pages = StatePages(source, offer, of: asked)
        var all = StatePages(source, try source.outline())
        let known = try #require(try all.next(byteLimit: 1 << 20)).records
        var names: [String] = []
        while let page = try pages.next(byteLimit: 1 << 20) { names += page.records.map(\.name) }
        #expect(names == ["r10", "r11", "r12", "r4"])
        // The page holds records before, between and behind them.
        var page = StateIntake.Page(zone: 0)
        let record = try #require(known.first { $0.name == name }?.record)
        var intake = try StateIntake(
            source.outline(),
            above: VersionVector(),
            clock: .init(now: one.now)
        )
        var unasked = StatePage(zone: 0)
        unasked.records = [(name, record)]
        page = try intake.read(unasked)
        #expect(throws: MalformedBytes.self) {
            while !page.records.isEmpty { _ = try audit.step(&page) }
        }
    }

    /// More than one step takes, with damage where steps end; or on one of the nodes only.
    @Test(arguments: [1, 1 << 20]) func longStretchesAreComparedStepByStep(byteLimit: Int) throws {
        let names = (1_000..<2_200).map { "n\($0)" }
        for first in stride(from: 0, to: names.count, by: 400) {
            try one.save(names[first..<first + 400].map { SaveItem($0, ["n": 1]) })
        }
        try other.take(from: one)
        // The first of all is n1000, behind it come r0 to r9.
        var expected: [String: StateAudit.Difference.Kind] = [:]
        for rank in [499, 500, 501, 999, 1_199] {
            try damage(names[rank], in: one)
            expected[names[rank]] = .otherContent
        }
        for rank in [0, 498, 700] {
            try lose(names[rank], in: one)
            expected[names[rank]] = .missingHere
        }
        for rank in [1, 502, 998] {
            try lose(names[rank], in: other)
            expected[names[rank]] = .missingThere
        }
        let whole = Stretch(database: try place(one).zone.database, zone: Names.defaultZone)
        let finding = try compareRecords(of: [whole], byteLimit: byteLimit)
        #expect(finding.names == expected)
        #expect(finding.compared == 1_219)
        #expect(try audit(byteLimit: byteLimit).names == expected)
        let number = try place(one).number
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.dropRows(of: number)
        }
        let all = try audit(byteLimit: byteLimit).names
        #expect(all.count == 1_216)
        #expect(all.values.allSatisfy { $0 == .missingHere })
    }

    /// A node that has read that a zone was deleted and made again has another zone under its name.
    @Test(arguments: [true, false]) func aZoneThatWasMadeAgainIsCompared(isOurs: Bool) throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("x", in: zone)])
        try other.take(from: one)
        let (maker, behind) = isOurs ? (one, other) : (other, one)
        try maker.modify(ModifyZones(deleting: ["z"]), by: .alice)
        try maker.modify(ModifyZones(saving: ["z"]), by: .alice)
        try maker.save([SaveItem("y", in: zone), SaveItem("z", in: zone)])
        let before = try audit()
        #expect(before.differences.isEmpty, "\(before.names)")
        #expect(before.unsettled == 3)
        // It has read of that, and its zone is the old one.
        let database = try place(behind).zone.database
        let number = try #require(try behind.zoneNumber(zone, by: .alice))
        let place = try #require(try behind.reader.database(behind.scopeNumber(), database))
        let old = try #require(try behind.reader.zone(place, "z"))
        try behind.take(from: maker)
        try behind.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(.zone(place, "z"), old)
        }
        #expect(try behind.zoneNumber(zone, by: .alice) == number)
        let kind: StateAudit.Difference.Kind = isOurs ? .missingThere : .missingHere
        #expect(try audit().names == ["y": kind, "z": kind])
    }

    /// Lives of one name that nodes made apart, more than a stretch and a message have room for.
    @Test func recordsWithSeveralLivesAreCompared() throws {
        let makers = try (UInt64(3)...6).map { try TestStore(copying: one, seed: $0) }
        for maker in makers {
            let text = FieldValue.string(String(repeating: "x", count: 900))
            try maker.save([SaveItem("twin", ["text": text])])
            for store in [one, other] { try store.take(from: maker) }
        }
        #expect(try compareDigests(byteLimit: 300).suspects.isEmpty)
        let place = try place(other)
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            var rows = try transaction.lives(place.number, "twin")
            let before = rows
            rows[2].createdBy = "_nobody"
            _ = try transaction.replace(before, with: rows, of: "twin", at: place)
        }
        let finding = try audit(byteLimit: 300)
        #expect(finding.names == ["twin": .otherContent])
        #expect(try repair(finding.differences) == 1)
        #expect(try audit().names.isEmpty)
    }

    // MARK: Meanwhile

    /// Both are written to between digests and records.
    @Test func whatIsWrittenMeanwhileIsNoDamage() throws {
        try damage("r3", in: one)
        try one.save([SaveItem("r4", ["n": 2])])
        let finding = try audit(byteLimit: 1) {
            try other.save([SaveItem("r3", ["n": 9]), SaveItem("r30", ["n": 9])])
            try one.save([SaveItem("r31", ["n": 9])])
            try one.delete([DeleteItem("r4")])
        }
        #expect(finding.differences.isEmpty, "\(finding.names)")
    }

    @Test(arguments: [true, false]) func aZoneThatGoesMeanwhileIsNoDamage(isOurs: Bool) throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        let zone = ZoneAddress(name: "z")
        try one.save((0..<9).map { SaveItem("x\($0)", in: zone) })
        try other.take(from: one)
        try one.save([SaveItem("x1", ["n": 1], in: zone), SaveItem("x7", ["n": 1], in: zone)])
        let finding = try audit(byteLimit: 1) {
            let store = isOurs ? one : other
            try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
            try store.modify(ModifyZones(saving: ["z"]), by: .alice)
            try store.save([SaveItem("x1", ["n": 2], in: zone)])
        }
        #expect(finding.differences.isEmpty, "\(finding.names)")
    }

    // MARK: Forgotten deaths

    private func forget(in store: TestStore) throws {
        try store.purge(.init(stable: try store.vector(), diedBefore: .max), limit: 10)
    }

    /// A node that knows of a death may have forgotten all but the horizon: neither is damaged, and
    /// nothing comes back.
    @Test(arguments: [true, false]) func aForgottenDeathIsNoDamage(isOurs: Bool) throws {
        let (knowing, behind) = isOurs ? (one, other) : (other, one)
        try knowing.delete([DeleteItem("r2")])
        try forget(in: knowing)
        let finding = try audit()
        #expect(finding.differences.isEmpty, "\(finding.names)")
        #expect(finding.compared == 18)
        #expect(finding.unsettled == 1)
        #expect(try repair(finding.differences) == 0)
        #expect(throws: ServiceError.self) {
            try knowing.fetch("r2", in: .private, by: .alice).get()
        }
        // Once both have read of it, whatever differs is damage again.
        try behind.take(from: knowing)
        try lose("r5", in: one)
        try lose("r6", in: other)
        let again = try audit()
        #expect(again.names == ["r5": .missingHere, "r6": .missingThere])
        #expect(again.unsettled == 0)
    }

    /// The same where another life of that name is left.
    @Test(arguments: [true, false]) func aForgottenTwinIsNoDamage(isOurs: Bool) throws {
        let (knowing, behind) = isOurs ? (one, other) : (other, one)
        let maker = try TestStore(copying: one, seed: 3)
        try knowing.save([SaveItem("d", ["n": 1])])
        try behind.take(from: knowing)
        try maker.save([SaveItem("d", ["n": 2])])
        try knowing.delete([DeleteItem("d")])
        try forget(in: knowing)
        for store in [one, other] { try store.take(from: maker) }
        let finding = try audit()
        #expect(finding.differences.isEmpty, "\(finding.names)")
        #expect(finding.unsettled == 1)
    }

    /// Somebody wrote in between: what was found then is not what stands there.
    @Test func whatChangedMeanwhileIsLeftAlone() throws {
        try damage("r3", in: one)
        let finding = try audit()
        #expect(finding.differences.count == 1)
        try one.save([SaveItem("r3", ["n": 5])])
        #expect(try repair(finding.differences) == 0)
    }

    /// The other node has read of the deletion, this one has not yet.
    @Test func aZoneThatTheOtherDeletedIsNotDamaged() throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("x", in: ZoneAddress(name: "z"))])
        try other.take(from: one)
        try other.modify(ModifyZones(deleting: ["z"]), by: .alice)
        let finding = try audit()
        #expect(finding.differences.isEmpty, "\(finding.names)")
        #expect(finding.unsettled == 1)
        // The other direction shows no difference either.
        try one.modify(ModifyZones(deleting: ["z"]), by: .alice)
        let again = try audit()
        #expect(again.differences.isEmpty, "\(again.names)")
    }

    /// On either side.
    @Test(arguments: [true, false]) func aZoneThatIsMissingIsFound(isOurs: Bool) throws {
        let zone = ZoneAddress(name: "z")
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("x", in: zone), SaveItem("y", in: zone)])
        try other.take(from: one)
        let store = isOurs ? one : other
        let number = try #require(try store.zoneNumber(zone, by: .alice))
        let database = try place(store).database
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.dropRows(of: number)
            transaction.put(.zone(database, "z"), nil)
        }
        let kind: StateAudit.Difference.Kind = isOurs ? .missingHere : .missingThere
        #expect(try audit().names == ["x": kind, "y": kind])
    }
}
