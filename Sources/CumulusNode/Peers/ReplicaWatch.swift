// Tracks what other nodes durably hold of each scope, and the calls that wait for it.
//
// The reports of peers feed it; sessions ask it whose callers want more than one copy before they
// are answered. It is in memory only, because peers report again to a new run. While a caller
// waits, peers are asked to report as soon as they hold what they are sent.

import CumulusModel
import Synchronization

final class ReplicaWatch: Sendable {
    fileprivate struct Waiter {
        let needed: VersionVector
        let copies: Int
        let tell: @Sendable () -> Void
    }

    private struct Scope {
        /// Vectors by node id.
        var reported: [Bytes: VersionVector] = [:]
        var waiters: [UInt64: Waiter] = [:]
        /// Calls that wait, or will when their change is made.
        var calls = 0
        /// How often peers were to be asked without news for them.
        var asks: UInt64 = 0

        func holders(of needed: VersionVector) -> [Bytes] {
            reported.filter { $0.value.covers(needed) }.map(\.key)
        }
    }

    private struct State {
        var scopes: [ScopeID: Scope] = [:]
        /// Nodes that were taken off the list, for ever.
        var removed: Set<Bytes> = []
        var nextWaiter: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Whether peers are to report at once.
    func isWanted(_ scope: ScopeID) -> Bool {
        state.withLock { ($0.scopes[scope]?.calls ?? 0) > 0 }
    }

    /// Peers are to report though there is nothing new for them.
    func ask(_ scope: ScopeID) {
        state.withLock { $0.scopes[scope, default: Scope()].asks += 1 }
    }

    /// How often they were to so far.
    func asks(_ scope: ScopeID) -> UInt64 {
        state.withLock { $0.scopes[scope]?.asks ?? 0 }
    }

    /// Drops the reports of a node that begins to report anew.
    func forget(_ nodeID: Bytes) {
        state.withLock { state in
            for scope in state.scopes.keys { state.scopes[scope]?.reported[nodeID] = nil }
        }
    }

    /// Drops the reports of nodes that were removed from the list of members.
    func remove(_ nodeIDs: [Bytes]) {
        state.withLock { $0.removed.formUnion(nodeIDs) }
        for nodeID in nodeIDs { forget(nodeID) }
    }

    /// A node holds a scope as far as that; reports of one connection may overtake each other.
    func note(_ vector: VersionVector, of nodeID: Bytes, _ scope: ScopeID) {
        let served = state.withLock { state in
            if state.removed.contains(nodeID) { return [Waiter]() }
            state.scopes[scope, default: Scope()]
                .reported[nodeID, default: VersionVector()].merge(vector)
            guard let scope = state.scopes[scope] else { return [Waiter]() }
            return scope.waiters.sorted { $0.key < $1.key }.map(\.value)
                .filter { scope.holders(of: $0.needed).count >= $0.copies }
        }
        for waiter in served { waiter.tell() }
    }

    /// Nodes that hold all of it.
    func holders(of needed: VersionVector, _ scope: ScopeID) -> [Bytes] {
        state.withLock { $0.scopes[scope]?.holders(of: needed) ?? [] }
    }

    fileprivate func begin(_ scope: ScopeID) {
        state.withLock { $0.scopes[scope, default: Scope()].calls += 1 }
    }

    fileprivate func end(_ scope: ScopeID, _ waiter: UInt64?) {
        state.withLock { state in
            state.scopes[scope]?.calls -= 1
            if let waiter { state.scopes[scope]?.waiters[waiter] = nil }
        }
    }

    fileprivate func add(_ waiter: Waiter, _ scope: ScopeID) -> UInt64 {
        state.withLock { state in
            state.nextWaiter += 1
            state.scopes[scope, default: Scope()].waiters[state.nextWaiter] = waiter
            return state.nextWaiter
        }
    }
}

/// One call's wait: from before its change is made until it is answered or given up.
final class ReplicaWait: Sendable {
    let scope: ScopeID
    /// How many other nodes are to hold the change.
    let copies: Int
    private let watch: ReplicaWatch
    private let waiter = Mutex<UInt64?>(nil)

    init(_ watch: ReplicaWatch, _ scope: ScopeID, copies: Int) {
        self.watch = watch
        self.scope = scope
        self.copies = copies
        watch.begin(scope)
    }

    deinit {
        watch.end(scope, waiter.withLock { $0 })
    }

    func holders(of needed: VersionVector) -> [Bytes] {
        watch.holders(of: needed, scope)
    }

    /// Calls, now and then more than once, when enough nodes hold it.
    func begin(for needed: VersionVector, _ tell: @escaping @Sendable () -> Void) {
        let waiter = ReplicaWatch.Waiter(needed: needed, copies: copies, tell: tell)
        let number = watch.add(waiter, scope)
        self.waiter.withLock { $0 = number }
        // They may have reported just before.
        if holders(of: needed).count >= copies { tell() }
    }
}
