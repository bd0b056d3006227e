// The waiters that a ring wakes: a ring is for some scopes, for all of them, or came too early to
// be waited for; waiters that are gone are not woken.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct CommitBellTests {
    private final class Calls: Sendable {
        private let names = Mutex<[String]>([])
        private let waits = Mutex<[BellWait]>([])

        func keep(_ wait: BellWait) { waits.withLock { $0.append(wait) } }

        func add(_ name: String) { names.withLock { $0.append(name) } }

        func take() -> [String] {
            names.withLock { names in
                defer { names = [] }
                return names
            }
        }
    }

    private let bell = CommitBell()
    private let calls = Calls()

    private func wait(_ name: String, of scope: ScopeNumber?) {
        wait(name, after: bell.count(of: scope), of: scope)
    }

    private func wait(
        _ name: String,
        after count: UInt64,
        of scope: ScopeNumber?,
        in places: [NewsPlace]? = nil
    ) {
        let wait = BellWait(bell)
        calls.keep(wait)
        wait.begin(after: count, of: scope, in: places) { [calls] in calls.add(name) }
    }

    private func wait(
        _ name: String,
        of scope: ScopeNumber,
        in place: NewsPlace,
        _ others: NewsPlace...
    ) {
        wait(name, after: bell.count(of: scope), of: scope, in: [place] + others)
    }

    @Test func aRingWakesThoseWhoWaitForItsScopes() {
        wait("one", of: 1)
        wait("two", of: 2)
        wait("any", of: nil)
        bell.ring(for: [1, 3])
        #expect(calls.take() == ["one", "any"])
        bell.ring(for: [1])
        #expect(calls.take() == [])
        bell.ring(for: [2])
        #expect(calls.take() == ["two"])
    }

    @Test func whoCountedBeforeARingIsNotTooLate() {
        let counts = [1, 2, nil].map { bell.count(of: $0) }
        bell.ring(for: [1])
        for (scope, count) in zip([1, 2, nil] as [ScopeNumber?], counts) {
            wait(scope.map { "\($0)" } ?? "any", after: count, of: scope)
        }
        #expect(calls.take() == ["1", "any"])
    }

    @Test func aRingForAllWakesEverybody() {
        let count = bell.count(of: 4)
        wait("one", of: 1)
        wait("any", of: nil)
        bell.ringForAll()
        #expect(calls.take() == ["one", "any"])
        wait("late", after: count, of: 4)
        #expect(calls.take() == ["late"])
    }

    /// A ring wakes only the waiters for the parts of a scope that it concerns.
    @Test func aRingForZonesWakesThoseWhoWaitForThem() {
        wait("zone a", of: 1, in: .zone(7, "a"))
        wait("zone b", of: 1, in: .zone(7, "b"))
        wait("database 7", of: 1, in: .database(7))
        wait("database 8", of: 1, in: .database(8))
        wait("scope", of: 1)
        bell.ring(for: [1], in: [.zone(7, "a"), .database(7)])
        #expect(calls.take() == ["zone a", "database 7", "scope"])
        bell.ring(for: [2], in: [.zone(7, "b")])
        #expect(calls.take() == [])
        bell.ring(for: [1])
        #expect(calls.take() == ["zone b", "database 8"])
        wait("again", of: 1, in: .zone(7, "a"))
        bell.ringForAll()
        #expect(calls.take() == ["again"])
        #expect(bell.waiterCount == 0)
    }

    /// Whichever part rings first, the wait is over for all of them.
    @Test func whoWaitsForSeveralPartsIsWokenOnce() {
        wait("feed", of: 1, in: .topic(1), .topic(2), .subscriptions(of: "_ada"))
        bell.ring(for: [1], in: [.topic(3)])
        #expect(calls.take() == [])
        bell.ring(for: [1], in: [.topic(2)])
        #expect(calls.take() == ["feed"])
        bell.ring(for: [1], in: [.topic(1), .subscriptions(of: "_ada")])
        #expect(calls.take() == [])
    }

    /// A ring between the count and the wait may have been for the part: look again.
    @Test func whoWaitsForAPartIsNotTooLate() {
        let count = bell.count(of: 1)
        bell.ring(for: [1], in: [.zone(7, "a")])
        wait("late", after: count, of: 1, in: [.zone(7, "b")])
        #expect(calls.take() == ["late"])
    }

    @Test func whoIsGoneIsForgotten() {
        for _ in 0..<100 {
            let wait = BellWait(bell)
            wait.begin(after: bell.count(of: 1), of: 1) { [calls] in calls.add("gone") }
        }
        for _ in 0..<100 {
            let wait = BellWait(bell)
            let places: [NewsPlace] = [.zone(7, "a"), .topic(3)]
            wait.begin(after: bell.count(of: 1), of: 1, in: places) { [calls] in calls.add("gone") }
        }
        #expect(bell.waiterCount == 0)
        wait("here", of: 1)
        #expect(bell.waiterCount == 1)
        bell.ring(for: [1])
        #expect(calls.take() == ["here"])
        #expect(bell.waiterCount == 0)
    }

    /// However quiet the node is.
    @Test func pullsThatEndLeaveNothing() async throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        let donor = try await TestServer(clusterKey: key)
        let reader = try await TestServer(clusterKey: key)
        let bell = donor.node.gate.bell
        reader.follow([donor])
        #expect(try await eventually { bell.waiterCount > 0 })
        await reader.unfollow()
        #expect(try await eventually { bell.waiterCount == 0 })
        try await reader.stop()
        try await donor.stop()
    }
}
