// Requests about shares that two nodes carry out, because the answer of the first one was lost, and
// what both nodes hold once they know of each other.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RepeatedShareTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    /// Runs one request at both nodes, which don't know of each other; their clocks differ.
    private func saveTwice(_ root: SaveItem, _ policy: SavePolicy, _ other: ShareTestBed) throws {
        other.store.now += 10
        let parts = WantedShare(root: "r", publicPermission: .none, members: [bed.member(bob)])
        let items = [root, bed.shareItem("s", parts, by: owner)]
        let modify = ModifyRecords(database: .private, policy: policy, saves: items)
        let request = bed.store.request(modify, by: owner)
        for node in [bed, other] { _ = try node.store.run(request).get() }
    }

    @Test func aShareOfANewRootWithACounterHasOneURL() throws {
        let other = try bed.copied(seed: 2)
        let root = SaveItem("r", in: bed.zone(of: owner), increments: ["n": 1])
        try saveTwice(root, .ifUnchanged, other)
        #expect(try bed.shareID("s") == other.shareID("s"))
        try bed.exchange(with: other)
        #expect(try bed.accept("s", by: bob) == nil)
    }

    /// A counter that begins again has the key of the one before it, but nobody shared it.
    @Test func aCounterThatBeginsAnewIsNotShared() throws {
        let counter = SaveItem("r", in: bed.zone(of: owner), increments: ["n": 1])
        try bed.save([counter], by: owner)
        let other = try bed.copied(seed: 2)
        let parts = WantedShare(root: "r", publicPermission: .none, members: [bed.member(bob)])
        let share = bed.shareItem("s", parts, by: owner)
        #expect(try bed.save([counter, share], by: owner) == nil)
        #expect(try bed.accept("s", by: bob) == nil)
        try other.delete("r", by: owner)
        #expect(try other.save([counter], by: owner) == nil)
        try bed.exchange(with: other)
        let states = try [bed, other].map {
            try ReplicatedState.rows(of: $0.store.scope, in: $0.store.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
        for node in [bed, other] {
            #expect(try node.code("r", by: owner) == nil)
            #expect(try node.code("r", by: bob) == .zoneNotFound)
        }
    }

    /// Root and share are one life each, with one URL, and with the tag that both nodes gave.
    @Test func aShareHasOneURL() throws {
        let other = try bed.copied(seed: 2)
        try saveTwice(bed.item("r", by: owner), .changedKeys, other)
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
        // A share that is stopped at one node is stopped at both.
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
