// Gives a sign of life each second, so that a start of another process finds this one alive, and
// this one finds out if it was taken for dead.
//
// Owned by `PostgresEngine`. It works on a queue of its own, so no commit waits for it.

import CumulusSystem

final class TermKeeper: @unchecked Sendable {
    // The timer is made and cancelled only, which any thread may do.

    private let timer: any DispatchSourceTimer

    /// - Parameter whenLost: Called once, when another process has taken the store over.
    init(_ store: PostgresStore, whenLost: @escaping @Sendable (String) -> Void) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "cumulus.term"))
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.setEventHandler { [weak self, weak store] in
            guard let self, let store, !store.giveSign() else { return }
            timer.cancel()
            whenLost(Term.loss)
        }
        timer.resume()
    }

    deinit { timer.cancel() }
}
