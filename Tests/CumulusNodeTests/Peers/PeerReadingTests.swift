// The reader of a peer's answer may give up at any time; the peer is told.

import Synchronization
import Testing

@testable import CumulusNode

@Suite struct PeerReadingTests {
    private final class Count: Sendable {
        let value = Atomic<Int>(0)
    }

    private func giveUp(_ reading: PeerReading) async {
        await #expect(throws: (any Error).self) {
            try await reading.forEach(patience: { 0 }, sleep: { _ in }, { _ in })
        }
    }

    @Test func aReaderThatGivesUpIsAbandoned() async {
        let (reading, count) = (PeerReading(), Count())
        reading.begin(grant: { _ in }, abandon: { count.value.add(1, ordering: .relaxed) })
        await giveUp(reading)
        #expect(count.value.load(ordering: .relaxed) > 0)
    }

    /// The connection gets to it only then.
    @Test func aReaderThatGaveUpBeforeIsAbandonedToo() async {
        let (reading, count) = (PeerReading(), Count())
        await giveUp(reading)
        reading.begin(grant: { _ in }, abandon: { count.value.add(1, ordering: .relaxed) })
        #expect(count.value.load(ordering: .relaxed) == 1)
    }
}
