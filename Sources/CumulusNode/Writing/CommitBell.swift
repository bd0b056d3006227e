// Wakes those who wait for news of a scope: something was committed there, look again.
//
// Rung by the writer after each batch, for the scopes that it changed. It carries nothing, so that
// a late or doubled ring is harmless and no backlog is in memory. A waiter holds a
// `BellWait`, so that one which has ended is not kept until the next ring. A waiter may name one
// database or zone of its scope, and sleeps while others change: very many may wait on a busy node.

import CumulusStorage
import Synchronization

final class CommitBell: Sendable {
    /// A part of a scope that a waiter wants news of.
    struct Place: Hashable, Sendable {
        var database: DatabaseNumber
        /// nil means any zone of the database.
        var zone: String?
    }

    fileprivate typealias Calls = [UInt64: @Sendable () -> Void]

    private struct State {
        /// How often it rang at all, for each scope, and for all at once.
        var count: UInt64 = 0
        var counts: [ScopeNumber: UInt64] = [:]
        var countOfAll: UInt64 = 0
        /// By what they wait for: one connection of a node waits for each of its scopes.
        var waiting: [ScopeNumber?: Calls] = [:]
        /// Those that wait for a part of a scope.
        var placed: [ScopeNumber: [Place: Calls]] = [:]
        var nextWaiter: UInt64 = 0

        func count(of scope: ScopeNumber?) -> UInt64 {
            scope.map { (counts[$0] ?? 0) + countOfAll } ?? count
        }

        mutating func enter(_ call: @escaping @Sendable () -> Void, _ key: Key) {
            if let scope = key.scope, let place = key.place {
                placed[scope, default: [:]][place, default: [:]][key.number] = call
            } else {
                waiting[key.scope, default: [:]][key.number] = call
            }
        }

        mutating func remove(_ key: Key) -> (@Sendable () -> Void)? {
            guard let scope = key.scope, let place = key.place else {
                defer { if waiting[key.scope]?.isEmpty == true { waiting[key.scope] = nil } }
                return waiting[key.scope]?.removeValue(forKey: key.number)
            }
            defer {
                if placed[scope]?[place]?.isEmpty == true { placed[scope]?[place] = nil }
                if placed[scope]?.isEmpty == true { placed[scope] = nil }
            }
            return placed[scope]?[place]?.removeValue(forKey: key.number)
        }

        /// Takes all who wait for these scopes, in the order in which they began to wait.
        ///
        /// - Parameter zones: Of those who wait for a part, only these; nil means all.
        mutating func take(
            _ scopes: some Sequence<ScopeNumber?>,
            in zones: Set<WriterState.TouchedZone>? = nil
        ) -> [@Sendable () -> Void] {
            var rung: [(number: UInt64, call: @Sendable () -> Void)] = []
            for scope in scopes {
                for (number, call) in waiting.removeValue(forKey: scope) ?? [:] {
                    rung.append((number, call))
                }
                guard let scope else { continue }
                for (number, call) in takePlaced(scope, in: zones) { rung.append((number, call)) }
            }
            return rung.sorted { $0.number < $1.number }.map(\.call)
        }

        private mutating func takePlaced(
            _ scope: ScopeNumber,
            in zones: Set<WriterState.TouchedZone>?
        ) -> Calls {
            guard var parts = placed.removeValue(forKey: scope) else { return [:] }
            guard let zones else { return parts.values.reduce(into: [:]) { $0.merge($1) { $1 } } }
            var taken: Calls = [:]
            for touched in zones {
                let database = Place(database: touched.database)
                let zone = Place(database: touched.database, zone: touched.zone)
                for place in [database, zone] {
                    taken.merge(parts.removeValue(forKey: place) ?? [:]) { $1 }
                }
            }
            if !parts.isEmpty { placed[scope] = parts }
            return taken
        }
    }

    /// What a waiter is entered under.
    fileprivate struct Key: Sendable {
        var number: UInt64
        var scope: ScopeNumber?
        var place: Place?
    }

    private let state = Mutex(State())

    /// How often it rang for a scope, nil means for any; to be read before the store is.
    func count(of scope: ScopeNumber?) -> UInt64 {
        state.withLock { $0.count(of: scope) }
    }

    /// How many wait now.
    var waiterCount: Int {
        state.withLock { state in
            let placed = state.placed.values.flatMap(\.values)
            return (state.waiting.values + placed).reduce(0) { $0 + $1.count }
        }
    }

    /// Returns nil if the bell has rung since `count`.
    fileprivate func add(
        _ call: @escaping @Sendable () -> Void,
        after count: UInt64,
        of scope: ScopeNumber?,
        in place: Place?
    ) -> Key? {
        state.withLock { state in
            guard state.count(of: scope) == count else { return nil }
            state.nextWaiter += 1
            let key = Key(number: state.nextWaiter, scope: scope, place: place)
            state.enter(call, key)
            return key
        }
    }

    fileprivate func remove(_ key: Key) {
        // What it holds is let go of outside the lock.
        _ = state.withLock { $0.remove(key) }
    }

    /// Something was committed in these scopes.
    ///
    /// - Parameter zones: Where in them; nil means anywhere.
    func ring(for scopes: [ScopeNumber], in zones: Set<WriterState.TouchedZone>? = nil) {
        let calls = state.withLock { state in
            state.count += 1
            for scope in scopes { state.counts[scope, default: 0] += 1 }
            return state.take(scopes.map(Optional.some) + [nil], in: zones)
        }
        for call in calls { call() }
    }

    /// Everybody is to look.
    func ringForAll() {
        let calls = state.withLock { state in
            state.count += 1
            state.countOfAll += 1
            return state.take(Set(state.waiting.keys).union(state.placed.keys.map { $0 }))
        }
        for call in calls { call() }
    }
}

/// One wait for the bell, as long as somebody holds it.
final class BellWait: Sendable {
    private let bell: CommitBell
    private let waiter = Mutex<CommitBell.Key?>(nil)

    init(_ bell: CommitBell) {
        self.bell = bell
    }

    deinit {
        if let key = waiter.withLock({ $0 }) { bell.remove(key) }
    }

    /// Calls once, after the next ring for the scope; at once if it rang since `count`.
    ///
    /// - Parameter place: Only rings for this part of the scope count; nil means all.
    func begin(
        after count: UInt64,
        of scope: ScopeNumber?,
        in place: CommitBell.Place? = nil,
        _ call: @escaping @Sendable () -> Void
    ) {
        guard let key = bell.add(call, after: count, of: scope, in: place) else { return call() }
        waiter.withLock { $0 = key }
    }
}
