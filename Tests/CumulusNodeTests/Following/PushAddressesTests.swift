// What a node remembers of addresses between two readings: whose session is over, and for how long.

import CumulusModel
import CumulusNode
import Testing

@Suite struct PushAddressesTests {
    private func target(_ number: Int) -> PushAddresses.Target {
        PushAddresses.Target(
            .fcm(token: "device-\(number)"),
            of: "_u",
            in: ScopeID(container: "iCloud.dev.cumulus", environment: .development),
            session: Bytes(repeating: UInt8(number), count: 32),
            // Another node's clock may be anywhere.
            registered: .max
        )
    }

    private func read(
        _ known: PushAddresses,
        asleep: Int...,
        now: Int64
    ) -> PushAddresses {
        known.followed(
            by: [target(0)],
            over: [],
            asleep: Set(asleep.map(target)),
            [1, 2],
            now: now
        )
    }

    /// An address that comes before its session is looked at again for a while, counted from when
    /// this node first saw it.
    @Test func anAddressWithoutASessionIsWaitedFor() {
        var known = read(PushAddresses(), asleep: 1, now: 1_000)
        #expect(!known.isComplete && known.reads == 1 && known.targets == [target(0)])
        known = read(known, asleep: 1, now: 1_000 + PushAddresses.patience - 1)
        #expect(!known.isComplete)
        known = read(known, asleep: 1, now: 1_000 + PushAddresses.patience)
        #expect(known.isComplete && known.holds([1, 2], now: 1_000 + PushAddresses.patience))
        #expect(!known.holds([1, 3], now: 1_000 + PushAddresses.patience))
        // A later one has its own time.
        known = read(known, asleep: 1, 2, now: 400_000)
        #expect(!known.isComplete && known.reads == 4)
    }

    @Test func theAddressOfASessionThatIsOverEnds() {
        var known = read(PushAddresses(), asleep: 1, now: 0)
        known = read(known, asleep: 1, 2, now: PushAddresses.kept - 1)
        #expect(known.over.isEmpty)
        known = read(known, asleep: 1, 2, now: PushAddresses.kept)
        #expect(known.over == [target(1)])
        // One whose session was made longer begins anew.
        known = read(known, now: PushAddresses.kept + 1)
        known = read(known, asleep: 2, now: PushAddresses.kept + 2)
        #expect(known.over.isEmpty)
    }

    /// Sessions expire without a word, so that addresses are read again now and then.
    @Test func whatWasReadGetsOld() {
        let known = read(PushAddresses(), now: 0)
        #expect(known.holds([1, 2], now: 599_999) && !known.holds([1, 2], now: 600_000))
        var expired = known
        expired.expire()
        #expect(!expired.holds([1, 2], now: 0) && !expired.isComplete)
    }
}
