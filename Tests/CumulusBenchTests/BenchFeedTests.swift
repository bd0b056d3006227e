// What the path `feed` of the bench counts: pages, and when as much was told as is awaited.

import CumulusModel
import CumulusWire
import Testing

@testable import CumulusBench

@Suite struct BenchFeedTests {
    @Test func aPageIsCountedAsItIsRead() throws {
        let bytes = FeedPage(
            notifications: [[8, 1], [], [18, 1, 7]],
            token: [1, 2, 3],
            isCheckpoint: true,
            reset: nil
        ).encoded()
        let page = try BenchPage(wire: bytes)
        #expect(page.notifications == 3)
        #expect(page.token == [1, 2, 3])
        #expect(page.isCheckpoint && !page.isReset)
        let reset = FeedPage(
            notifications: [],
            token: [],
            isCheckpoint: false,
            reset: .all
        ).encoded()
        let second = try BenchPage(wire: reset)
        #expect(second.isReset && !second.isCheckpoint && second.notifications == 0)
        #expect(throws: MalformedBytes.self) { try BenchPage(wire: Array(bytes.dropLast(4))) }
    }

    @Test func theMomentIsThatOfTheLastNotification() async throws {
        let tally = BenchTally()
        tally.add(notifications: 5, bytes: 50)
        tally.expect(3)
        tally.add(notifications: 2, bytes: 20)
        let before = BenchTally.now()
        tally.add(notifications: 1, bytes: 10)
        let after = BenchTally.now()
        // Later notifications do not move it.
        tally.add(notifications: 1, bytes: 10)
        let reached = try await tally.reached()
        #expect((before...after).contains(reached))
        #expect(tally.current.notifications == 9 && tally.current.bytes == 90)
    }

    @Test func aFollowerThatEndsEndsTheWait() async throws {
        let tally = BenchTally()
        #expect(try await !tally.settle(seconds: 0) { $0.upToDate == 1 })
        tally.fail("first")
        tally.fail("second")
        tally.expect(1)
        let problem = await #expect(throws: BenchProblem.self) { _ = try await tally.reached() }
        #expect(problem?.message == "a follower has ended: first")
    }
}
