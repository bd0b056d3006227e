// Wakes streams and calls that wait for news of a scope after a commit.
//
// Rung by the writer after each batch, for the scopes that it changed. It carries nothing, so that
// a late or doubled ring is harmless and no backlog is in memory. A waiter holds a
// `BellWait`, so that one which has ended is not kept until the next ring. A waiter may name parts
// of its scope, and sleeps while others change: very many may wait on a busy node.

import CumulusStorage
import Synchronization

final class CommitBell: Sendable {
    private struct Waiter {
        let call: @Sendable () -> Void
        let scope: ScopeNumber?
        /// The parts of the scope that it waits for; nil means all of it.
        let places: [NewsPlace]?
    }

    private struct State {
        /// How often it rang at all, for each scope, and for all at once.
        var count: UInt64 = 0
        var counts: [ScopeNumber: UInt64] = [:]
        var countOfAll: UInt64 = 0
        /// Waiters by number, in the order in which they began to wait.
        private(set) var waiters: [UInt64: Waiter] = [:]
        private var lastNumber: UInt64 = 0
        /// Waiters for any news of a scope, or of all scopes.
        private var whole: [ScopeNumber?: Set<UInt64>] = [:]
        /// Waiters for a part of a scope.
        private var placed: [ScopeNumber: [NewsPlace: Set<UInt64>]] = [:]

        func count(of scope: ScopeNumber?) -> UInt64 {
            scope.map { (counts[$0] ?? 0) + countOfAll } ?? count
        }

        mutating func enter(_ waiter: Waiter) -> UInt64 {
            lastNumber += 1
            waiters[lastNumber] = waiter
            if let scope = waiter.scope, let places = waiter.places {
                for place in places {
                    placed[scope, default: [:]][place, default: []].insert(lastNumber)
                }
            } else {
                whole[waiter.scope, default: []].insert(lastNumber)
            }
            return lastNumber
        }

        mutating func remove(_ number: UInt64) -> Waiter? {
            guard let waiter = waiters.removeValue(forKey: number) else { return nil }
            guard let scope = waiter.scope, let places = waiter.places else {
                whole[waiter.scope]?.remove(number)
                if whole[waiter.scope]?.isEmpty == true { whole[waiter.scope] = nil }
                return waiter
            }
            for place in places {
                placed[scope]?[place]?.remove(number)
                if placed[scope]?[place]?.isEmpty == true { placed[scope]?[place] = nil }
            }
            if placed[scope]?.isEmpty == true { placed[scope] = nil }
            return waiter
        }

        mutating func take(_ numbers: Set<UInt64>) -> [@Sendable () -> Void] {
            numbers.sorted().compactMap { remove($0)?.call }
        }

        /// The waiters for a scope, with the waiters for these parts of it; nil means all parts.
        func numbers(of scope: ScopeNumber, in news: Set<NewsPlace>?) -> Set<UInt64> {
            var found = whole[scope] ?? []
            guard let parts = placed[scope] else { return found }
            if let news {
                for place in news { if let part = parts[place] { found.formUnion(part) } }
            } else {
                for part in parts.values { found.formUnion(part) }
            }
            return found
        }

        /// The waiters for any scope.
        var anywhere: Set<UInt64> { whole[nil] ?? [] }
    }

    private let state = Mutex(State())

    /// How often it rang for a scope, nil means for any; to be read before the store is.
    func count(of scope: ScopeNumber?) -> UInt64 {
        state.withLock { $0.count(of: scope) }
    }

    /// How many wait now.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Returns nil if the bell has rung since `count`.
    fileprivate func add(
        _ call: @escaping @Sendable () -> Void,
        after count: UInt64,
        of scope: ScopeNumber?,
        in places: [NewsPlace]?
    ) -> UInt64? {
        state.withLock { state in
            guard state.count(of: scope) == count else { return nil }
            return state.enter(Waiter(call: call, scope: scope, places: places))
        }
    }

    fileprivate func remove(_ number: UInt64) {
        // The waiter is released outside the lock.
        _ = state.withLock { $0.remove(number) }
    }

    /// Something was committed in these scopes.
    ///
    /// - Parameter news: Where in them; nil means anywhere.
    func ring(for scopes: [ScopeNumber], in news: Set<NewsPlace>? = nil) {
        let calls = state.withLock { state in
            state.count += 1
            var numbers = state.anywhere
            for scope in scopes {
                state.counts[scope, default: 0] += 1
                numbers.formUnion(state.numbers(of: scope, in: news))
            }
            return state.take(numbers)
        }
        for call in calls { call() }
    }

    /// Wakes all waiters.
    func ringForAll() {
        let calls = state.withLock { state in
            state.count += 1
            state.countOfAll += 1
            return state.take(Set(state.waiters.keys))
        }
        for call in calls { call() }
    }
}

/// One wait for the bell, as long as it is referenced.
final class BellWait: Sendable {
    private let bell: CommitBell
    private let waiter = Mutex<UInt64?>(nil)

    init(_ bell: CommitBell) {
        self.bell = bell
    }

    deinit {
        if let number = waiter.withLock({ $0 }) { bell.remove(number) }
    }

    /// Calls once after the next ring for the scope, or at once if it has rung since `count`.
    ///
    /// - Parameter places: Only rings for these parts of the scope count; nil means all.
    func begin(
        after count: UInt64,
        of scope: ScopeNumber?,
        in places: [NewsPlace]? = nil,
        _ call: @escaping @Sendable () -> Void
    ) {
        guard let number = bell.add(call, after: count, of: scope, in: places) else {
            return call()
        }
        waiter.withLock { $0 = number }
    }
}
