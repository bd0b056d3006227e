// Shares after nodes were restored from a backup: what one node forgot it hears again from the
// others, and what all of them forgot is lost.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SharedBackupTests: ShareTesting {
    let bed: ShareTestBed

    init() throws {
        bed = try ShareTestBed()
        try bed.save("a", by: owner)
        try bed.shareZoneAccepted(with: [bed.member(bob)], by: bob)
    }

    /// Case 40: one node is restored from a backup before a revocation.
    @Test func aNodeThatGoesBackHearsOfTheRemoval() throws {
        let other = try bed.copied(seed: 2)
        let backup = try other.store.backup()
        var device = ShareDevice(of: bob)
        try device.follow(other)
        try bed.set([])
        try bed.exchange(with: other)
        #expect(try other.code("a", by: bob) == .zoneNotFound)
        try other.store.restore(backup)
        // The node can't know better, and a device goes on there.
        #expect(try other.code("a", by: bob) == nil)
        #expect(try other.save("late", by: bob) == nil)
        try device.follow(other)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.code("a", by: bob) == .zoneNotFound)
            #expect(try node.save("later", by: bob) == .zoneNotFound)
            // A save stays that was allowed where it was made.
            #expect(try node.code("late", by: owner) == nil)
            #expect(try node.refusal { try device.follow(node) } == .zoneNotFound)
        }
    }

    /// Case 40: all nodes are restored, so the removed user has access again, as the article
    /// Sharing says.
    @Test func allNodesGoBack() throws {
        let backup = try bed.store.backup()
        try bed.set([])
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
        try bed.store.restore(backup)
        #expect(try bed.code("a", by: bob) == nil)
        #expect(try bed.set([]) == nil)
        #expect(try bed.code("a", by: bob) == .zoneNotFound)
    }
}
