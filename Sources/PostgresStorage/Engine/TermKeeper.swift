// Gives a sign of life several times a second, so that a start of another process finds this one
// alive, and this one knows that its term goes on, or finds out that it is over.
//
// Owned by `PostgresEngine`. Signs are given on a queue of their own, so no commit waits for them.
// A second queue watches: a connection that was cut off may hold a sign up for long. A process that
// hears nothing from the database for longer than its patience ends. It can neither read nor write,
// and its callers find another one sooner.

import CumulusStorage
import CumulusSystem
import Synchronization

final class TermKeeper: @unchecked Sendable {
    // The timers are made and cancelled only, which any thread may do. The watch alone touches
    // `silence`.

    private let signs: any DispatchSourceTimer
    private let watch: any DispatchSourceTimer
    private let isOver = Atomic<Bool>(false)
    /// Ticks are counted, not the time: a machine that slept hears from the database at once.
    private var silence: Silence

    private static let pause = DispatchTimeInterval.milliseconds(200)

    /// - Parameters:
    ///   - patience: How long the database may be silent while the process is awake.
    ///   - whenLost: Called once, when another process has taken the store over, or the database
    ///     has been silent for too long.
    init(
        _ store: PostgresStore,
        patience: Duration,
        whenLost: @escaping @Sendable (String) -> Void
    ) {
        silence = Silence(proof: store.lease.proof)
        signs = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "cumulus.term"))
        watch = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "cumulus.term.watch"))
        signs.schedule(deadline: .now() + TermKeeper.pause, repeating: TermKeeper.pause)
        watch.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        signs.setEventHandler { [weak self, weak store] in
            guard let self, let store, !store.lease.isFresh else { return }
            try? store.giveSign()
            if store.lease.isLost { end(Term.loss, whenLost) }
        }
        watch.setEventHandler { [weak self, weak store] in
            guard let self, let store else { return }
            guard .seconds(silence.tick(store.lease.proof)) > patience else { return }
            end("the database has not answered for \(silence.ticks) s", whenLost)
        }
        signs.resume()
        watch.resume()
    }

    deinit { cancel() }

    private func cancel() {
        signs.cancel()
        watch.cancel()
    }

    private func end(_ reason: String, _ whenLost: (String) -> Void) {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        cancel()
        whenLost(reason)
    }
}

/// For how many ticks of a clock the database has said nothing.
struct Silence {
    private var proof: Lease.Moment
    private(set) var ticks = 0

    init(proof: Lease.Moment) {
        self.proof = proof
    }

    /// Another tick came; returns how many there were since the last good answer.
    ///
    /// - Parameter proof: When the last good answer was asked for.
    mutating func tick(_ proof: Lease.Moment) -> Int {
        ticks = proof == self.proof ? ticks + 1 : 0
        self.proof = proof
        return ticks
    }
}
