// A request about shares that is carried out at two nodes, because the first one's answer was lost:
// what both hold once they hear of each other.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RepeatedShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    /// Root and share are one life each, with one URL, and the tag that both nodes gave.
    @Test func aShareHasOneURL() throws {
        let other = try bed.copied(seed: 2)
        let parts = ShareParts(root: "r", publicPermission: .none, members: [bed.member(bob)])
        let items = [bed.item("r", by: owner), bed.shareItem("s", parts, by: owner)]
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: items)
        let request = bed.store.request(.modifyRecords(modify), by: owner)
        for node in [bed, other] { _ = try node.store.run(request).get() }
        let before = try [bed, other].map { try $0.fetch("s", by: owner).get() }
        #expect(before[0].changeTag == before[1].changeTag)
        #expect(try bed.shareID("s") == other.shareID("s"))
        try bed.exchange(with: other)
        for node in [bed, other] {
            let share = try node.fetch("s", by: owner).get()
            #expect(share.changeTag == before[0].changeTag)
            #expect(share.sharing == before[0].sharing)
        }
        #expect(try bed.accept("s", by: bob) == nil)
        try bed.exchange(with: other)
        for node in [bed, other] { #expect(try node.code("r", by: bob) == nil) }
        // Stopped at one node, it is stopped at both.
        try other.delete("s", by: owner)
        try bed.exchange(with: other)
        for node in [bed, other] { #expect(try node.code("r", by: bob) == .zoneNotFound) }
    }

    @Test func whoAcceptsTwiceIsInOnce() throws {
        try bed.shareZone(with: [bed.member(bob)])
        let other = try bed.copied(seed: 2)
        for node in [bed, other] { #expect(try node.accept(by: bob) == nil) }
        try bed.exchange(with: other)
        for node in [bed, other] {
            let sharing = try node.fetch(Names.zoneShare, by: owner).get().sharing
            #expect(sharing?.details.participants.count == 1)
        }
        try other.leave(by: bob)
        try bed.exchange(with: other)
        for node in [bed, other] { #expect(try node.code("r", by: bob) == .zoneNotFound) }
    }
}
