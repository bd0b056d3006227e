// What two nodes do to shares without knowing of each other, and what both hold afterwards.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ConcurrentShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    /// Adds Bob to the zone's share, and makes a second node.
    private func twoNodes() throws -> ShareTestBed {
        try bed.save("a", by: owner)
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        return try bed.copied(seed: 2)
    }

    /// The code with which both nodes answer; fails if they differ.
    private func code(
        _ name: String,
        by caller: Caller,
        on other: ShareTestBed
    ) throws -> ServiceError.Code? {
        let code = try bed.code(name, by: caller)
        #expect(try other.code(name, by: caller) == code)
        return code
    }

    /// Case 9: invited again where the removal is not known; the removal stays.
    @Test func invitedAgainWhereTheRemovalIsNotKnown() throws {
        let other = try twoNodes()
        try bed.set([])
        // The other node knows Bob as a member, so a higher permission there is no new invitation.
        try other.set([bed.member(bob, .readWrite, as: .administrator)])
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
        try bed.set([bed.member(bob)])
        try bed.accept(by: bob)
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == nil)
    }

    /// Case 10: removed on A, permission raised on B, whose clock is an hour ahead.
    @Test func removedOnAPermissionRaisedOnBWithAClockAhead() throws {
        let other = try twoNodes()
        try bed.set([])
        other.store.now += 3_600_000
        try other.set([bed.member(bob, .readOnly)])
        try other.set([bed.member(bob, .readWrite)])
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
    }

    /// The lower one of two concurrent permissions stays, whatever the clocks say.
    @Test func theLesserOfTwoPermissionsStands() throws {
        let other = try twoNodes()
        try bed.set([bed.member(bob, .readOnly)])
        try bed.set([bed.member(bob, .readWrite)])
        other.store.now += 3_600_000
        try other.set([bed.member(bob, .readOnly)])
        try other.set([bed.member(bob, .none)])
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
    }

    /// Case 11: accepted on A, share deleted on B.
    @Test func acceptOnAShareDeletedOnB() throws {
        try bed.share("r", with: [bed.member(bob)])
        let other = try bed.copied(seed: 2)
        try bed.accept("share-r", by: bob)
        #expect(try bed.code("r", by: bob) == nil)
        try other.delete("share-r", by: owner)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
        #expect(try code("share-r", by: owner, on: other) == .unknownItem)
    }

    /// Case 13: left and accepted at the same time.
    @Test func leaveAndAcceptAtOnce() throws {
        let other = try twoNodes()
        try bed.leave(by: bob)
        try other.accept(by: bob)
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
    }

    /// Case 14: two administrators invite one handle, which is one participant.
    @Test func twoInviteOneHandle() throws {
        try bed.shareZone()
        let other = try bed.copied(seed: 2)
        try bed.set([bed.member(bob, .readOnly)])
        try other.set([bed.member(bob, .readWrite)])
        try bed.exchange(with: other)
        for node in [bed, other] {
            let members = try node.fetch(Names.zoneShare, by: owner).get().sharing?.details
                .participants
            #expect(members?.map(\.permission) == [.readOnly])
        }
    }

    /// Case 17: a request that shares a record is repeated at another node; then a member is
    /// removed, then the share is stopped.
    @Test func shareRequestRepeatedOnAnotherNodeThenRemovedThenStopped() throws {
        try bed.save("r", by: owner)
        let other = try bed.copied(seed: 2)
        // Each node makes a life of the share.
        try bed.share("r", with: [bed.member(bob)])
        try other.share("r", with: [bed.member(bob)])
        try other.accept("share-r", by: bob)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == nil)
        try bed.set([], of: "share-r")
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
        try bed.set([bed.member(bob)], of: "share-r")
        try bed.accept("share-r", by: bob)
        #expect(try bed.code("r", by: bob) == nil)
        try bed.delete("share-r", by: owner)
        try bed.exchange(with: other)
        #expect(try code("share-r", by: owner, on: other) == .unknownItem)
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
    }

    /// Case 17: the request makes the root, too.
    ///
    /// The shown life is shared with everybody who was invited at either node, whichever life is
    /// the greater one, and both URLs lead to it.
    @Test(arguments: [-1_000, 1_000]) func requestWithANewRootRepeatedOnAnotherNode(
        ahead: Int64
    ) throws {
        let other = try bed.copied(seed: 2)
        if ahead < 0 { store.now -= ahead } else { other.store.now += ahead }
        let members = [bed.member(bob), bed.member(carol)]
        for node in [bed, other] { try node.share("r", with: members) }
        let urls = [try bed.shareID("share-r"), try other.shareID("share-r")]
        #expect(urls[0] != urls[1])
        try bed.accept("share-r", by: bob)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == nil)
        for (node, url) in [(bed, urls[1]), (other, urls[0])] {
            #expect(try node.metadata(of: url, by: carol).root == "r")
            #expect(try node.metadata(of: url, by: carol).share.name == "share-r")
        }
        #expect(try other.accept(urls[0], by: carol) == nil)
        try bed.exchange(with: other)
        #expect(try code("r", by: carol, on: other) == nil)
        // A save by the owner ends the life that is not shown.
        try bed.save("r", 2, by: owner)
        try bed.set([bed.member(bob)], of: "share-r")
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == nil)
        #expect(try code("r", by: carol, on: other) == .zoneNotFound)
        try other.delete("share-r", by: owner)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
        #expect(try DerivedRows.differences(in: bed.store.engine) == [])
    }

    /// Case 18: the root is shared on two nodes under two names; the share that the root names
    /// counts.
    @Test func rootSharedOnTwoNodesUnderTwoNames() throws {
        try bed.save("r", by: owner)
        let other = try bed.copied(seed: 2)
        other.store.now += 1_000
        try bed.share("r", named: "one", with: [bed.member(bob)])
        try bed.accept("one", by: bob)
        try other.share("r", named: "two", with: [bed.member(carol)])
        try other.accept("two", by: carol)
        try bed.exchange(with: other)
        #expect(try bed.fetch("r", by: owner).get().share == "two")
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
        #expect(try code("r", by: carol, on: other) == nil)
    }

    /// The URLs of a root that was shared twice lead to the share that counts, in whatever order a
    /// node hears of both.
    @Test(arguments: [-1_000, 1_000]) func aRootSharedTwiceIsFoundByItsURL(ahead: Int64) throws {
        try bed.save("r", by: owner)
        let other = try bed.copied(seed: 2)
        if ahead < 0 { store.now -= ahead } else { other.store.now += ahead }
        try bed.share("r", named: "one", with: [bed.member(bob), bed.member(carol)])
        try other.share("r", named: "two", with: [bed.member(bob), bed.member(carol)])
        try bed.exchange(with: other)
        #expect(try bed.fetch("r", by: owner).get().share == (ahead < 0 ? "one" : "two"))
        let share = try bed.shareID("one")
        #expect(try bed.shareID("two") == share)
        #expect(try bed.accept(share, by: bob) == nil)
        #expect(try other.accept(share, by: carol) == nil)
        try bed.exchange(with: other)
        for caller in [bob, carol] { #expect(try code("r", by: caller, on: other) == nil) }
    }

    /// Case 19: ancestor and descendant are shared at the same time; both shares stay, and rights
    /// are the union.
    @Test func ancestorAndDescendantAtOnce() throws {
        try bed.save("p", by: owner)
        try bed.save("r", under: "p", by: owner)
        try bed.save("a", under: "r", by: owner)
        let other = try bed.copied(seed: 2)
        try bed.shareAccepted("p", with: [bed.member(bob, .readOnly)], by: bob)
        try other.shareAccepted("r", with: [bed.member(bob)], by: bob)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.save("p", 2, by: bob) == .permissionFailure)
            #expect(try node.save("a", 2, by: bob) == nil)
            try bed.exchange(with: other)
        }
        var device = ShareDevice(of: bob)
        try device.follow(other, limit: 1)
        #expect(device.held == ["p", "r", "a", "share-p", "share-r"])
    }

    /// A zone and a record in it are shared at the same time; both shares stay, and rights are the
    /// union.
    ///
    /// Afterwards neither kind of share can be made beside the other one, until that is deleted.
    @Test func aZoneAndARecordOfItAtOnce() throws {
        try bed.save("r", by: owner)
        try bed.save("a", by: owner)
        let other = try bed.copied(seed: 2)
        try bed.shareZoneAccepted(with: [bed.member(bob, .readOnly)], by: bob)
        try other.shareAccepted("r", with: [bed.member(bob)], by: bob)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.save("a", 2, by: bob) == .permissionFailure)
            #expect(try node.save("r", 2, by: bob) == nil)
            #expect(try node.share("a") == .alreadyShared)
            try bed.exchange(with: other)
        }
        try other.delete(Names.zoneShare, by: owner)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == nil)
        #expect(try code("a", by: bob, on: other) == .unknownItem)
        #expect(try bed.shareZone() == .alreadyShared)
        try bed.delete("share-r", by: owner)
        #expect(try bed.shareZone() == nil)
    }

    /// Case 20: the root is deleted and made again, while the other node shares it.
    @Test func rootDeletedAndMadeAgain() throws {
        try bed.save("r", by: owner)
        let other = try bed.copied(seed: 2)
        try bed.share("r", with: [bed.member(bob)])
        try bed.accept("share-r", by: bob)
        other.store.now += 1_000
        try other.delete("r", by: owner)
        try other.save("r", 2, by: owner)
        try bed.exchange(with: other)
        #expect(try code("r", by: bob, on: other) == .zoneNotFound)
        #expect(try code("r", by: owner, on: other) == nil)
    }

    /// A directory of zones stays valid until a share changes, but a root may go before that.
    @Test func aDirectoryOfZonesAsksTheRoots() throws {
        try bed.save("r", by: owner)
        let other = try bed.copied(seed: 2)
        let version = bed.store.state.sharesVersion
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        #expect(bed.store.state.sharesVersion > version)
        let directory = ZoneDirectory()
        func find() throws -> FoundZone? {
            try directory.find(
                bed.zone(of: bob),
                in: Authorisation.database(.shared, for: bob),
                of: store.scopeNumber(),
                by: bob,
                store.reader
            )
        }
        #expect(try find()?.rights.view?.trees.map(\.root) == ["r"])
        #expect(try find() != nil)
        try other.delete("r", by: owner)
        try store.take(from: other.store)
        #expect(try find() == nil)
    }

    /// Case 21: two nodes make a cycle.
    @Test func cycleMadeByTwoNodes() throws {
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        try bed.save("a", under: "r", by: owner)
        try bed.save("b", under: "r", by: owner)
        var device = ShareDevice(of: bob)
        try device.follow(bed)
        let other = try bed.copied(seed: 2)
        try bed.save("a", under: "b", by: bob)
        try other.save("b", under: "a", by: bob)
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .unknownItem)
        #expect(try code("b", by: bob, on: other) == .unknownItem)
        try device.follow(other, limit: 1)
        #expect(device.held == ["r", "share-r"] && device.strange == [])
        // The owner ends the cycle.
        try bed.save("a", under: "r", by: owner)
        try device.follow(bed)
        #expect(device.held == ["r", "share-r", "a", "b"])
    }

    /// Case 22: parent deleted on A, child added on B, then purged; the child leads nowhere at
    /// once.
    @Test func parentDeletedOnAChildAddedOnBThenPurge() throws {
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        try bed.save("a", under: "r", by: owner)
        let other = try bed.copied(seed: 2)
        try bed.delete("a", by: owner)
        try other.save("aa", under: "a", by: bob)
        var device = ShareDevice(of: bob)
        try device.follow(other)
        #expect(device.held == ["r", "share-r", "a", "aa"])
        try bed.exchange(with: other)
        #expect(try code("aa", by: bob, on: other) == .unknownItem)
        try device.follow(bed)
        #expect(device.held == ["r", "share-r"])
        try bed.store.forgetDeleted()
        try device.follow(bed)
        #expect(device.held == ["r", "share-r"])
    }

    /// Case 23: a record is moved out on A before B learns of the share.
    @Test func recordMovedOutOnABeforeBLearnsOfTheShare() throws {
        try bed.save("r", by: owner)
        try bed.save("a", under: "r", by: owner)
        let other = try bed.copied(seed: 2)
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        var device = ShareDevice(of: bob)
        try device.follow(bed)
        #expect(device.held == ["r", "a", "share-r"])
        try bed.save("a", under: "", by: owner)
        try bed.exchange(with: other)
        try device.follow(other)
        #expect(device.held == ["r", "share-r"] && device.strange == [])
    }

    /// Case 32: an administrator who was removed on A invites on B; the invited user stays, and can
    /// be removed.
    @Test func administratorRemovedOnAInvitesOnB() throws {
        try bed.save("a", by: owner)
        let admin = bed.member(bob, .readWrite, as: .administrator)
        try bed.shareZoneAccepted(with: [admin], by: bob)
        let other = try bed.copied(seed: 2)
        try bed.set([])
        #expect(try other.set([admin, bed.member(carol)], by: bob) == nil)
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
        #expect(try other.accept(by: carol) == nil)
        try bed.exchange(with: other)
        #expect(try code("a", by: carol, on: other) == nil)
        try bed.set([])
        try bed.exchange(with: other)
        #expect(try code("a", by: carol, on: other) == .zoneNotFound)
    }

    /// Case 34: a removed user who had joined by the URL joins again on B, which does not know of
    /// the removal.
    @Test func removedJoinerJoinsAgainOnB() throws {
        try bed.save("a", by: owner)
        try bed.shareZone(with: [], .readOnly)
        try bed.accept(by: bob)
        let other = try bed.copied(seed: 2)
        try bed.set([], .readOnly)
        try other.leave(by: bob)
        #expect(try other.accept(by: bob) == nil)
        try bed.exchange(with: other)
        #expect(try code("a", by: bob, on: other) == .zoneNotFound)
    }

    /// Case 42: two nodes add 101 participants; nobody is dropped.
    @Test func aHundredAndOneParticipantsByTwoNodes() throws {
        let members = (0..<100).map { number -> WantedShare.Member in
            let name = "_" + Bytes(repeating: UInt8(number + 10), count: 16).hex
            return WantedShare.Member(
                id: ParticipantID(user: name),
                name: name,
                role: .privateUser,
                permission: .readOnly
            )
        }
        try bed.shareZone(with: Array(members.dropLast()))
        let other = try bed.copied(seed: 2)
        try bed.set(members)
        try other.set(members.dropLast() + [bed.member(bob)])
        try bed.exchange(with: other)
        let shown = try bed.fetch(Names.zoneShare, by: owner).get().sharing?.details.participants
        #expect(shown?.count == 101)
        #expect(try bed.accept(by: bob) == nil)
    }

    /// Case 43: the zone is deleted while a user accepts.
    @Test func zoneDeletedWhileAccepting() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let other = try bed.copied(seed: 2)
        try bed.accept(by: bob)
        try other.store.modify(ModifyZones(deleting: [ShareTestBed.zone]), by: owner)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.zones(by: bob) == [])
            #expect(try node.code("a", by: bob) == .zoneNotFound)
        }
    }

    /// A device asks either node for the zones that are shared with it.
    @Test func zonesAreListedExactlyWhileTheyAreSeen() throws {
        let other = try twoNodes()
        let first = try bed.store.zoneChanges(of: .shared, by: bob)
        #expect(first.changed.count == 1)
        try other.set([])
        try bed.store.take(from: other.store)
        let gone = try bed.store.zoneChanges(since: first.token, of: .shared, by: bob)
        #expect(gone.deletions.count == 1 && gone.changed == [])
        try bed.set([bed.member(bob)])
        try bed.accept(by: bob)
        try other.store.take(from: bed.store)
        let back = try other.store.zoneChanges(since: gone.token, of: .shared, by: bob)
        #expect(back.changed.count == 1 && back.deletions == [])
    }
}
