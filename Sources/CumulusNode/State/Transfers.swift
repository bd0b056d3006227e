// Tracks the scopes in which this node collects, and the scope whose state it takes from another
// node: one activity at a time in each scope, and one state at a time. It also keeps the progress
// of a state whose connection broke.
//
// Asked by the collectors, the schema's keeper and the connections to peers. An interrupted state
// stays claimed: what it has staged may not be collected. It waits for its donor, gives way to
// another donor or scope after a while, and is given up after a longer one. All of it is in memory:
// the next process begins anew.

import CumulusModel
import CumulusReplication
import CumulusWire
import Synchronization

/// The progress of taking a donor's state.
struct StateProgress: Sendable {
    let scope: ScopeID
    /// The id of the node that sends its state.
    let donor: Bytes
    /// The donor's name for its snapshot; empty if it named none.
    var snapshot: Bytes = []
    var offer = StateOffer()
    /// nil: the offer is not complete.
    var intake: StateIntake?
    var recordCount = 0
    let began: Instant

    /// - Parameter base: How far this node has read.
    init(of scope: ScopeID, from donor: Bytes, base: VersionVector, began: Instant) {
        self.scope = scope
        self.donor = donor
        self.began = began
        offer.base = base
    }

    var position: StatePosition {
        intake?.position ?? StatePosition(parts: offer.partCount)
    }
}

/// A state whose taking broke off; what has come of it is staged in the store.
struct InterruptedState: Sendable {
    let progress: StateProgress
    /// nil: the offer is not complete.
    let sync: StateSync?
    let since: Instant
}

final class Transfers: Sendable {
    private struct State {
        /// Scopes that nothing else may collect or take.
        var scopes: Set<ScopeID> = []
        /// The scope whose state is being taken from another node.
        var taken: ScopeID?
        /// The progress, if no connection continues it now.
        var interrupted: InterruptedState?

        mutating func end(_ scope: ScopeID) {
            scopes.remove(scope)
            guard taken == scope else { return }
            (taken, interrupted) = (nil, nil)
        }

        /// Drops interrupted progress; the next sync of the scope, or the collector, drops the
        /// staged rows.
        mutating func giveUp(interruptedBefore limit: Instant) {
            guard let interrupted, interrupted.since <= limit else { return }
            end(interrupted.progress.scope)
        }
    }

    private let state = Mutex(State())

    /// How long an interrupted state keeps others from being taken.
    static let patience: Int64 = 10_000

    /// Whether this node may collect in a scope, where no state is taken meanwhile.
    func begin(in scope: ScopeID) -> Bool {
        state.withLock { $0.scopes.insert(scope).inserted }
    }

    /// Whether this node may take another one's state of a scope.
    ///
    /// It takes one scope at a time, since offers are in memory.
    func beginState(of scope: ScopeID, now: Instant) -> Bool {
        state.withLock { state in
            state.giveUp(interruptedBefore: now + -Transfers.patience)
            guard state.taken == nil, state.scopes.insert(scope).inserted else { return false }
            state.taken = scope
            return true
        }
    }

    func end(in scope: ScopeID) {
        state.withLock { $0.end(scope) }
    }

    /// Keeps what has come; its scope stays claimed.
    func keep(_ interrupted: InterruptedState) {
        state.withLock { $0.interrupted = interrupted }
    }

    /// The progress of a donor's state, to continue it; nil if there is none.
    func goOn(in scope: ScopeID, from donor: Bytes) -> InterruptedState? {
        state.withLock { state in
            guard let progress = state.interrupted?.progress, progress.scope == scope,
                progress.donor == donor
            else { return nil }
            defer { state.interrupted = nil }
            return state.interrupted
        }
    }

    /// Gives up what was interrupted before then.
    func giveUp(interruptedBefore limit: Instant) {
        state.withLock { $0.giveUp(interruptedBefore: limit) }
    }
}

extension Node {
    func beginTransfer(of scope: ScopeID) -> Bool { transfers.begin(in: scope) }

    func beginState(of scope: ScopeID) -> Bool {
        transfers.beginState(of: scope, now: environment.now())
    }

    func endTransfer(of scope: ScopeID) { transfers.end(in: scope) }

    /// Gives up abandoned states, on both sides.
    func dropOldStates() {
        let limit = environment.now() + -configuration.limits.stalledStateMilliseconds
        transfers.giveUp(interruptedBefore: limit)
        handedStates.drop(unusedSince: limit)
    }
}
