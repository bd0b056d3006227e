// The newest lines of the process's log, kept in memory for the console.
//
// Made by `cumulusd`, which writes each line to standard error, too. Memory is bounded: a line
// takes the place of the oldest one, and a very long line is not kept.

package import CumulusModel
import Synchronization

package final class RecentLines: Sendable {
    package static let mostLines = 1_000
    package static let longestLine = 8_192

    private struct State {
        var lines: [Bytes] = []
        /// Where the oldest line is, once there is no more room.
        var oldest = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Keeps a line; called by any thread.
    package func keep(_ line: String) {
        guard line.utf8.count <= RecentLines.longestLine else { return }
        let line = Bytes(line.utf8)
        state.withLock { state in
            guard state.lines.count == RecentLines.mostLines else {
                return state.lines.append(line)
            }
            state.lines[state.oldest] = line
            state.oldest = (state.oldest + 1) % RecentLines.mostLines
        }
    }

    /// All lines that are kept, oldest first.
    package var lines: [Bytes] {
        state.withLock { Array($0.lines[$0.oldest...] + $0.lines[..<$0.oldest]) }
    }
}
