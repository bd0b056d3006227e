// Shares with as many people as possible: a share remembers everybody who was ever in it.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct LargeShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    private func save(
        _ members: [Caller],
        _ permission: ShareParticipant.Permission,
        _ limits: Limits
    ) throws -> ServiceError.Code? {
        let parts = WantedShare(
            root: nil,
            publicPermission: permission,
            members: members.map { bed.member($0) }
        )
        let tag = try? bed.fetch(Names.zoneShare, by: owner).get().changeTag
        var modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: [bed.shareItem(Names.zoneShare, parts, tag: tag, by: owner)]
        )
        modify.limits = limits
        return try store.modify(modify, by: owner).codes[0]
    }

    /// A full share still accepts invitations of people whom it knows, and removals.
    @Test func aShareRemembersABoundedNumberOfPeople() throws {
        var limits = Limits.standard
        limits.peoplePerShare = 2
        for member in [bob, carol] { #expect(try save([member], .none, limits) == nil) }
        #expect(try save([dave], .none, limits) == .tooManyParticipants)
        #expect(try save([bob], .none, limits) == nil)
        #expect(try save([], .none, limits) == nil)
        #expect(try save([], .readOnly, limits) == nil)
        let accept = AcceptShare(share: try bed.shareID(), limits: limits)
        for (caller, code) in [(bob, nil), (dave, ServiceError.Code.tooManyParticipants)] {
            let request = WriteRequest(accept, scope: store.scope, caller: caller)
            #expect(try bed.refusal { _ = try store.run(request).get() } == code)
        }
    }
}
