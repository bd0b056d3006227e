// The output and input of an example. Notifications arrive on other threads while a command runs,
// so both go through one lock.
//
// Made by each example's `main`; given to the app's code that shows something.

import Dispatch
import Foundation
import Synchronization

/// The terminal of an example.
public final class Terminal: Sendable {
    private struct State {
        var capture: String?
        /// Notifications that no `wait` has taken yet.
        var news: [String] = []
    }

    private let state = Mutex(State())
    private let reader = DispatchQueue(label: "lines")

    /// The process's standard input and output.
    public init() {}

    // MARK: - Showing

    /// Shows a line, or several.
    public func say(_ text: String) { write(text + "\n") }

    /// Shows rows of a table, in columns.
    public func show(_ table: Table) {
        for line in table.lines { say(line) }
    }

    /// Shows what a notification says, and keeps it for a script's `wait`.
    ///
    /// Callable from any thread, also while a command runs.
    public func announce(_ text: String) {
        state.withLock { state in
            state.news.append(text)
            put("* \(text)\n")
        }
    }

    /// Shows text without a line end.
    func write(_ text: String) {
        state.withLock { state in
            state.capture?.append(text)
            put(text)
        }
    }

    private func put(_ text: String) {
        // If the reader is gone there is nothing to be done.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }

    // MARK: - Checking

    /// Begins to keep what is shown from now on.
    func beginCapture() { state.withLock { $0.capture = "" } }

    /// Ends keeping it, and returns it.
    func endCapture() -> String {
        state.withLock { state in
            defer { state.capture = nil }
            return state.capture ?? ""
        }
    }

    /// Waits for a notification with this text, which the next `wait` doesn't find again.
    ///
    /// - Returns: False if none came in time.
    func waitForNews(_ text: String, _ patience: Duration) async throws -> Bool {
        let end = ContinuousClock.now + patience
        while !take(text) {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    private func take(_ text: String) -> Bool {
        state.withLock { state in
            guard let index = state.news.firstIndex(where: { $0.contains(text) }) else {
                return false
            }
            state.news.remove(at: index)
            return true
        }
    }

    // MARK: - Reading

    /// The next line of standard input; nil at its end.
    ///
    /// Waits on a thread of its own: the main thread goes on with the app's work.
    func line() async -> String? {
        await withCheckedContinuation { continuation in
            reader.async { continuation.resume(returning: readLine()) }
        }
    }
}
