// One test per row of CloudKit's decision table that isn't about queries, shares, subscriptions or
// changes. The details of each are in the other tests of this target.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DecisionTableTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try store.save([
            SaveItem("there", ["title": "old"]), SaveItem("there", ["title": "old"], in: zone),
        ])
    }

    @Test func saveWithoutTagRecordExistsDefaultPolicyIs14WithTheServerRecord() throws {
        let item = try store.save([SaveItem("there")], .ifUnchanged).saves[0]
        #expect(item.code == .serverRecordChanged)
        guard case .failure(let failure) = item else { return }
        #expect(failure.serverRecord?.fields == WireField.body(["title": "old"]))
    }

    @Test func saveWithTagRecordDeletedIs11() throws {
        let tag = try store.fetch("there", in: .private, by: .alice).get().changeTag
        try store.delete([DeleteItem("there")])
        let codes = try store.save([SaveItem("there", tag: tag)], .ifUnchanged).codes
        #expect(codes == [.unknownItem])
    }

    @Test func saveWithChangedKeysRecordDeletedRecreates() throws {
        try store.delete([DeleteItem("there")])
        #expect(try store.save([SaveItem("there", ["a": 1])], .changedKeys).codes == [nil])
        #expect(
            try store.fetch("there", in: .private, by: .alice).get().fields
                == WireField.body(["a": 1])
        )
    }

    @Test func deleteUnknownRecordSucceeds() throws {
        #expect(try store.delete([DeleteItem("nobody")]).codes == [nil])
        #expect(try store.delete([DeleteItem("nobody", in: zone)]).codes == [nil])
        #expect(try store.delete([DeleteItem("nobody")], in: .public).codes == [nil])
    }

    @Test func deleteUnknownZoneIs26() throws {
        #expect(try store.modify(ModifyZones(deleting: ["q"]), by: .alice).codes == [.zoneNotFound])
    }

    @Test func saveZoneTwiceSucceeds() throws {
        #expect(try store.modify(ModifyZones(saving: ["z"]), by: .alice).codes == [nil])
        #expect(try store.names(in: .private, zone: zone, by: .alice) == ["there"])
    }

    @Test func saveInUnknownZoneIs26PerItem() throws {
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("n", in: ZoneAddress(name: "q")), SaveItem("n", in: zone)],
            deletes: [DeleteItem("there", in: ZoneAddress(name: "q"))]
        )
        let codes = try store.modify(modify, by: .alice).codes
        #expect(codes == [.zoneNotFound, nil, .zoneNotFound])
    }

    @Test func oneBadItemInAnAtomicZoneIsItsOwnErrorAnd22ForTheOthers() throws {
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [SaveItem("n", in: zone), SaveItem("there", ["title": 1], in: zone)],
            deletes: [DeleteItem("nobody", in: zone)]
        )
        let codes = try store.modify(modify, by: .alice).codes
        #expect(codes == [.batchRequestFailed, .invalidArguments, .batchRequestFailed])
        #expect(try store.names(in: .private, zone: zone, by: .alice) == ["there"])
    }

    @Test(arguments: [DatabaseScope.public, .private])
    func atomicFlagOnPublicOrDefaultZoneIsIgnored(database: DatabaseScope) throws {
        try store.save([SaveItem("m", ["title": "text"])], in: database)
        let codes = try store.save([SaveItem("n"), SaveItem("m", ["title": 1])], in: database).codes
        #expect(codes == [nil, .invalidArguments])
        #expect(try store.names(in: database, by: .alice).contains("n"))
    }

    @Test func twoZonesInOneAtomicBatchAreIndependentCommits() throws {
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        let other = ZoneAddress(name: "y")
        let outcome = try store.save([
            SaveItem("n", in: other), SaveItem("there", ["title": 1], in: zone),
            SaveItem("m", in: other), SaveItem("m", in: zone),
        ])
        #expect(outcome.codes == [nil, .invalidArguments, nil, .batchRequestFailed])
        #expect(outcome.dots.count == 1)
        #expect(try store.names(in: .private, zone: other, by: .alice) == ["m", "n"])
    }

    @Test func unknownFieldIsAddedToTheSchema() throws {
        #expect(try store.save([SaveItem("n", ["brandNew": 1])]).codes == [nil])
        #expect(try store.save([SaveItem("m", ["brandNew": "text"])]).codes == [.invalidArguments])
    }

    @Test func wrongTypeIs12() throws {
        let item = try store.save([SaveItem("there", ["title": 1])]).saves[0]
        #expect(item.code == .invalidArguments)
        guard case .failure(let failure) = item else { return }
        #expect(failure.reason == .wrongType)
        #expect(failure.message.contains("expected type STRING but actual value type is INT64"))
    }

    @Test func moreItemsThanTheLimitIs27AndNothingIsApplied() throws {
        let items = (0...400).map { SaveItem("n\($0)") }
        let error = try #require(throws: ServiceError.self) { try store.save(items) }
        #expect((error.code, error.reason) == (.limitExceeded, .tooManyItems))
        #expect(error.message.contains("401"))
        #expect(try store.names(in: .private, by: .alice) == ["there"])
        #expect(try store.save(Array(items.dropLast())).codes == Array(repeating: nil, count: 400))
    }

    @Test func deleteSelfCascadeIsTransitiveAndNotInTheResults() throws {
        try store.save([
            SaveItem("child", ["of": .owner("there")]),
            SaveItem("grandchild", ["of": .owner("child")]),
        ])
        let outcome = try store.delete([DeleteItem("there")])
        #expect(outcome.deletes.count == 1)
        #expect(try store.names(in: .private, by: .alice) == [])
    }

    @Test func parentMissingIs31() throws {
        #expect(try store.save([SaveItem("n", parent: "nobody")]).codes == [.referenceViolation])
    }

    @Test func parentStillReferencedIs31() throws {
        try store.save([SaveItem("n", parent: "there")])
        #expect(try store.delete([DeleteItem("there")]).codes == [.referenceViolation])
        #expect(try store.names(in: .private, by: .alice) == ["n", "there"])
    }

    @Test func deleteSelfOrNoneTargetMissingIsAllowed() throws {
        let items = [SaveItem("m", ["r": .owner("nobody")]), SaveItem("n", ["r": .link("nobody")])]
        #expect(try store.save(items).codes == [nil, nil])
    }

    @Test func publicWriteByAnonymousIs9() throws {
        let codes = try store.save([SaveItem("n")], in: .public, by: .anonymous).codes
        #expect(codes == [.notAuthenticated])
    }

    @Test func publicWriteWithoutRoleIs10() throws {
        try store.save([SaveItem("n")], in: .public)
        let codes = try store.save([SaveItem("n"), SaveItem("m")], in: .public, by: .bob).codes
        #expect(codes == [.permissionFailure, nil])
    }

    @Test func publicReadByAnonymousIsAllowed() throws {
        try store.save([SaveItem("n", ["a": 1])], in: .public)
        #expect(
            try store.fetch("n", in: .public, by: .anonymous).get().fields
                == WireField.body(["a": 1])
        )
        #expect(try store.names(in: .public, by: .anonymous) == ["n"])
    }
}
