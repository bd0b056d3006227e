// Who is woken by what: a ring is for some scopes, for all of them, or came too early to be waited
// for.

import CumulusStorage
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct CommitBellTests {
    private final class Calls: Sendable {
        private let names = Mutex<[String]>([])

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
        bell.wait(after: bell.count(of: scope), of: scope) { [calls] in calls.add(name) }
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
            bell.wait(after: count, of: scope) { [calls] in
                calls.add(scope.map { "\($0)" } ?? "any")
            }
        }
        #expect(calls.take() == ["1", "any"])
    }

    @Test func aRingForAllWakesEverybody() {
        let count = bell.count(of: 4)
        wait("one", of: 1)
        wait("any", of: nil)
        bell.ringForAll()
        #expect(calls.take() == ["one", "any"])
        bell.wait(after: count, of: 4) { [calls] in calls.add("late") }
        #expect(calls.take() == ["late"])
    }
}
