// Removes what must not outlast a command that a signal ends, and what the bench leaves at its own
// end: processes, directories and files, and changes of the terminal.
//
// Made once per run; every process that is started and every file that is made is entered here.

package import CumulusSystem
import Synchronization

package final class Cleanup: @unchecked Sendable {
    // `sources` is set once, and only kept so that they live.

    private struct Leftovers {
        var processes: [Int32] = []
        var paths: [String] = []
        var terminal: termios?
    }

    private let leftovers = Mutex(Leftovers())
    /// A terminal that is gone sends SIGHUP, unless `nohup` keeps it away.
    private static let signals = [SIGINT, SIGTERM] + (isHangupIgnored ? [] : [SIGHUP])
    private static var isHangupIgnored: Bool {
        var action = sigaction()
        sigaction(SIGHUP, nil, &action)
        return action.isIgnored
    }
    private var sources: [any DispatchSourceSignal] = []

    package init() {
        // Sources are entered by another thread, and a signal before that is lost: nothing that is
        // to be cleaned up is made until all of them are.
        let listening = DispatchGroup()
        sources = Cleanup.signals.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { [weak self] in
                self?.run(exitCode: 128 + number)
            }
            listening.enter()
            source.setRegistrationHandler { listening.leave() }
            source.resume()
            return source
        }
        _ = listening.wait(timeout: .now() + 1)
    }

    deinit {
        for number in Cleanup.signals { signal(number, SIG_DFL) }
    }

    package func add(process: Int32) {
        leftovers.withLock { $0.processes.append(process) }
    }

    /// A file, or a directory with what it holds.
    package func add(path: String) {
        leftovers.withLock { $0.paths.append(path) }
    }

    /// How the terminal of standard input was set up before something was changed.
    package func add(terminal settings: termios) {
        leftovers.withLock { $0.terminal = settings }
    }

    /// The process was waited for: its number may be another one's by now.
    package func forget(process: Int32) {
        leftovers.withLock { $0.processes.removeAll { $0 == process } }
    }

    /// Ends and removes all that is left, and after a signal this process too.
    ///
    /// A second caller waits until it is done: no signal leaves half of it, and none is
    /// followed by complaints about processes that are gone.
    package func run(exitCode: Int32? = nil) {
        leftovers.withLock { leftovers in
            for process in leftovers.processes { kill(process, SIGKILL) }
            // A killed process may be in the middle of making a file.
            if !leftovers.processes.isEmpty { usleep(100_000) }
            for path in leftovers.paths { try? FileManager.default.removeItem(atPath: path) }
            if var settings = leftovers.terminal {
                tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            }
            leftovers = Leftovers()
            if let exitCode { _exit(exitCode) }
        }
    }
}

extension sigaction {
    fileprivate var isIgnored: Bool {
        #if os(Linux)
            let handler = unsafeBitCast(__sigaction_handler.sa_handler, to: Int.self)
        #else
            let handler = unsafeBitCast(__sigaction_u.__sa_handler, to: Int.self)
        #endif
        return handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
