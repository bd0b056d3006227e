// Saves of shares: what can be shared, with whom, and who may say so.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SaveShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    /// The participants of the zone's share, as one of them sees them.
    private func members(
        of name: String = Names.zoneShare,
        by caller: Caller
    ) throws -> [String: ShareDetails.Participant] {
        let share = try bed.fetch(name, by: caller).get()
        let members = try #require(share.sharing).details.participants
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0) })
    }

    // MARK: What can be shared

    @Test func aZoneShareShowsWhatItShares() throws {
        #expect(try bed.shareZone(with: [bed.member(bob, .readOnly)]) == nil)
        let share = try bed.fetch(Names.zoneShare, by: owner).get()
        let sharing = try #require(share.sharing)
        #expect(sharing.root == nil && sharing.details.owner == owner.user)
        #expect(sharing.details.publicPermission == .none && sharing.share.count == 16)
        let invited = try #require(try members(by: owner)[bob.user])
        #expect(invited.permission == .readOnly && invited.role == .privateUser)
        #expect(invited.status == .pending && !invited.isCaller)
        #expect(try bed.names(by: owner) == [Names.zoneShare])
    }

    @Test func aRootNamesItsShare() throws {
        #expect(try bed.share("r", with: [bed.member(bob)]) == nil)
        let root = try bed.fetch("r", by: owner).get()
        #expect(root.share == "share-r")
        #expect(try bed.fetch("share-r", by: owner).get().sharing?.root == "r")
        // A later save of the root keeps its share.
        try bed.save([bed.item("r", 2, by: owner)], .allKeys, by: owner)
        #expect(try bed.fetch("r", by: owner).get().share == "share-r")
    }

    @Test func aShareIsSavedWithItsRoot() throws {
        try bed.save("r", by: owner)
        let parts = WantedShare(root: "r")
        let alone = try bed.save([bed.shareItem("s", parts, by: owner)], by: owner)
        #expect(alone == .invalidArguments)
        let none = try bed.save([bed.shareItem("s", nil, by: owner)], by: owner)
        #expect(none == .invalidArguments)
        #expect(try bed.share("r", named: "s") == nil)
    }

    @Test func nothingInTheDefaultZoneIsShared() throws {
        var item = bed.shareItem("s", WantedShare(root: "r"), by: owner)
        item.address.zone = ZoneAddress()
        let saved = try store.save([SaveItem("r"), item], by: owner)
        #expect(saved.codes[1] == .invalidArguments)
    }

    @Test func aShareInPublicIsRefused() throws {
        var item = bed.shareItem("s", WantedShare(root: "r"), by: owner)
        item.address.zone = ZoneAddress()
        let saved = try store.save([SaveItem("r"), item], in: .public, by: owner)
        #expect(saved.codes == [nil, .badDatabase])
    }

    @Test func theNameOfAZoneShareIsFixed() throws {
        let zone = WantedShare(root: nil)
        let other = try bed.save([bed.shareItem("s", zone, by: owner)], by: owner)
        #expect(other == .invalidArguments)
        let tree = try bed.share("r", named: Names.zoneShare)
        #expect(tree == .invalidArguments)
        let note = try bed.save([bed.item(Names.zoneShare, by: owner)], by: owner)
        #expect(note == .invalidArguments)
    }

    @Test func oneShareForEachRecord() throws {
        try bed.share("r")
        try bed.save("a", under: "r", by: owner)
        try bed.save("b", under: "a", by: owner)
        #expect(try bed.share("r", named: "again") == .alreadyShared)
        // A record can't be shared below a shared one, or above one.
        #expect(try bed.share("b") == .alreadyShared)
        try bed.save(
            [bed.item("top", by: owner), bed.item("r", under: "top", by: owner)],
            by: owner
        )
        #expect(try bed.share("top") == .alreadyShared)
        // Once the share is gone the record can be shared again.
        #expect(try bed.delete("share-r", by: owner) == nil)
        #expect(try bed.share("b") == nil)
    }

    /// The records are new or stored, in either order, and directly below each other or not.
    @Test(arguments: [false, true], [false, true]) func oneBatchSharesNoRecordAboveAnother(
        areStored: Bool,
        isLowerFirst: Bool
    ) throws {
        let records = [
            bed.item("p", by: owner), bed.item("m", under: "p", by: owner),
            bed.item("c", under: "m", by: owner),
        ]
        if areStored { try bed.save(records, by: owner) }
        let roots = isLowerFirst ? ["c", "p"] : ["p", "c"]
        let shares = roots.map { bed.shareItem("s-\($0)", WantedShare(root: $0), by: owner) }
        let batches = [
            records + shares, [bed.item("p", by: owner), bed.item("c", by: owner)] + shares,
        ]
        #expect(try bed.save(batches[areStored ? 1 : 0], by: owner) == .alreadyShared)
        let names = try bed.names(by: owner)
        #expect(names == (areStored ? ["c", "m", "p"] : []))
    }

    /// Records that a batch moves count at their new places.
    @Test func aBatchSharesNoRecordAboveOneThatItMoves() throws {
        try bed.save("x", by: owner)
        try bed.save("d", under: "x", by: owner)
        try bed.share("d")
        // `d` is shared already, and moves below `p` together with `x`.
        let batch = [
            bed.item("p", by: owner), bed.item("x", under: "p", by: owner),
            bed.shareItem("s", WantedShare(root: "p"), by: owner),
        ]
        #expect(try bed.save(batch, by: owner) == .alreadyShared)
        // If it moves elsewhere, it is not below `p`.
        try bed.save("q", by: owner)
        try bed.save("x", under: "q", by: owner)
        let other = [
            bed.item("q", by: owner), bed.item("x", under: "", by: owner),
            bed.shareItem("s", WantedShare(root: "q"), by: owner),
        ]
        #expect(try bed.save(other, by: owner) == nil)
    }

    @Test func twoSharesOfOneRecordInOneBatch() throws {
        let batch = [
            bed.item("r", by: owner), bed.shareItem("s", WantedShare(root: "r"), by: owner),
            bed.shareItem("t", WantedShare(root: "r"), by: owner),
        ]
        #expect(try bed.save(batch, by: owner) == .alreadyShared)
    }

    @Test func aShareIsNoRoot() throws {
        try bed.share("r", named: "s", with: [bed.member(bob)])
        let tag = try bed.fetch("s", by: owner).get().changeTag
        let batch = [
            bed.shareItem("s", nil, tag: tag, by: owner),
            bed.shareItem("t", WantedShare(root: "s", members: [bed.member(carol)]), by: owner),
        ]
        #expect(try bed.save(batch, by: owner) == .invalidArguments)
        let new = [
            bed.item("q", by: owner), bed.shareItem("u", WantedShare(root: "q"), by: owner),
            bed.shareItem("v", WantedShare(root: "u"), by: owner),
        ]
        #expect(try bed.save(new, by: owner) == .invalidArguments)
    }

    @Test func aRecordOfASharedZoneIsSharedAlready() throws {
        try bed.shareZone()
        #expect(try bed.share("r") == .alreadyShared)
        try bed.delete(Names.zoneShare, by: owner)
        #expect(try bed.share("r") == nil)
    }

    /// A shared record is found wherever it is in the zone, also below others and among many.
    @Test func aZoneWithASharedRecordIsNotShared() throws {
        try bed.save((0..<10).map { bed.item("a\($0)", by: owner) }, by: owner)
        try bed.save("m", under: "a0", by: owner)
        try bed.share("m")
        let item = bed.shareItem(Names.zoneShare, WantedShare(root: nil), by: owner)
        let outcome = try bed.outcome(of: [item], by: owner)
        guard case .failure(let failure) = outcome.saves[0] else {
            Issue.record("the zone is shared")
            return
        }
        #expect(failure.code == .alreadyShared)
        #expect(failure.message.contains("'m'") && failure.message.contains("'share-m'"))
        #expect(try bed.code(Names.zoneShare, by: owner) == .unknownItem)
        // A share that ended with its record or its root doesn't count.
        try bed.delete("share-m", by: owner)
        #expect(try bed.shareZone() == nil)
        try bed.delete(Names.zoneShare, by: owner)
        try bed.share("m")
        #expect(try bed.shareZone() == .alreadyShared)
        try bed.delete("m", by: owner)
        #expect(try bed.shareZone() == nil)
        // The participants of the zone's share can still be changed.
        #expect(try bed.set([bed.member(bob)]) == nil)
    }

    /// The rule also holds if one request does both: a share that it deletes doesn't count, one
    /// that it makes does.
    @Test func oneRequestSharesTheZoneOrARecord() throws {
        let zone = bed.shareItem(Names.zoneShare, WantedShare(root: nil), by: owner)
        let tree = [
            bed.item("r", by: owner), bed.shareItem("s", WantedShare(root: "r"), by: owner),
        ]
        #expect(try bed.save(tree + [zone], by: owner) == .alreadyShared)
        #expect(try bed.save([zone] + tree, by: owner) == .alreadyShared)
        #expect(try bed.names(by: owner).isEmpty)
        try bed.save(tree, by: owner)
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [zone],
            deletes: [DeleteItem("s", in: bed.zone(of: owner))]
        )
        #expect(try store.modify(modify, by: owner).codes == [nil, nil])
        #expect(try bed.fetch("r", by: owner).get().share == nil)
    }

    /// The zone is searched before the writer's turn; changes since then count.
    @Test(arguments: [false, true]) func aShareThatComesAfterTheSurveyCounts(
        goes: Bool
    ) throws {
        try bed.save("r", by: owner)
        if goes { try bed.share("r") }
        let zone = bed.shareItem(Names.zoneShare, WantedShare(root: nil), by: owner)
        var modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [zone])
        #expect(modify.needsShares)
        let scope = try store.scopeNumber()
        var survey = try ShareSurvey(modify, of: scope, by: owner, in: store.reader)
        while try !survey.advance(store.reader, steps: 1) {}
        modify.shares = survey
        if goes { try bed.delete("share-r", by: owner) } else { try bed.share("r") }
        #expect(!modify.needsShares)
        #expect(try store.modify(modify, by: owner).codes == [goes ? nil : .alreadyShared])
    }

    @Test func aTreeThatIsTooLargeToLookThroughIsRefused() throws {
        try bed.save("r", by: owner)
        try bed.save((0..<20).map { bed.item("c\($0)", under: "r", by: owner) }, by: owner)
        var limits = Limits()
        limits.treeRecords = 19
        let items = [
            bed.item("r", by: owner), bed.shareItem("s", WantedShare(root: "r"), by: owner),
        ]
        var modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: items,
            limits: limits
        )
        #expect(try store.modify(modify, by: owner).codes[1] == .limitExceeded)
        modify.limits.treeRecords = 20
        #expect(try store.modify(modify, by: owner).codes == [nil, nil])
    }

    /// The URL of a root stays when it is un-shared and shared again, and is new if the root is
    /// made again.
    @Test func theURLOfARootStays() throws {
        try bed.share("r")
        let first = try bed.shareID("share-r")
        try bed.delete("share-r", by: owner)
        try bed.share("r", named: "other")
        #expect(try bed.shareID("other") == first)
        try bed.delete("r", by: owner)
        try bed.share("r")
        #expect(try bed.shareID("share-r") != first)
    }

    // MARK: With whom

    @Test func aSaveMakesTheListAsItSays() throws {
        try bed.shareZone(with: [bed.member(bob), bed.member(carol)])
        let admin = bed.member(carol, .readOnly, as: .administrator)
        #expect(try bed.set([admin, bed.member(dave, .readOnly)]) == nil)
        let found = try members(by: owner)
        #expect(Set(found.keys) == [carol.user, dave.user])
        #expect(found[carol.user]?.role == .administrator)
        #expect(found[carol.user]?.permission == .readOnly)
        // The owner has access in any case.
        #expect(try bed.set([bed.member(owner), admin]) == nil)
        #expect(Set(try members(by: owner).keys) == [carol.user])
    }

    @Test func aListOfAnotherVersionIsRefused() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let tag = try bed.fetch(Names.zoneShare, by: owner).get().changeTag
        try bed.accept(by: bob)
        // The list is refused under every policy, since it is older than the answer.
        for policy in [SavePolicy.ifUnchanged, .changedKeys, .allKeys] {
            let item = bed.shareItem(Names.zoneShare, WantedShare(root: nil), tag: tag, by: owner)
            let outcome = try bed.outcome(of: [item], policy, by: owner)
            #expect(outcome.codes == [.serverRecordChanged])
            guard case .failure(let failure) = outcome.saves[0] else { continue }
            #expect(
                failure.serverRecord?.sharing?.details.participants.map(\.status) == [.accepted]
            )
        }
    }

    @Test func titlesAreOrdinaryFields() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let tag = try bed.fetch(Names.zoneShare, by: owner).get().changeTag
        let item = SaveItem(
            Names.zoneShare,
            ["title": .string("Trip")],
            type: Names.shareType,
            in: bed.zone(of: owner),
            tag: tag
        )
        #expect(try bed.save([item], by: owner) == nil)
        #expect(Set(try members(by: owner).keys) == [bob.user])
    }

    @Test func namesAndRolesThatCanNotBeAreRefused() throws {
        var member = bed.member(bob)
        member.name = carol.user
        #expect(try bed.shareZone(with: [member]) == .invalidArguments)
        member = bed.member(bob, .readOnly, as: .publicUser)
        #expect(try bed.shareZone(with: [member]) == .invalidArguments)
        #expect(try bed.shareZone(with: [bed.member(bob), bed.member(bob)]) == .invalidArguments)
        #expect(try bed.shareZone(with: [bed.member(bob)]) == nil)
    }

    @Test func whatAShareIsOfDoesNotChange() throws {
        try bed.share("r")
        let tag = try bed.fetch("share-r", by: owner).get().changeTag
        let items = [
            bed.item("x", by: owner),
            bed.shareItem("share-r", WantedShare(root: "x"), tag: tag, by: owner),
        ]
        #expect(try bed.save(items, by: owner) == .invalidArguments)
    }

    @Test func moreThanAHundredAreTooMany() throws {
        let members = (0...100).map { number -> WantedShare.Member in
            let name = "_" + Bytes(repeating: UInt8(number), count: 16).hex
            return WantedShare.Member(
                id: ParticipantID(user: name),
                name: name,
                role: .privateUser,
                permission: .readOnly
            )
        }
        #expect(try bed.shareZone(with: members) == .tooManyParticipants)
        #expect(try bed.shareZone(with: Array(members.dropLast())) == nil)
    }

    // MARK: The public

    @Test func openSharesDontMixWithInvitations() throws {
        try bed.shareZone(with: [bed.member(bob), bed.member(carol)])
        try bed.accept(by: bob)
        // Opening drops the users who have not accepted, and keeps the ones who have.
        #expect(try bed.set([bed.member(bob), bed.member(carol)], .readOnly) == nil)
        #expect(Set(try members(by: owner).keys) == [bob.user])
        #expect(try bed.set([bed.member(bob), bed.member(dave)], .readOnly) == .invalidArguments)
        #expect(try bed.set([], .readOnly) == .invalidArguments)
        #expect(try bed.set([bed.member(bob), bed.member(dave)], .none) == nil)
    }

    /// Case 34: if the public permission is raised, users who joined stay; if the share is closed
    /// and opened, they are out.
    @Test func publicRaisedJoinersStayClosedAndOpenedOut() throws {
        try bed.shareZone(with: [], .readOnly)
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.save("a", by: bob) == .permissionFailure)
        let joined = bed.member(bob, .readOnly, as: .publicUser)
        #expect(try bed.set([joined], .readWrite) == nil)
        #expect(try bed.save("a", by: bob) == nil)
        #expect(try bed.set([joined], .none) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.set([], .readWrite) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.code("a", by: bob) == nil)
    }

    /// The owner does not see a user who joined in a former era, so a list without that user does
    /// not remove it.
    @Test func aUserOfAFormerEraJoinsAgain() throws {
        try bed.shareZone(with: [], .readOnly)
        try bed.save("a", by: owner)
        try bed.accept(by: bob)
        try bed.set([bed.member(bob, .readOnly, as: .publicUser)], .none)
        try bed.set([], .readOnly)
        #expect(try members(by: owner).isEmpty)
        #expect(try bed.set([], .readWrite) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.code("a", by: bob) == nil)
    }

    @Test func usersOfAFormerEraTakeNoRoom() throws {
        try bed.shareZone(with: [], .readOnly)
        try bed.accept(by: bob)
        try bed.set([bed.member(bob, .readOnly, as: .publicUser)], .none)
        try bed.set([], .readOnly)
        var limits = Limits()
        limits.participantsPerShare = 1
        let accept = AcceptShare(share: try bed.shareID(), limits: limits)
        for (caller, code) in [(carol, nil), (dave, ServiceError.Code.tooManyParticipants)] {
            let request = WriteRequest(accept, scope: store.scope, caller: caller)
            #expect(try bed.refusal { _ = try store.run(request).get() } == code)
        }
    }

    /// The type of shares belongs to no app, so files don't hold it.
    @Test func anImportedSchemaEndsNoShare() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        try bed.save("a", by: bob)
        let source = SchemaImport.Source.file(
            try Schema(ckdb: "DEFINE SCHEMA RECORD TYPE Other ( n INT64 );"),
            drops: true
        )
        _ = try store.administer(SchemaImport(source)).get()
        #expect(try bed.zones(by: bob) == [bed.zone(of: bob)])
        #expect(try bed.fetch(Names.zoneShare, by: owner).get().sharing != nil)
    }

    @Test func aJoinerWhomAClosedShareShutOutCanBeInvited() throws {
        try bed.shareZone(with: [], .readWrite)
        try bed.accept(by: bob)
        try bed.save("a", by: bob)
        #expect(try bed.set([], .none) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.set([bed.member(bob, .readOnly)]) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound, "invited, and has not accepted")
        #expect(try bed.accept(by: bob) == nil)
        #expect(try bed.code("a", by: bob) == nil)
        #expect(try bed.save("a", by: bob) == .permissionFailure)
        #expect(try bed.set([]) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        #expect(try bed.accept(by: bob) == .permissionFailure)
    }

    @Test func aPublicUserSeesTheOwnerAndItself() throws {
        try bed.shareZone(with: [bed.member(carol)])
        try bed.accept(by: carol)
        try bed.set([bed.member(carol)], .readOnly)
        try bed.accept(by: bob)
        #expect(Set(try members(by: owner).keys) == [bob.user, carol.user])
        #expect(Set(try members(by: carol).keys) == [bob.user, carol.user])
        let own = try members(by: bob)
        #expect(Set(own.keys) == [bob.user] && own[bob.user]?.isCaller == true)
    }

    /// An unanswered invitation is shown to the owner, to users who may invite, and to the invited
    /// user.
    @Test func invitationsShowToThoseWhoMayInvite() throws {
        let address = Handle.Kind.email
        let eve = WantedShare.Member(
            id: ParticipantID(try Handle(address, Bytes("eve@example.org".utf8))),
            name: "eve@example.org",
            role: .privateUser,
            permission: .readOnly
        )
        let admin = bed.member(carol, .readOnly, as: .administrator)
        try bed.shareZone(with: [bed.member(bob), admin, bed.member(dave), eve])
        let id = try bed.shareID()
        func told(_ caller: Caller) throws -> Set<String> {
            let shown = try bed.metadata(of: id, by: caller).share
            return Set(shown.sharing?.details.participants.map(\.name) ?? [])
        }
        let (everybody, accepted) = (
            [bob.user, carol.user, dave.user, "eve@example.org"], [bob.user, carol.user]
        )
        #expect(try told(owner) == Set(everybody))
        // An administrator, too, can invite only once it has accepted.
        for caller in [bob, carol, dave] { #expect(try told(caller) == [caller.user]) }
        try bed.accept(by: bob)
        try bed.accept(by: carol)
        #expect(try told(owner) == Set(everybody))
        #expect(try told(carol) == Set(everybody))
        #expect(try told(bob) == Set(accepted))
        #expect(try told(dave) == Set(accepted + [dave.user]))
        // All ways of reading the share's record tell the same.
        let page = try bed.changes(by: bob)
        let shares =
            page.records.compactMap(\.sharing) + [
                try #require(bed.fetch(Names.zoneShare, by: bob).get().sharing)
            ]
        #expect(shares.count == 2)
        for share in shares {
            #expect(Set(share.details.participants.map(\.name)) == Set(accepted))
        }
        try bed.accept(by: dave)
        #expect(try told(bob) == Set(accepted + [dave.user]))
    }

    // MARK: By whom

    @Test func administratorsInviteAndOthersDoNot() throws {
        let members = [bed.member(bob, .readOnly, as: .administrator), bed.member(carol)]
        try bed.shareZoneAccepted(with: members, by: bob, carol)
        #expect(try bed.set(members + [bed.member(dave)], by: carol) == .permissionFailure)
        #expect(try bed.set(members + [bed.member(dave)], by: bob) == nil)
        #expect(try bed.accept(by: dave) == nil)
        #expect(try bed.set([members[0], bed.member(dave)], by: bob) == nil)
        #expect(try bed.code("x", by: carol) == .zoneNotFound)
    }

    @Test func aParticipantSharesNothing() throws {
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
        let parts = WantedShare(root: "r")
        let items = [bed.item("r", by: bob), bed.shareItem("s", parts, by: bob)]
        #expect(try bed.save(items, by: bob) == .permissionFailure)
    }

    // MARK: The end

    @Test func aRootTakesItsShareWithIt() throws {
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        #expect(try bed.delete("r", by: owner) == nil)
        #expect(try bed.code("share-r", by: owner) == .unknownItem)
        #expect(try bed.code("r", by: bob) == .zoneNotFound)
        #expect(try bed.zones(by: bob) == [])
    }

    @Test func aCascadeOfTheOwnerTakesSharesWithTheirRoots() throws {
        try bed.save("top", by: owner)
        let root = SaveItem("r", ["of": .owner("top")], in: bed.zone(of: owner))
        let share = bed.shareItem("s", WantedShare(root: "r"), by: owner)
        #expect(try bed.save([root, share], by: owner) == nil)
        #expect(try bed.delete("top", by: owner) == nil)
        #expect(try bed.code("s", by: owner) == .unknownItem)
    }

    @Test func aShareThatIsDeletedLeavesItsRoot() throws {
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        #expect(try bed.delete("share-r", by: owner) == nil)
        #expect(try bed.fetch("r", by: owner).get().share == nil)
        #expect(try bed.code("r", by: bob) == .zoneNotFound)
    }

    @Test func aShareAndItsSuccessorInOneBatch() throws {
        try bed.shareAccepted("r", with: [bed.member(bob)], by: bob)
        let items = [
            bed.item("r", by: owner), bed.shareItem("s", WantedShare(root: "r"), by: owner),
        ]
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: items,
            deletes: [DeleteItem("share-r", in: bed.zone(of: owner))]
        )
        #expect(try store.modify(modify, by: owner).codes == [nil, nil, nil])
        #expect(try bed.fetch("r", by: owner).get().share == "s")
        #expect(try bed.code("r", by: bob) == .zoneNotFound)
    }
}

extension ShareDetails.Participant {
    /// The user record name, or the handle of somebody who is not known yet.
    fileprivate var name: String { user.isEmpty ? handle?.text ?? "" : user }
}
