// How a command without an end of its own is ended by its user: SIGINT or SIGTERM.
//
// The first signal asks the command to end, so that it closes what it holds; another one ends the
// process.

import CumulusSystem
import Synchronization

final class Interruption {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private static let signals = [SIGINT, SIGTERM]
    private let flag: Flag
    private let sources: [any DispatchSourceSignal]

    /// - Parameter end: Called once, on another thread.
    init(_ end: @escaping @Sendable () -> Void) {
        let flag = Flag()
        self.flag = flag
        // Sources are entered by another thread, and a signal before that is lost.
        let listening = DispatchGroup()
        sources = Interruption.signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                Interruption.ignoreNoMore()
                if !flag.isSet.exchange(true, ordering: .relaxed) { end() }
            }
            listening.enter()
            source.setRegistrationHandler { listening.leave() }
            source.resume()
            return source
        }
        _ = listening.wait(timeout: .now() + 1)
    }

    /// Whether the user has ended the command.
    var hasCome: Bool { flag.isSet.load(ordering: .relaxed) }

    /// Lets signals end the process from now on.
    func stopListening() {
        Interruption.ignoreNoMore()
        for source in sources { source.cancel() }
    }

    private static func ignoreNoMore() {
        for number in signals { signal(number, SIG_DFL) }
    }
}
