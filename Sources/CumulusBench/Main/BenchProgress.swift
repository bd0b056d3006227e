// Shows the bench's progress on standard error, if that is a terminal.
//
// One line that is written over and removed at the end; nothing where standard error is no
// terminal.

import CumulusTerminal
import Foundation

struct BenchProgress: Sendable {
    private let what: String
    private let isShown = isatty(2) == 1

    init(_ what: String) {
        self.what = what
        write(what)
    }

    func show(_ done: Int, of all: Int) {
        write("\(what): \(done * 100 / max(1, all)) %")
    }

    func end() {
        write("")
    }

    private func write(_ text: String) {
        guard isShown else { return }
        writeToStandardError("\r\u{1B}[K\(text)")
    }
}
