// Two nodes cut apart, one record changed on both, healed: by the policy of its type, what changes
// as one is of one save.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct MergePolicyTests {
    private let pair: StorePair

    init() throws { pair = try StorePair() }

    private func set(_ policy: MergePolicy) throws {
        let entry = MergePolicies.Entry(recordType: "Note", policy: policy)
        let answer = try pair.one.run(
            WriteRequest(SetMergePolicy(entry), scope: pair.one.scope, caller: .administrator)
        )
        #expect(try answer.get() == false)
        try pair.heal()
    }

    // MARK: Whole records

    @Test func ofTwoWholeRecordsTheLaterStands() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0, "b": 0])])
        try pair.one.save([SaveItem("r", ["a": 1])])
        try pair.other.save([SaveItem("r", ["b": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 0, "b": 2])
        // One entry each, with all of the save that fell.
        #expect(try pair.lost() == [["a": 1, "b": 0], ["a": 1, "b": 0]])
    }

    @Test func whatTheLaterSaveNeverSawVanishes() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0])])
        try pair.one.save([SaveItem("r", ["b": 1])])
        try pair.other.save([SaveItem("r", ["a": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 2])
        try pair.one.save([SaveItem("r", ["c": 3])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 2, "c": 3])
    }

    @Test func incrementsOutliveTheSaveOfAWholeRecord() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0, "n": 10])])
        try pair.one.save([SaveItem("r", increments: ["n": 1])])
        try pair.other.save([SaveItem("r", ["a": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 2, "n": 11])
        #expect(try pair.lost() == [])
    }

    /// The later save knew of no counter.
    @Test func theFirstIncrementOutlivesItToo() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0])])
        try pair.one.save([SaveItem("r", increments: ["n": 1])])
        try pair.other.save([SaveItem("r", ["a": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 2, "n": 1])
        try pair.other.save([SaveItem("r", increments: ["n": 1])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 2, "n": 2])
    }

    /// An increment alone brings no other field along.
    @Test func anIncrementRevertsNothing() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0, "n": 10])])
        try pair.one.save([SaveItem("r", ["a": 1])])
        try pair.other.save([SaveItem("r", increments: ["n": 5])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 1, "n": 15])
        #expect(try pair.lost() == [])
    }

    /// Two nodes gave a field two kinds, and the row holds a counter beside the other's text.
    @Test func aValueOfAnotherKindIsTakenAlongAsItIs() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0])])
        try pair.one.save([SaveItem("r", increments: ["x": 1])])
        try pair.other.save([SaveItem("r", ["x": "hello"])])
        try pair.heal()
        #expect(try pair.one.save([SaveItem("r", ["a": 1])]).codes == [nil])
        try pair.heal()
        let view = try pair.one.fetch("r", in: .private, by: .alice).get()
        #expect(view.fields == WireField.body(["a": 1, "x__string": "hello"]))
    }

    /// A reference that is written again is its writer's: also if what it names just died.
    @Test func whoTakesAReferenceAlongOwesItsOrphan() throws {
        try set(.record)
        try pair.together([SaveItem("p")])
        try pair.one.save([SaveItem("r", ["o": .owner("p")])])
        try pair.other.delete([DeleteItem("p")])
        try pair.heal()
        #expect(try pair.other.names(in: .private, by: .alice) == ["r", "types"])
        try pair.other.save([SaveItem("r", ["a": 1])])
        #expect(try pair.other.names(in: .private, by: .alice) == ["types"])
    }

    /// A counter that was removed, and is incremented by the save of a whole record, starts anew.
    @Test func aRemovedCounterStartsAnew() throws {
        try set(.record)
        try pair.together([SaveItem("r", ["a": 0, "n": 10])])
        try pair.together([SaveItem("r", increments: ["n": 5])])
        try pair.together([SaveItem("r", ["n": nil])])
        try pair.together([SaveItem("r", ["a": 1])])
        #expect(try pair.value("r") == ["a": 1])
        try pair.other.save([SaveItem("r", increments: ["n": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 1, "n": 2])
    }

    @Test func theParentIsOfTheSaveThatStands() throws {
        try set(.record)
        try pair.together([SaveItem("p"), SaveItem("q"), SaveItem("r", ["a": 0], parent: "p")])
        try pair.one.save([SaveItem("r", parent: "q")])
        try pair.other.save([SaveItem("r", ["a": 2])])
        try pair.heal()
        let row = try StoredRecords.all(in: pair.one.reader).first { $0.place.name == "r" }?.row
        #expect(row?.parent?.name == "p")
    }

    @Test func ownersAreKeptByASaveThatDoesNotNameThem() throws {
        try set(.record)
        try pair.together([SaveItem("p"), SaveItem("r", ["a": 0, "o": .owner("p")])])
        try pair.together([SaveItem("r", ["a": 1])])
        try pair.one.delete([DeleteItem("p")])
        try pair.heal()
        #expect(try pair.one.names(in: .private, by: .alice) == ["types"])
    }

    // MARK: Groups

    @Test func aGroupIsOfOneSave() throws {
        try set(.groups([FieldGroup(["a", "b"])]))
        try pair.together([SaveItem("r", ["a": 0, "b": 0, "c": 0])])
        try pair.one.save([SaveItem("r", ["a": 1, "c": 1])])
        try pair.other.save([SaveItem("r", ["b": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["a": 0, "b": 2, "c": 1])
    }

    /// An increment would be half of a group, or the group would hide it.
    @Test func fieldsOfAGroupAreNotIncremented() throws {
        try set(.groups([FieldGroup(["a", "n"])]))
        try pair.together([SaveItem("r", ["a": 0, "n": 0])])
        let outcome = try pair.one.save([SaveItem("r", increments: ["n": 1])])
        #expect(outcome.codes == [.invalidArguments])
        #expect(try pair.one.save([SaveItem("r", increments: ["b": 1])]).codes == [nil])
    }

    @Test func whatAGroupLacksIsOfTheSaveToo() throws {
        try set(.groups([FieldGroup(["a", "b"])]))
        try pair.together([SaveItem("r", ["c": 0])])
        try pair.one.save([SaveItem("r", ["a": 1])])
        try pair.other.save([SaveItem("r", ["b": 2])])
        try pair.heal()
        #expect(try pair.value("r") == ["b": 2, "c": 0])
    }

    // MARK: The policy itself

    @Test func onlyOperatorsSetIt() throws {
        let entry = MergePolicies.Entry(recordType: "Note", policy: .record)
        let request = WriteRequest(
            SetMergePolicy(entry),
            scope: pair.one.scope,
            caller: .alice
        )
        #expect(throws: ServiceError.self) { try pair.one.run(request).get() }
    }

    @Test func itIsListedOnEveryNodeAndCanBeTakenBack() throws {
        let groups = MergePolicy.groups([FieldGroup(["b", "a"]), FieldGroup(["c", "n"])])
        try set(groups)
        for store in [pair.one, pair.other] {
            let all = try MergePolicies.all(in: store.scopeNumber(), store.reader)
            #expect(all == [MergePolicies.Entry(recordType: "Note", policy: groups)])
        }
        try set(.fields)
        #expect(try MergePolicies.all(in: pair.other.scopeNumber(), pair.other.reader) == [])
    }

    @Test func aBatchThatGrowsTooLargeIsRefused() throws {
        try set(.record)
        let text = FieldValue.string(String(repeating: "x", count: 900_000))
        let names = ["r", "s", "t", "u"]
        for name in names { try pair.one.save([SaveItem(name, ["title": text])]) }
        let outcome = try pair.one.save(names.map { SaveItem($0, ["a": 1]) })
        #expect(outcome.codes == [nil, nil, nil, .limitExceeded])
        #expect(try pair.one.save([SaveItem("u", ["a": 1])]).codes == [nil])
    }

    @Test func refusedGroups() {
        #expect(MergePolicy.refusal(of: []) != nil)
        #expect(MergePolicy.refusal(of: [FieldGroup(["a"])]) != nil)
        #expect(MergePolicy.refusal(of: [FieldGroup(["a", "b"]), FieldGroup(["b", "c"])]) != nil)
        #expect(MergePolicy.refusal(of: [FieldGroup(["a", "b"]), FieldGroup(["c", "d"])]) == nil)
        #expect(MergePolicy.refusal(of: [FieldGroup((1...256).map { "f\($0)" })]) == nil)
        #expect(MergePolicy.refusal(of: [FieldGroup((1...257).map { "f\($0)" })]) != nil)
    }
}
