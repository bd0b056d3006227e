// Shares after nodes went back to a backup: what one node forgot it hears again from the others,
// and what all of them forgot is forgotten.

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

    /// 40 backup from before a revocation, one node.
    @Test func aNodeThatGoesBackHearsOfTheRemoval() throws {
        let other = try bed.copied(seed: 2)
        let backup = try other.store.backup()
        var device = ShareDevice(of: bob)
        try device.follow(other)
        try bed.set([])
        try bed.exchange(with: other)
        #expect(try other.code("a", by: bob) == .zoneNotFound)
        try other.store.restore(backup)
        // It can't know better, and a device goes on there.
        #expect(try other.code("a", by: bob) == nil)
        #expect(try other.save("late", by: bob) == nil)
        try device.follow(other)
        try bed.exchange(with: other)
        for node in [bed, other] {
            #expect(try node.code("a", by: bob) == .zoneNotFound)
            #expect(try node.save("later", by: bob) == .zoneNotFound)
            // What was allowed where it was made stands.
            #expect(try node.code("late", by: owner) == nil)
            #expect(try node.refusal { try device.follow(node) } == .zoneNotFound)
        }
    }

    /// 40 the same of all nodes: who was removed is in again, as the article Access says.
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
