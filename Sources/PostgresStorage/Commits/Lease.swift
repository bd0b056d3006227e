// What a process knows of its term without asking: when the database last said that it goes on.
//
// Shared by `PostgresStore`, `CommitWriter` and `TermKeeper`. An answer that shows the process's
// row alive counts from the moment at which it was asked for, by the process's own clock, which
// goes on while the machine sleeps. A start that fenced a process off serves nothing before `rest`
// is over. So while a lease holds, nobody else has answered anything from this store, and what the
// process has in memory is the newest state. No clock is compared with another one; the two need
// only run about equally fast.

import Synchronization

final class Lease: Sendable {
    typealias Moment = ContinuousClock.Instant

    /// How long an answer of the database counts.
    static let length = Duration.milliseconds(500)
    /// How long a start waits after it fenced another process off.
    static let rest = Duration.milliseconds(600)

    private struct State {
        /// When the last good answer was asked for.
        var proof: Moment
        var isLost = false
    }

    private let state: Mutex<State>

    /// - Parameter proof: A moment before the term began.
    init(_ proof: Moment) {
        state = Mutex(State(proof: proof))
    }

    /// The database said that the term goes on.
    ///
    /// - Parameter asked: A moment before it was asked.
    func prove(_ asked: Moment) {
        state.withLock { $0.proof = max($0.proof, asked) }
    }

    /// The database said that the term is over.
    func lose() {
        state.withLock { $0.isLost = true }
    }

    var isLost: Bool { state.withLock { $0.isLost } }

    /// When the last good answer was asked for.
    var proof: Moment { state.withLock { $0.proof } }

    /// Whether the last good answer is so new that no other one is needed soon.
    var isFresh: Bool {
        state.withLock { !$0.isLost && .now - $0.proof < Lease.length / 4 }
    }

    /// Whether nobody else can have served from this store by now.
    func holds(at now: Moment = .now) -> Bool {
        state.withLock { !$0.isLost && now - $0.proof < Lease.length }
    }
}
