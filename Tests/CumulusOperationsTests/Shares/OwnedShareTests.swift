// What an operator sees of a user's shares, and how it stops one.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct OwnedShareTests: ShareTesting {
    let bed: ShareTestBed

    /// Lets the owner share two trees with Bob, and Carol share a zone of her own.
    init() throws {
        bed = try ShareTestBed()
        for root in ["r", "q"] {
            try bed.shareAccepted(root, with: [bed.member(bob)], by: bob)
        }
        try store.modify(ModifyZones(saving: ["c"]), by: carol)
        var item = bed.shareItem(Names.zoneShare, WantedShare(root: nil), by: owner)
        item.address.zone = ZoneAddress(name: "c")
        _ = try store.save([item], in: .private, .changedKeys, by: carol)
    }

    private func shares(of user: String) throws -> [OwnedShares.Entry] {
        try OwnedShares.all(
            of: user,
            in: store.scope.container,
            store.scopeNumber(),
            store.reader
        )
    }

    private func stop(
        _ share: String,
        of user: String = "owner",
        by caller: Caller = Caller(role: .operator)
    ) throws -> Result<Bool, ServiceError> {
        let stop = StopShare(user: user, zone: ShareTestBed.zone, share: share)
        return try store.run(
            WriteRequest(stop, scope: store.scope, caller: caller)
        )
    }

    @Test func namesAndRightsAreTold() throws {
        let found = try shares(of: "owner")
        #expect(found.map(\.share.name) == ["share-q", "share-r"])
        #expect(found.allSatisfy { $0.zone.name == ShareTestBed.zone })
        #expect(found.allSatisfy { $0.zone.owner == owner.user && $0.share.fields.isEmpty })
        #expect(found.map { $0.share.sharing?.root } == ["q", "r"])
        for entry in found {
            let members = entry.share.sharing?.details.participants ?? []
            #expect(members.map(\.user) == [bob.user])
            #expect(members.map(\.status) == [.accepted])
        }
        #expect(try shares(of: "carol").map(\.zone.name) == ["c"])
        #expect(try shares(of: "bob").isEmpty)
        let error = #expect(throws: ServiceError.self) { try shares(of: "nobody") }
        #expect(error?.code == .unknownItem)
    }

    @Test func aShareIsStoppedAsByItsOwner() throws {
        #expect(try stop("share-r").get() == true)
        #expect(try bed.code("r", by: bob) == .unknownItem)
        #expect(try bed.code("q", by: bob) == nil)
        #expect(try bed.code("share-r", by: owner) == .unknownItem)
        #expect(try shares(of: "owner").map(\.share.name) == ["share-q"])
        #expect(try stop("share-r").get() == false)
        // The root names no share any more, so it can get another one.
        #expect(try bed.share("r", named: "next", with: [bed.member(carol)]) == nil)
        #expect(try bed.accept("next", by: carol) == nil)
    }

    @Test func whatIsNoShareStays() throws {
        #expect(try stop("r").get() == false)
        #expect(try stop("missing").get() == false)
        #expect(try stop("share-r", of: "carol").get() == false)
        #expect(try bed.code("r", by: bob) == nil)
        for caller in [owner, bob] {
            guard case .failure(let error) = try stop("share-r", by: caller) else {
                Issue.record("\(caller.user) is no operator")
                continue
            }
            #expect(error.code == .permissionFailure)
        }
        guard case .failure(let error) = try stop("share-r", of: "nobody") else {
            Issue.record("there is no such user")
            return
        }
        #expect(error.code == .unknownItem)
    }
}
