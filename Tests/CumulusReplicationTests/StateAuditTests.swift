// Two nodes compared record by record: what is the same counts as the same whatever each has read,
// damage is found and mended, and nothing else is.

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

    /// What the first node finds when it reads the other one, in pages of some bytes.
    private func audit(byteLimit: Int = 300) throws -> Finding {
        let snapshot = ReadTransaction(try other.engine.snapshot(), reach: .disk)
        let source = StateSource(snapshot, scope: try other.scopeNumber())
        let offer = try source.offer(to: VersionVector())
        var intake = try StateIntake(offer, above: VersionVector(), now: one.now)
        var audit = try StateAudit(offer, one.scopeNumber(), one.reader)
        var pages = StatePages(source, offer)
        var finding = Finding()
        while let page = try pages.next(byteLimit: byteLimit) {
            finding.differences += try audit.compare(try intake.read(page))
        }
        finding.differences += try audit.finish()
        (finding.compared, finding.unsettled) = (audit.compared, audit.unsettled)
        return finding
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

    /// Whoever has read more is not damaged.
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
        // Which side is right is for the operator to say: the first one takes what the other has.
        #expect(try repair(finding.differences) == 3)
        #expect(try audit().names == ["r19": .missingThere])
        #expect(try DerivedRows.differences(in: one.engine).isEmpty)
        try lose("r19", in: one)
        #expect(try digests()[0] == digests()[1])
    }

    // MARK: Forgotten deaths

    private func forget(in store: TestStore) throws {
        try store.purge(.init(stable: try store.vector(), diedBefore: .max), limit: 10)
    }

    /// Who knows of a death may have forgotten all but the horizon: neither is damaged, and
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
        // Nor the other way round.
        try one.modify(ModifyZones(deleting: ["z"]), by: .alice)
        let again = try audit()
        #expect(again.differences.isEmpty, "\(again.names)")
    }

    @Test func aZoneThatIsMissingIsFound() throws {
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([
            SaveItem("x", in: ZoneAddress(name: "z")), SaveItem("y", in: ZoneAddress(name: "z")),
        ])
        try other.take(from: one)
        let number = try #require(try one.zoneNumber(ZoneAddress(name: "z"), by: .alice))
        let database = try place(one).database
        try one.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.dropRows(of: number)
            transaction.put(.zone(database, "z"), nil)
        }
        let finding = try audit()
        #expect(finding.names == ["x": .missingHere, "y": .missingHere])
    }
}
