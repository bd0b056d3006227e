// Users who are deleted: what goes, what stays, and two nodes that hear of it at different times.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DeletedUserTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    private func delete(_ name: String, at store: TestStore) throws {
        let request = WriteRequest(DeleteUser(name), caller: .administrator)
        _ = try store.run(request).get()
    }

    private func administer<Asked: ClusterChange>(
        _ change: Asked,
        at store: TestStore
    ) throws -> Asked.Outcome {
        try store.run(WriteRequest(change, caller: .administrator)).get()
    }

    /// Does what a node does in the background; returns the number of turns that it took.
    ///
    /// - Parameter turns: The process ends after so many.
    @discardableResult
    private func keep(_ store: TestStore, turns most: Int = .max) throws -> Int {
        let number = try store.scopeNumber()
        var turns = 0
        for deletion in try DeletedUsers.page(after: nil, limit: 100, in: store.reader) {
            let traces = UserTraces(of: deletion, in: store.scope.container, number)
            let now = store.now
            var turn = UserTraces.Turn.more
            while turn != .done, turn != .waits, turns < most {
                try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    turn = try traces.delete(now: now, &transaction)
                    guard case .orphaned(let zone, let name) = turn else { return }
                    try CascadeCompensation.run(
                        after: [name],
                        of: zone,
                        in: number,
                        &transaction
                    )
                }
                turns += 1
            }
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                while try !DeletedAccounts.drop(of: deletion.userID, &transaction) {}
            }
        }
        return turns
    }

    /// Both nodes apply what the other one has, of the accounts and of the container.
    private func exchange(_ one: TestStore, _ other: TestStore) throws {
        var dice = SeededGenerator(seed: 1)
        for scope in [ScopeID.cluster, one.scope] {
            try one.takeCommits(of: scope, from: other, most: .max, using: &dice)
            try other.takeCommits(of: scope, from: one, most: .max, using: &dice)
        }
    }

    private func isEmpty(at store: TestStore) throws -> Bool {
        let number = try store.scopeNumber()
        return try DeletedUsers.page(after: nil, limit: 100, in: store.reader).allSatisfy {
            let traces = UserTraces(of: $0, in: store.scope.container, number)
            return try traces.isEmpty(store.reader)
                && DeletedAccounts.isEmpty(of: $0.userID, store.reader)
        }
    }

    private func zones(of caller: Caller, at store: TestStore) throws -> [Commit.Zone] {
        try store.reader.zones(of: store.scopeNumber()).filter {
            $0.database == DatabaseID(kind: .private, owner: caller.user)
        }
    }

    // MARK: Who comes in

    @Test func nobodyComesInAsADeletedUser() throws {
        _ = try administer(AddToken([1], user: "bob"), at: store)
        let handle = try Handle(.email, Bytes("bob@example.org".utf8))
        _ = try administer(SetHandle(handle, user: "bob", isHeld: true), at: store)
        _ = try administer(
            SetProfile(.init(displayName: "Bob", isDiscoverable: true), user: "bob"),
            at: store
        )
        let digest = Sessions.digest(of: [1])
        let session = try #require(try Sessions.find(digest, now: store.now, in: store.reader))
        let credential = Credential(session, epoch: 0)
        try delete("bob", at: store)
        #expect(try Sessions.find(digest, now: store.now, in: store.reader) == nil)
        #expect(try credential.judged(at: 1, now: store.now, in: store.reader) == nil)
        #expect(try Users.find("bob", in: store.reader) == nil)
        #expect(try !Users.all(in: store.reader).map(\.name).contains("bob"))
        let container = store.scope.container
        #expect(try People.discover(handle, in: container, store.reader) == nil)
        // Everything about the account goes, and a handle can be given to somebody else.
        try keep(store)
        #expect(try People.handles(of: session.user.id, in: store.reader).isEmpty)
        let moved = try administer(SetHandle(handle, user: "carol", isHeld: true), at: store)
        #expect(!moved.isMoved && !moved.existed)
        let again = try store.run(WriteRequest(DeleteUser("bob"), caller: .administrator))
        guard case .failure(let error) = again else { return #expect(Bool(false)) }
        #expect(error.code == .unknownItem)
    }

    @Test func onlyOperatorsDelete() throws {
        for caller in [bob, Caller.anonymous] {
            let answer = try store.run(WriteRequest(DeleteUser("bob"), caller: caller))
            guard case .failure(let error) = answer else { return #expect(Bool(false)) }
            #expect(error.code == .permissionFailure)
        }
        #expect(try Users.find("bob", in: store.reader) != nil)
    }

    @Test func theNameIsFreeForAnotherUser() throws {
        let bobs = try #require(try Users.find("bob", in: store.reader))
        try delete("bob", at: store)
        let id = Bytes(repeating: 77, count: 16)
        let added = try administer(AddUser(name: "bob", id: id), at: store)
        #expect(!added.existed)
        #expect(try Users.find("bob", in: store.reader)?.id == id)
        #expect(try Users.all(in: store.reader).filter { $0.name == "bob" }.map(\.id) == [id])
        let container = store.scope.container
        #expect(added.user.recordName(in: container) != bobs.recordName(in: container))
        // The third one of the name follows the second.
        try delete("bob", at: store)
        #expect(try Users.find("bob", in: store.reader) == nil)
        let third = try administer(
            AddUser(name: "bob", id: Bytes(repeating: 78, count: 16)),
            at: store
        )
        #expect(!third.existed)
        #expect(try Users.find("bob", in: store.reader)?.id == third.user.id)
    }

    // MARK: What goes

    @Test func theDataGoesAndPublicRecordsStay() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        try bed.save("a", by: owner)
        _ = try store.save([SaveItem("mine", ["n": .int64(1)])], in: .public, by: owner)
        let own = SaveItem(owner.user, ["nick": .string("o")], type: "Users")
        _ = try store.save([own], in: .public, by: owner)
        let subscription = Subscription(id: "all", kind: .database(recordType: nil))
        try store.modify(
            ModifySubscriptions(database: .private, saves: [.success(subscription)]),
            by: owner
        )
        let found = try Holdings(ofUser: "owner", now: store.now, in: store.reader)
        #expect(found.zones == 1 && found.shares == 1 && found.subscriptions == 1)
        #expect(found.usage.records == 2)
        try delete("owner", at: store)
        #expect(try !isEmpty(at: store))
        try keep(store)
        #expect(try isEmpty(at: store))
        #expect(try zones(of: owner, at: store).isEmpty)
        #expect(try bed.zones(by: bob).isEmpty)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        let kept = try store.fetch("mine", in: .public, by: bob).get()
        #expect(kept.createdBy == owner.user)
        let record = try store.fetch(owner.user, in: .public, by: bob)
        guard case .failure(let error) = record else { return #expect(Bool(false)) }
        #expect(error.code == .unknownItem)
        // Nothing is left to be done.
        let before = try store.vector()
        try keep(store)
        #expect(try store.vector() == before)
    }

    @Test func aDeletedUserLeavesTheSharesOfOthers() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob), bed.member(carol)], by: bob, carol)
        try bed.save("a", by: bob)
        let found = try Holdings(ofUser: "bob", now: store.now, in: store.reader)
        #expect(found.joinedShares == 1 && found.zones == 0)
        try delete("bob", at: store)
        try keep(store)
        #expect(try bed.zones(by: bob).isEmpty)
        let share = try bed.fetch(Names.zoneShare, by: owner).get()
        let members = share.sharing?.details.participants ?? []
        #expect(!members.contains { $0.user == bob.user && $0.status == .accepted })
        #expect(members.contains { $0.user == carol.user && $0.status == .accepted })
        // What the user saved in the zone is the owner's.
        #expect(try bed.code("a", by: owner) == nil)
    }

    @Test func aProcessThatEndsInTheMiddleGoesOn() throws {
        for number in 0..<50 {
            try store.modify(ModifyZones(saving: ["z\(number)"]), by: owner)
        }
        try delete("owner", at: store)
        #expect(try keep(store, turns: 1) == 1)
        #expect(try !zones(of: owner, at: store).isEmpty, "a turn deletes some zones only")
        try store.restart()
        #expect(try keep(store) > 2)
        #expect(try zones(of: owner, at: store).isEmpty)
    }

    // MARK: Two nodes

    /// A node that was cut off writes for the deleted user, and converges.
    @Test func whatWasWrittenElsewhereMeanwhileGoes() throws {
        let other = try TestStore(seed: 2)
        try exchange(store, other)
        try other.modify(ModifyZones(saving: ["late"]), by: owner)
        try other.save([SaveItem("late", in: bed.zone(of: owner))], by: owner)
        let handle = try Handle(.email, Bytes("late@example.org".utf8))
        _ = try administer(SetHandle(handle, user: "owner", isHeld: true), at: other)
        _ = try administer(AddToken([9], user: "owner"), at: other)
        try delete("owner", at: store)
        try keep(store)
        try exchange(store, other)
        for one in [store, other] {
            let found = try Sessions.find(Sessions.digest(of: [9]), now: one.now, in: one.reader)
            #expect(found == nil)
            let container = one.scope.container
            #expect(try People.discover(handle, in: container, one.reader) == nil)
        }
        #expect(try zones(of: owner, at: other).map(\.name) == ["late"])
        // The node that took the deletion deletes what it finds; the other one waits a minute.
        #expect(try keep(other) == 1)
        #expect(try zones(of: owner, at: other).map(\.name) == ["late"])
        other.now += 120_000
        try keep(other)
        #expect(try zones(of: owner, at: other).isEmpty)
        try exchange(store, other)
        try keep(store)
        for one in [store, other] {
            #expect(try isEmpty(at: one))
            #expect(try zones(of: owner, at: one).isEmpty)
        }
        let moved = try administer(SetHandle(handle, user: "dave", isHeld: true), at: store)
        #expect(!moved.isMoved, "a deleted user holds nothing")
    }

    @Test func twoNodesDeleteOneUserAndAgree() throws {
        let other = try bed.copied(seed: 2)
        for one in [store, other.store] { try delete("owner", at: one) }
        let ids = try [(store, UInt8(80)), (other.store, 81)].map { one, number in
            let id = Bytes(repeating: number, count: 16)
            return try administer(AddUser(name: "owner", id: id), at: one).user.id
        }
        try exchange(store, other.store)
        for one in [store, other.store] {
            try keep(one)
            #expect(try zones(of: owner, at: one).isEmpty)
        }
        try exchange(store, other.store)
        let found = try [store, other.store].map { try Users.find("owner", in: $0.reader)?.id }
        #expect(found[0] == found[1] && ids.contains(found[0] ?? []))
    }
}
