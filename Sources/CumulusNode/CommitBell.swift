// Wakes who waits for news of a scope: something was committed there, look again.
//
// Rung by the writer after each batch, for the scopes that it changed. It carries nothing, so that
// a late or doubled ring is harmless and nobody's backlog is in memory.

import CumulusStorage
import Synchronization

final class CommitBell: Sendable {
    private struct State {
        /// How often it rang at all, for each scope, and for all at once.
        var count: UInt64 = 0
        var counts: [ScopeNumber: UInt64] = [:]
        var countOfAll: UInt64 = 0
        var waiting: [(scope: ScopeNumber?, call: @Sendable () -> Void)] = []

        func count(of scope: ScopeNumber?) -> UInt64 {
            scope.map { (counts[$0] ?? 0) + countOfAll } ?? count
        }

        mutating func take(_ isRung: (ScopeNumber?) -> Bool) -> [@Sendable () -> Void] {
            defer { waiting.removeAll { isRung($0.scope) } }
            return waiting.filter { isRung($0.scope) }.map(\.call)
        }
    }

    private let state = Mutex(State())

    /// How often it rang for a scope, nil: for any; to be read before the store is.
    func count(of scope: ScopeNumber?) -> UInt64 {
        state.withLock { $0.count(of: scope) }
    }

    /// Calls once, after the next ring for the scope; at once if it rang since `count`.
    func wait(
        after count: UInt64,
        of scope: ScopeNumber?,
        _ call: @escaping @Sendable () -> Void
    ) {
        let isLate = state.withLock { state in
            guard state.count(of: scope) == count else { return true }
            state.waiting.append((scope, call))
            return false
        }
        if isLate { call() }
    }

    /// Something was committed in these scopes.
    func ring(for scopes: [ScopeNumber]) {
        let calls = state.withLock { state in
            state.count += 1
            for scope in scopes { state.counts[scope, default: 0] += 1 }
            return state.take { $0.map { scopes.contains($0) } ?? true }
        }
        for call in calls { call() }
    }

    /// Everybody is to look.
    func ringForAll() {
        let calls = state.withLock { state in
            state.count += 1
            state.countOfAll += 1
            return state.take { _ in true }
        }
        for call in calls { call() }
    }
}
