// A caller lost its connection and repeats its request at another node, which has heard of it: the
// answer is that it is done.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RetryElsewhereTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        try one.save([SaveItem("old", ["a": 1, "n": 5])])
        try other.take(from: one)
    }

    /// Runs a request on one node, lets the other hear of it, and repeats it there.
    private func repeatElsewhere<Asked: RememberedChange>(
        _ change: Asked
    ) throws -> (first: ModifyOutcome, second: ModifyOutcome) {
        let request = one.request(change, by: .alice)
        let first = try #require(Asked.items(of: try one.run(request).get()))
        try other.take(from: one)
        let vector = try other.vector()
        let second = try #require(Asked.items(of: try other.run(request).get()))
        // Nothing was done a second time.
        #expect(try other.vector() == vector)
        return (first, second)
    }

    /// Without the memory this would be 14: the record exists.
    @Test func anInsertIsAnsweredAsDone() throws {
        let modify = ModifyRecords(database: .private, saves: [SaveItem("new", ["a": 1])])
        let (first, second) = try repeatElsewhere(modify)
        #expect(try first.saves[0].get() == second.saves[0].get())
        #expect(first.dots == second.dots)
    }

    @Test func anIncrementTellsItsValue() throws {
        let save = SaveItem("old", increments: ["n": 1])
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [save])
        let (first, second) = try repeatElsewhere(modify)
        #expect(try first.saves[0].get() == second.saves[0].get())
        #expect(try second.saves[0].get().fields == WireField.body(["n": 6]))
    }

    @Test func aDeletionIsAnsweredAsDone() throws {
        let modify = ModifyRecords(database: .private, deletes: [DeleteItem("old")])
        let (_, second) = try repeatElsewhere(modify)
        #expect(throws: Never.self) { try second.deletes[0].get() }
    }

    /// What it may not do any more it is not told to have done, nor what the record holds by now.
    @Test(arguments: [false, true])
    func aCallerWithoutTheRightIsRefused(mayWrite: Bool) throws {
        func grant(_ grants: String) throws {
            try one.importType("Note", "a INT64, n INT64, \(grants)")
        }
        try grant(#"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#)
        try one.save([SaveItem("p", ["n": 1])], in: .public)
        let save = SaveItem("p", increments: ["n": 1])
        let modify = ModifyRecords(database: .public, policy: .changedKeys, saves: [save])
        let request = one.request(modify, by: .bob)
        #expect(
            try one.run(request).get().saves[0].get().fields == WireField.body(["n": 2])
        )
        let role = mayWrite ? "_icloud" : "_creator"
        try grant(#"GRANT READ TO "_creator", GRANT CREATE, WRITE TO "\#(role)""#)
        try other.take(from: one)
        let second = try other.run(request).get()
        #expect(second.isRepeated)
        if mayWrite {
            #expect(try second.saves[0].get().fields == [])
        } else {
            #expect(second.codes == [.permissionFailure])
        }
    }

    /// An item that failed there is not said to be done.
    @Test func whatFailedThereIsNotDone() throws {
        let modify = ModifyRecords(
            database: .private,
            isAtomic: false,
            saves: [SaveItem("old", ["a": 2]), SaveItem("new", ["a": 1])]
        )
        let request = one.request(modify, by: .alice)
        let first = try one.run(request).get()
        try other.take(from: one)
        // The rest of it might still come.
        guard case .failure(let error) = try other.run(request) else {
            Issue.record("an item was answered that may be done or not")
            return
        }
        #expect(error.reason == .nodeBehind)
        // Once the origin went on, it can't.
        try one.save([SaveItem("later", ["a": 1])])
        try other.take(from: one)
        let second = try other.run(request).get()
        #expect(first.saves[0].failure?.code == .serverRecordChanged)
        #expect(second.saves[0].failure?.code == .serverRejectedRequest)
        #expect(try first.saves[1].get() == second.saves[1].get())
    }

    /// Deleting what isn't there, or making a zone that is, makes no commit and is no failure.
    @Test func whatNeededNothingIsDoneToo() throws {
        let modify = ModifyRecords(
            database: .private,
            isAtomic: false,
            saves: [SaveItem("new", ["a": 1])],
            deletes: [DeleteItem("never")]
        )
        let (_, second) = try repeatElsewhere(modify)
        #expect(throws: Never.self) { try second.deletes[0].get() }
        let (_, zones) = try repeatElsewhere(ModifyZones(saving: ["z", "y"]))
        #expect(throws: Never.self) { try zones.saves[0].get() }
    }

    @Test func aRecordThatIsGoneSinceIsNotThere() throws {
        let modify = ModifyRecords(database: .private, saves: [SaveItem("new", ["a": 1])])
        let request = one.request(modify, by: .alice)
        try one.run(request)
        try one.delete([DeleteItem("new")])
        try other.take(from: one)
        let answer = try other.run(request).get()
        #expect(answer.saves[0].failure?.code == .unknownItem)
    }

    @Test func zonesAreAnsweredAsDone() throws {
        let modify = ModifyZones(saving: ["y"], deleting: ["z"])
        let (_, second) = try repeatElsewhere(modify)
        #expect(throws: Never.self) { try second.saves[0].get() }
        #expect(throws: Never.self) { try second.deletes[0].get() }
    }

    /// They are one commit: what isn't in it was not done, also while it is the last of its run.
    @Test func subscriptionsAreAnsweredAsDone() throws {
        func query(_ id: String, _ format: String) throws -> Subscription {
            let predicate = try Query.Predicate(format: format)
            return Subscription(id: id, kind: .query(recordType: "Note", predicate: predicate))
        }
        try one.modify(ModifySubscriptions(saving: [try query("old", "a == 1")]))
        try one.modify(ModifySubscriptions(saving: [try query("there", "a IN {3, 2}")]))
        try other.take(from: one)
        let modify = ModifySubscriptions(
            saving: [
                try query("new", "a == 5"), try query("there", "a IN {2, 3}"),
                try query("twin", "a == 5"), try query("bad", "never == 5"),
            ],
            deleting: ["old", "never"]
        )
        let (first, second) = try repeatElsewhere(modify)
        #expect(
            first.codes == [
                nil, nil, .serverRejectedRequest, .invalidArguments, nil, .unknownItem,
            ]
        )
        let refused = ServiceError.Code.serverRejectedRequest
        #expect(second.codes == [nil, nil, refused, refused, nil, refused])
        #expect(first.dots == second.dots)
    }

    @Test func marksAreAnsweredAsDone() throws {
        let id = FeedNotification.ID(bytes: Bytes(repeating: 1, count: 16))
        let (first, second) = try repeatElsewhere(MarkRead([id]))
        #expect(first.dots.count == 1 && first.dots == second.dots)
        #expect(!first.isRepeated && second.isRepeated)
    }

    /// What the commits held is forgotten: only where one item done means all done can it be told.
    @Test func whatIsForgottenIsNotSaidToBeDone() throws {
        let zone = ZoneAddress(name: "z")
        func second(_ saves: [SaveItem]) throws -> Result<ModifyOutcome, ServiceError> {
            let modify = ModifyRecords(database: .private, saves: saves)
            let request = one.request(modify, by: .alice)
            let first = try one.run(request).get()
            let isDone = first.saves.contains { $0.failure == nil }
            #expect(isDone)
            try other.take(from: one)
            try other.truncateLog(through: other.vector())
            return try other.run(request)
        }
        func isUnknown(_ answer: Result<ModifyOutcome, ServiceError>) -> Bool {
            guard case .failure(let error) = answer else { return false }
            return error.reason == .nodeBehind
        }
        // A default zone is never atomic, whatever the request says: the first item failed.
        #expect(isUnknown(try second([SaveItem("old", ["a": 2]), SaveItem("r", ["a": 1])])))
        // A request for two zones is not atomic either.
        let two = [SaveItem("s", ["a": 1]), SaveItem("s", ["a": 1], in: ZoneAddress(name: "no"))]
        #expect(isUnknown(try second(two)))
        let single = try second([SaveItem("t", ["a": 1])]).get()
        #expect(throws: Never.self) { try single.saves[0].get() }
        let both = [SaveItem("u", ["a": 1], in: zone), SaveItem("v", ["a": 1], in: zone)]
        let atomic = try second(both).get()
        #expect(throws: Never.self) { try atomic.saves.map { try $0.get() } }
    }

    /// Another user's request of that id is another request.
    @Test func theMemoryIsOfOneCaller() throws {
        let modify = ModifyRecords(database: .public, saves: [SaveItem("new", ["a": 1])])
        let request = one.request(modify, by: .alice)
        try one.run(request)
        try other.take(from: one)
        var twin = request
        twin.asker.caller = .bob
        #expect(try other.run(twin).get().saves[0].failure?.code == .permissionFailure)
    }
}

extension Result where Failure == ModifyOutcome.Failure {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
