// Joining and leaving shares, and what somebody learns of a share by its URL.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AcceptShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    private func handle(_ text: String) throws -> Handle { try Handle(.email, Bytes(text.utf8)) }

    private func give(_ text: String, to user: String, isHeld: Bool = true) throws {
        let change = SetHandle(try handle(text), user: user, isHeld: isHeld)
        let request = WriteRequest(change, caller: .administrator)
        _ = try store.run(request).get()
    }

    private func member(_ text: String) throws -> WantedShare.Member {
        WantedShare.Member(
            id: ParticipantID(try handle(text)),
            name: text,
            role: .privateUser,
            permission: .readWrite
        )
    }

    // MARK: Accept

    @Test func anInvitedUserIsInOnceItAccepts() throws {
        try bed.shareZone(with: [bed.member(bob)])
        try bed.save("a", by: owner)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.zones(by: bob) == [])
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.code("a", by: bob) == nil)
        #expect(try bed.zones(by: bob) == [bed.zone(of: bob)])
        // Accepting twice has the effect of accepting once.
        let before = try store.vector()
        #expect(try bed.accept(by: bob) == nil)
        #expect(try store.vector() == before)
    }

    @Test func othersAreRefused() throws {
        try bed.shareZone(with: [bed.member(bob)])
        #expect(try bed.accept(by: carol) == .permissionFailure)
        #expect(try bed.accept(by: owner) == .invalidArguments)
        #expect(try bed.accept(bed.shareID(), by: .anonymous) == .notAuthenticated)
        let unknown = ShareID(bytes: Bytes(repeating: 1, count: 16))
        #expect(try bed.accept(unknown, by: bob) == .unknownItem)
    }

    /// Case 33: the URL of a share that was stopped.
    @Test func aStoppedShareIsNotThere() throws {
        try bed.share("r", with: [bed.member(bob)])
        let id = try bed.shareID("share-r")
        try bed.delete("share-r", by: owner)
        #expect(try bed.accept(id, by: bob) == .unknownItem)
        #expect(try bed.refusal { _ = try bed.metadata(of: id, by: bob) } == .unknownItem)
        // Case 20: the root is deleted and made again; the new root was never shared.
        try bed.share("r", with: [bed.member(bob)])
        try bed.delete("r", by: owner)
        try bed.save("r", by: owner)
        #expect(try bed.accept(id, by: bob) == .unknownItem)
    }

    @Test func aHandleIsClaimedByTheUserWhoHoldsIt() throws {
        try bed.shareZone(with: [try member("bob@example.org")])
        #expect(try bed.accept(by: bob) == .permissionFailure)
        try give("bob@example.org", to: "bob")
        #expect(try bed.accept(by: carol) == .permissionFailure)
        #expect(try bed.accept(by: bob) == nil)
        let found =
            try bed.fetch(Names.zoneShare, by: bob).get().sharing?.details.participants ?? []
        #expect(found.map(\.handle?.text) == ["bob@example.org"])
        #expect(found.map(\.user) == [bob.user] && found.map(\.isCaller) == [true])
    }

    /// Case 15: a handle moves to another user after it was accepted; the first user stays.
    @Test func aHandleThatMovesAfterAccept() throws {
        try bed.shareZone(with: [try member("bob@example.org")])
        try give("bob@example.org", to: "bob")
        try bed.accept(by: bob)
        try give("bob@example.org", to: "carol")
        #expect(try bed.accept(by: carol) == .permissionFailure)
        #expect(try bed.code(Names.zoneShare, by: bob) == nil)
    }

    /// Case 16: a look-alike handle is another handle.
    @Test func aLookAlikeHandleIsAnother() throws {
        try bed.shareZone(with: [try member("bob@example.org")])
        // The second letter is Cyrillic.
        try give("b\u{43E}b@example.org", to: "carol")
        #expect(try bed.accept(by: carol) == .permissionFailure)
        try give("BOB@example.org", to: "bob")
        #expect(try bed.accept(by: bob) == nil)
    }

    /// A stranger learns neither who is invited nor whether anybody has an invited address.
    @Test func strangersAreToldTheSameWhoeverIsInvited() throws {
        try give("dave@example.org", to: "dave")
        let invited = [
            [], [bed.member(bob)], [try member("dave@example.org")],
            [try member("nobody@example.org")],
            [bed.member(bob), try member("dave@example.org"), try member("nobody@example.org")],
        ]
        try bed.shareZone()
        let id = try bed.shareID()
        var answers: Set<String> = []
        func note(_ work: () throws -> Void) throws {
            do {
                try work()
                answers.insert("done")
            } catch let error as ServiceError {
                answers.insert("\(error.code): \(error.message)")
            }
        }
        for members in invited {
            try bed.set(members)
            let operation = AcceptShare(share: id)
            let request = WriteRequest(operation, scope: store.scope, caller: carol)
            try note { _ = try store.run(request).get() }
            try note { _ = try bed.metadata(of: id, by: carol) }
        }
        #expect(answers.count == 1 && answers.first?.hasPrefix("permissionFailure") == true)
    }

    @Test func everybodyJoinsAnOpenShare() throws {
        try bed.shareZone(with: [], .readOnly)
        try bed.save("a", by: owner)
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.code("a", by: bob) == nil)
        #expect(try bed.save("b", by: bob) == .permissionFailure)
        // A user who was removed in this era can't come back by itself.
        #expect(try bed.set([], .readOnly) == nil)
        #expect(try bed.accept(by: bob) == .permissionFailure)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
    }

    /// A user who joins changes the share's record; only users who see all participants see that.
    @Test func strangersDoNotSeeWhoJoinedLast() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        #expect(try bed.set([bed.member(bob)], .readOnly) == nil)
        #expect(try bed.accept(by: bed.dave) == nil)
        #expect(try bed.accept(by: carol) == nil)
        let id = try bed.shareID()
        for (caller, seen) in [
            (owner, carol.user), (bob, carol.user), (carol, owner.user), (bed.dave, owner.user),
            (Caller.anonymous, owner.user),
        ] {
            let shown = try bed.metadata(of: id, by: caller).share
            #expect(shown.modifiedBy == seen && shown.createdBy == owner.user)
            if caller.role == .anonymous { continue }
            let fetched = try bed.fetch(Names.zoneShare, by: caller).get()
            #expect(fetched.modifiedBy == seen && fetched.createdBy == owner.user)
        }
    }

    /// An invitation and an opening are made without knowing of each other.
    @Test func anInvitationToAnOpenShareIsSettledByItsOwner() throws {
        try bed.shareZone()
        let other = try bed.copied(seed: 2)
        try bed.set([bed.member(bob)])
        try other.set([], .readOnly)
        try bed.exchange(with: other)
        #expect(try bed.accept(by: bob) == .participantAlreadyInvited)
        #expect(try bed.accept(by: carol) == nil)
        // Saving it unchanged settles nothing, but closing it does, and so does opening it again.
        let all = [bed.member(bob), bed.member(carol, .readOnly, as: .publicUser)]
        #expect(try bed.set(all, .readOnly) == nil)
        #expect(try bed.accept(by: bob) == .participantAlreadyInvited)
        #expect(try bed.set([bed.member(bob)]) == nil)
        let closed = try bed.copied(seed: 3)
        #expect(try closed.accept(by: bob) == nil)
        #expect(try bed.set([bed.member(bob)], .readOnly) == nil)
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.save("b", by: bob) == .permissionFailure)
    }

    @Test func zonesOfOthersAreBounded() throws {
        try bed.shareZone(with: [bed.member(bob)])
        try store.modify(ModifyZones(saving: ["y"]), by: owner)
        let parts = WantedShare(root: nil, members: [bed.member(bob)])
        var item = bed.shareItem(Names.zoneShare, parts, by: owner)
        item.address.zone = ZoneAddress(name: "y")
        #expect(try bed.save([item], by: owner) == nil)
        try bed.accept(by: bob)
        let view = try store.fetch(
            Names.zoneShare,
            in: .private,
            zone: ZoneAddress(name: "y"),
            by: owner
        ).get()
        let id = ShareID(bytes: view.sharing?.share ?? [])
        var limits = Limits()
        limits.sharedZonesPerUser = 1
        let accept = AcceptShare(share: id, limits: limits)
        let request = WriteRequest(accept, scope: store.scope, caller: bob)
        let error = #expect(throws: ServiceError.self) { try store.run(request).get() }
        #expect(error?.code == .limitExceeded)
        try bed.leave(by: bob)
        #expect(throws: Never.self) { try store.run(request).get() }
    }

    /// Case 12: invitation 1 is accepted after invitation 2; an answer counts for its own
    /// invitation.
    @Test func acceptOfInvitationOneAfterInvitationTwo() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let other = try bed.copied(seed: 2)
        try bed.set([])
        try bed.set([bed.member(bob)])
        #expect(try other.accept(by: bob) == nil)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.code(Names.zoneShare, by: bob) == .zoneNotFound)
            let members = try node.fetch(Names.zoneShare, by: owner).get().sharing?.details
                .participants
            #expect(members?.map(\.status) == [.pending])
        }
        #expect(try other.accept(by: bob) == nil)
        #expect(try other.code(Names.zoneShare, by: bob) == nil)
    }

    // MARK: Metadata

    @Test func metadataGoesToThoseWhoMayKnow() throws {
        try bed.share("r", with: [bed.member(bob, .readOnly)])
        let id = try bed.shareID("share-r")
        let invited = try bed.metadata(of: id, wantsRoot: true, by: bob)
        #expect(invited.root == "r" && invited.rootRecord?.name == "r")
        #expect(invited.zone == bed.zone(of: bob) && invited.share.name == "share-r")
        #expect(invited.status == .pending && invited.permission == .readOnly)
        #expect(try bed.metadata(of: id, by: bob).rootRecord == nil)
        #expect(try bed.metadata(of: id, by: owner).role == .owner)
        #expect(try bed.refusal { _ = try bed.metadata(of: id, by: carol) } == .permissionFailure)
        try bed.accept("share-r", by: bob)
        #expect(try bed.metadata(of: id, by: bob).status == .accepted)
        try bed.set([bed.member(bob, .readOnly)], .readWrite, of: "share-r")
        let open = try bed.metadata(of: id, by: carol)
        #expect(open.role == .publicUser && open.permission == .readWrite)
        #expect(open.share.sharing?.details.participants == [])
    }

    @Test func strangersAreToldOfOpenSharesOnly() throws {
        try bed.share("r", with: [bed.member(bob, .readOnly)])
        let id = try bed.shareID("share-r")
        #expect(
            try bed.refusal { _ = try bed.metadata(of: id, by: .anonymous) } == .notAuthenticated
        )
        try bed.accept("share-r", by: bob)
        try bed.set([bed.member(bob, .readOnly)], .readOnly, of: "share-r")
        let open = try bed.metadata(of: id, wantsRoot: true, by: .anonymous)
        #expect(open.role == .publicUser && open.permission == .readOnly)
        #expect(open.status == .unknown && open.root == "r" && open.rootRecord == nil)
        #expect(open.share.sharing?.details.participants == [])
        let server = Caller(role: .server("_key"))
        #expect(try bed.refusal { _ = try bed.metadata(of: id, by: server) } == .permissionFailure)
    }

    @Test func aLookUpAnswersAlikeForUsersAndOthers() throws {
        try give("bob@example.org", to: "bob")
        func look(_ text: String) throws -> ShareDetails.Participant {
            try LookUpParticipant(handle: handle(text)).run(
                in: store.scope.container,
                store.reader
            )
        }
        var known = try look("bob@example.org")
        var unknown = try look("nobody@example.org")
        #expect(known.id.count == 17 && known.id != unknown.id)
        (known.id, known.handle, unknown.id, unknown.handle) = ([], nil, [], nil)
        #expect(known == unknown && known.user.isEmpty)
    }

    // MARK: URLs

    /// Case 33: a URL is guessed, cut, or has another case.
    @Test func aURLGuessedCutOrCaseChanged() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let key = ShareURLKey(secret: Bytes(repeating: 3, count: 32))
        let id = try bed.shareID()
        let url = try key.url(of: id)
        #expect(try key.share(of: url) == id)
        #expect(url.text.utf8.count == 22)
        let other = try ShareURLKey(secret: [1]).share(of: url)
        #expect(other != id)
        #expect(try bed.accept(other, by: bob) == .unknownItem)
        #expect(ShareURL(text: String(url.text.dropLast())) == nil)
        let changed =
            url.text.uppercased() == url.text ? url.text.lowercased() : url.text.uppercased()
        if let wrong = ShareURL(text: changed) {
            #expect(try bed.accept(key.share(of: wrong), by: bob) == .unknownItem)
        }
    }

    // MARK: Leave

    @Test func whoLeavesIsOutAndTheOthersStay() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob), bed.member(carol)], by: bob, carol)
        #expect(try bed.leave(by: bob) == nil)
        #expect(try bed.code(Names.zoneShare, by: bob) == .zoneNotFound)
        #expect(try bed.leave(by: bob) == .zoneNotFound)
        #expect(try bed.code(Names.zoneShare, by: carol) == nil)
        #expect(try bed.code(Names.zoneShare, by: owner) == nil)
        // A user who is invited again may come back.
        #expect(try bed.accept(by: bob) == .permissionFailure)
        try bed.set([bed.member(bob), bed.member(carol)])
        #expect(try bed.accept(by: bob) == nil)
    }

    @Test func toDeleteTheShareIsToLeaveIt() throws {
        try bed.shareAccepted("r", with: [bed.member(bob), bed.member(carol)], by: bob, carol)
        #expect(try bed.delete("share-r", by: bob) == nil)
        #expect(try bed.zones(by: bob) == [])
        #expect(try bed.code("share-r", by: carol) == nil)
        #expect(try bed.code("share-r", by: owner) == nil)
    }

    @Test func zonesAreNotMadeInTheSharedDatabase() throws {
        let request = ModifyZones(database: .shared, saves: [.success(ZoneAddress(name: "y"))])
        #expect(try bed.refusal { try store.modify(request, by: bob) } == .badDatabase)
    }
}
