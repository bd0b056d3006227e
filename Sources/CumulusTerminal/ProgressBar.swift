// The progress bar on standard error: how far, how fast, how long still.
//
// Drawn by whatever takes long: imports, exports, files, indexes, and what a node does by itself.
// Nothing is drawn if standard error is no terminal.

import CumulusSystem

package struct ProgressBar {
    /// Bytes to go through; nil if nobody knows.
    private let total: Int?
    private let began = ContinuousClock.now
    private var drawn: ContinuousClock.Instant?
    private let isShown: Bool

    package init(total: Int?, isShown: Bool = isatty(2) == 1) {
        self.total = total
        self.isShown = isShown
    }

    /// If content goes to standard output, there is no bar: both would disturb each other on a
    /// terminal.
    package static func besideContent(total: Int?) -> ProgressBar {
        ProgressBar(total: total, isShown: isatty(2) == 1 && isatty(1) == 0)
    }

    /// Says what is waited for and how long already, of work that tells nothing before it ends.
    package static func waiting<Value>(
        for what: String,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let drawing = Task {
            var progress = ProgressBar(total: nil)
            while !Task.isCancelled {
                let seconds = Int(progress.seconds)
                progress.draw("\(what), \(seconds) s")
                try? await Task.sleep(for: .milliseconds(500))
            }
            progress.clear()
        }
        let result = await Result { try await body() }
        drawing.cancel()
        await drawing.value
        return try result.get()
    }

    /// Seconds since the beginning.
    package var seconds: Double { (ContinuousClock.now - began) / .seconds(1) }

    /// Draws it anew, at most ten times a second.
    package mutating func update(bytes: Int, records: Int) {
        let (total, seconds) = (total, seconds)
        draw(ProgressBar.line(bytes, of: total, records: records, seconds: seconds))
    }

    package mutating func draw(_ line: @autoclosure () -> String) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let drawn, now - drawn < .milliseconds(100) { return }
        drawn = now
        write("\r\(line())\u{1B}[K")
    }

    /// Makes room for a line of text.
    package mutating func clear() {
        guard drawn != nil else { return }
        drawn = nil
        write("\r\u{1B}[K")
    }

    /// Makes room for a line of text that is written beside the bar, which is drawn anew later.
    package static func makeRoom() {
        if isatty(2) == 1 { writeToStandardError("\r\u{1B}[K") }
    }

    package static func line(_ bytes: Int, of total: Int?, records: Int, seconds: Double) -> String
    {
        let rate = seconds > 0 ? Int(Double(records) / seconds) : 0
        let count = "\(counted(records, "record"))  \(rate)/s"
        guard let total, total > 0 else { return count }
        return bar(Double(bytes) / Double(total), count, seconds: seconds)
    }

    /// - Parameter part: 0 to 1.
    package static func bar(_ part: Double, _ count: String, seconds: Double) -> String {
        let part = min(1, part)
        let filled = Int(part * 24)
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 24 - filled)
        let left = part > 0 ? Int((seconds / part - seconds).rounded(.up)) : 0
        return "[\(bar)] \(Int(part * 100)) %  \(count)  \(left) s left"
    }

    private func write(_ text: String) {
        writeToStandardError(text)
    }
}
