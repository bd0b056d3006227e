// Wakes those who wait for news of a scope: something was committed there, look again.
//
// Rung by the writer after each batch, for the scopes that it changed. It carries nothing, so that
// a late or doubled ring is harmless and no backlog is in memory. A waiter holds a
// `BellWait`, so that one which has ended is not kept until the next ring.

import CumulusStorage
import Synchronization

final class CommitBell: Sendable {
    private struct State {
        /// How often it rang at all, for each scope, and for all at once.
        var count: UInt64 = 0
        var counts: [ScopeNumber: UInt64] = [:]
        var countOfAll: UInt64 = 0
        /// By what they wait for: one connection of a node waits for each of its scopes.
        var waiting: [ScopeNumber?: [UInt64: @Sendable () -> Void]] = [:]
        var nextWaiter: UInt64 = 0

        func count(of scope: ScopeNumber?) -> UInt64 {
            scope.map { (counts[$0] ?? 0) + countOfAll } ?? count
        }

        /// In the order in which they began to wait.
        mutating func take(_ scopes: some Sequence<ScopeNumber?>) -> [@Sendable () -> Void] {
            let rung = scopes.flatMap { waiting.removeValue(forKey: $0) ?? [:] }
            return rung.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private let state = Mutex(State())

    /// How often it rang for a scope, nil means for any; to be read before the store is.
    func count(of scope: ScopeNumber?) -> UInt64 {
        state.withLock { $0.count(of: scope) }
    }

    /// How many wait now.
    var waiterCount: Int {
        state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } }
    }

    /// Returns nil if the bell has rung since `count`.
    fileprivate func add(
        _ call: @escaping @Sendable () -> Void,
        after count: UInt64,
        of scope: ScopeNumber?
    ) -> UInt64? {
        state.withLock { state in
            guard state.count(of: scope) == count else { return nil }
            state.nextWaiter += 1
            state.waiting[scope, default: [:]][state.nextWaiter] = call
            return state.nextWaiter
        }
    }

    fileprivate func remove(_ waiter: UInt64, of scope: ScopeNumber?) {
        // What it holds is let go of outside the lock.
        _ = state.withLock { state in
            defer { if state.waiting[scope]?.isEmpty == true { state.waiting[scope] = nil } }
            return state.waiting[scope]?.removeValue(forKey: waiter)
        }
    }

    /// Something was committed in these scopes.
    func ring(for scopes: [ScopeNumber]) {
        let calls = state.withLock { state in
            state.count += 1
            for scope in scopes { state.counts[scope, default: 0] += 1 }
            return state.take(scopes.map(Optional.some) + [nil])
        }
        for call in calls { call() }
    }

    /// Everybody is to look.
    func ringForAll() {
        let calls = state.withLock { state in
            state.count += 1
            state.countOfAll += 1
            return state.take(Array(state.waiting.keys))
        }
        for call in calls { call() }
    }
}

/// One wait for the bell, as long as somebody holds it.
final class BellWait: Sendable {
    private let bell: CommitBell
    private let waiter = Mutex<(number: UInt64, scope: ScopeNumber?)?>(nil)

    init(_ bell: CommitBell) {
        self.bell = bell
    }

    deinit {
        if let waiter = waiter.withLock({ $0 }) { bell.remove(waiter.number, of: waiter.scope) }
    }

    /// Calls once, after the next ring for the scope; at once if it rang since `count`.
    func begin(
        after count: UInt64,
        of scope: ScopeNumber?,
        _ call: @escaping @Sendable () -> Void
    ) {
        guard let number = bell.add(call, after: count, of: scope) else { return call() }
        waiter.withLock { $0 = (number, scope) }
    }
}
