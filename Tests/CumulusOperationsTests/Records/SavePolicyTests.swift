// The three save policies with each state of a record, and the effect of tags.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SavePolicyTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func tag() throws -> Bytes {
        try store.fetch("n", in: .private, by: .alice).get().changeTag
    }

    private func save(_ policy: SavePolicy, tag: Bytes?) throws -> ModifyOutcome.Item {
        try store.save([SaveItem("n", ["new": 1], tag: tag)], policy).saves[0]
    }

    /// The fields of the record, as bytes; nil if it doesn't exist.
    private func fields() throws -> Bytes? {
        try? store.fetch("n", in: .private, by: .alice).get().fields
    }

    private static let stale = Bytes(repeating: 7, count: 8)
    private static let created = WireField.body(["new": 1])
    private static let updated = WireField.body(["new": 1, "old": 2])
    private static let untouched = WireField.body(["old": 2])

    // MARK: The record was never there

    @Test func missingWithoutATagIsCreatedByEachPolicy() throws {
        for policy in [SavePolicy.ifUnchanged, .changedKeys, .allKeys] {
            #expect(try save(policy, tag: nil).code == nil)
            #expect(try fields() == Self.created)
            try store.delete([DeleteItem("n")])
        }
    }

    @Test func missingWithATagIsUnknownUnlessNoTagsAreCompared() throws {
        #expect(try save(.ifUnchanged, tag: Self.stale).code == .unknownItem)
        #expect(try fields() == nil)
        #expect(try save(.changedKeys, tag: Self.stale).code == nil)
        try store.delete([DeleteItem("n")])
        #expect(try save(.allKeys, tag: Self.stale).code == nil)
        #expect(try fields() == Self.created)
    }

    // MARK: The record is there

    @Test func theServersRecordsOfOneAnswerAreBounded() throws {
        let text = FieldValue.string(String(repeating: "x", count: 400_000))
        for name in ["a", "b", "c", "d"] { try store.save([SaveItem(name, ["text": text])]) }
        let items = ["a", "b", "c", "d"].map { SaveItem($0, ["new": 1]) }
        let records = try store.save(items, .ifUnchanged).saves.map { item -> Bool in
            guard case .failure(let failure) = item else { return false }
            #expect(failure.code == .serverRecordChanged)
            return failure.serverRecord != nil
        }
        #expect(records == [true, true, false, false])
    }

    @Test func existingWithoutATagIsAConflictThatCarriesTheRecord() throws {
        try store.save([SaveItem("n", ["old": 2])])
        let item = try save(.ifUnchanged, tag: nil)
        guard case .failure(let failure) = item else {
            Issue.record("the save went through")
            return
        }
        #expect((failure.code, failure.reason) == (.serverRecordChanged, .recordExists))
        #expect(failure.serverRecord == (try store.fetch("n", in: .private, by: .alice).get()))
        #expect(try fields() == Self.untouched)
    }

    @Test func existingWithAStaleTagIsAConflictThatCarriesTheRecord() throws {
        try store.save([SaveItem("n", ["old": 1])])
        let stale = try tag()
        try store.save([SaveItem("n", ["old": 2])])
        guard case .failure(let failure) = try save(.ifUnchanged, tag: stale) else {
            Issue.record("the save went through")
            return
        }
        #expect((failure.code, failure.reason) == (.serverRecordChanged, .changeTagMismatch))
        #expect(failure.serverRecord?.changeTag == (try tag()))
        #expect(failure.serverRecord?.fields == Self.untouched)
        #expect(try fields() == Self.untouched)
    }

    @Test func existingWithItsTagIsUpdatedAndKeepsOtherKeys() throws {
        try store.save([SaveItem("n", ["old": 2])])
        #expect(try save(.ifUnchanged, tag: try tag()).code == nil)
        #expect(try fields() == Self.updated)
    }

    @Test func theOtherPoliciesOverwriteWhateverTheTagAndKeepOtherKeys() throws {
        for policy in [SavePolicy.changedKeys, .allKeys] {
            for tag in [nil, Self.stale] {
                try store.save([SaveItem("n", ["old": 2, "new": nil])])
                #expect(try save(policy, tag: tag).code == nil)
                #expect(try fields() == Self.updated)
            }
        }
    }

    // MARK: The record was deleted

    @Test func deletedIsCreatedAgainWithNothingOfItsFormerLife() throws {
        for policy in [SavePolicy.ifUnchanged, .changedKeys, .allKeys] {
            try store.save([SaveItem("n", ["old": 2], type: "Former", increments: ["votes": 3])])
            let former = try store.fetch("n", in: .private, by: .alice).get()
            try store.delete([DeleteItem("n")])
            store.now += 10
            #expect(try save(policy, tag: nil).code == nil)
            let record = try store.fetch("n", in: .private, by: .alice).get()
            #expect(record.fields == Self.created)
            #expect(record.type == "Note")
            #expect(record.created == former.created + 10)
            #expect(record.changeTag != former.changeTag)
            try store.delete([DeleteItem("n")])
        }
    }

    @Test func deletedWithItsFormerTagIsUnknown() throws {
        try store.save([SaveItem("n", ["old": 2])])
        let former = try tag()
        try store.delete([DeleteItem("n")])
        #expect(try save(.ifUnchanged, tag: former).code == .unknownItem)
        #expect(try fields() == nil)
    }

    // MARK: Tags and system fields

    @Test func everySaveMakesANewTagAlsoWithoutChanges() throws {
        var tags: Set<Bytes> = []
        for _ in 0..<5 {
            let saved = try #require(try store.save([SaveItem("n")]).saves[0].saved)
            #expect(saved.changeTag == (try tag()))
            tags.insert(saved.changeTag)
        }
        #expect(tags.count == 5)
    }

    @Test func theAnswerCarriesTheSystemFields() throws {
        let first = try #require(try store.save([SaveItem("n")], in: .public).saves[0].saved)
        store.now += 1_000
        let second = try #require(try store.save([SaveItem("n")], in: .public).saves[0].saved)
        #expect(second.created == first.created)
        #expect(second.modified == first.modified + 1_000)
        #expect((second.createdBy, second.modifiedBy) == ("_alice", "_alice"))
        let view = try store.fetch("n", in: .public, by: .bob).get()
        #expect((view.created, view.modified) == (second.created, second.modified))
    }

    @Test func aParentSaveLeavesOtherRecordsTagsAlone() throws {
        try store.save([SaveItem("p")])
        let before = try store.fetch("p", in: .private, by: .alice).get().changeTag
        try store.save([SaveItem("c", parent: "p")])
        #expect(try store.fetch("p", in: .private, by: .alice).get().changeTag == before)
    }
}
