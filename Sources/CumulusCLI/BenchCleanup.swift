// What has to be gone when the bench ends, by itself or by a signal: processes and directories.
//
// Made once per run; whoever starts a process or makes a directory enters it here.

import Foundation
import Synchronization

final class BenchCleanup: @unchecked Sendable {
    // `signals` is set once, and only kept so that its sources live.

    private struct Leftovers {
        var processes: [Int32] = []
        var directories: [String] = []
    }

    private let leftovers = Mutex(Leftovers())
    private var signals: [any DispatchSourceSignal] = []

    init() {
        signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { [weak self] in
                self?.run(exitCode: 128 + number)
            }
            source.resume()
            return source
        }
    }

    func add(process: Int32) {
        leftovers.withLock { $0.processes.append(process) }
    }

    func add(directory: String) {
        leftovers.withLock { $0.directories.append(directory) }
    }

    /// The process was waited for: its number may be another one's by now.
    func forget(process: Int32) {
        leftovers.withLock { $0.processes.removeAll { $0 == process } }
    }

    /// Ends and removes all that is left, and after a signal the bench too.
    ///
    /// Whoever comes second waits until it is done: no signal leaves half of it, and none is
    /// followed by complaints about processes that are gone.
    func run(exitCode: Int32? = nil) {
        leftovers.withLock { leftovers in
            for process in leftovers.processes { kill(process, SIGKILL) }
            // A killed process may be in the middle of making a file.
            if !leftovers.processes.isEmpty { usleep(100_000) }
            for directory in leftovers.directories {
                try? FileManager.default.removeItem(atPath: directory)
            }
            leftovers = Leftovers()
            if let exitCode { _exit(exitCode) }
        }
    }
}
