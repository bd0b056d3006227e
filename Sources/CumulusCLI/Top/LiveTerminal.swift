// A terminal that shows one screen after the other and takes keys; it is given back as it was.
//
// Held by `TopCommand`. It uses the terminal's second screen, so that what stood there before is
// there again afterwards.

import CumulusSystem
import CumulusTerminal

final class LiveTerminal {
    private let settings: termios
    private var hasLeft = false

    /// nil if standard input and output are no terminal.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        self.settings = settings
        // Keys come one by one, and are not shown; Ctrl-C still sends its signal.
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        try? StandardOutput.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Whether q was typed.
    var isQuitTyped: Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 0) > 0 {
            var key: UInt8 = 0
            guard read(STDIN_FILENO, &key, 1) == 1 else { return true }
            if key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { return true }
        }
        return false
    }

    /// Draws the screen anew, as far as lines have room.
    func show(_ lines: [String]) throws {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        let (rows, columns) = isKnown ? (Int(size.ws_row), Int(size.ws_col)) : (24, 80)
        let shown = lines.prefix(rows).map { $0.prefix(columns) + "\u{1B}[K" }
        try StandardOutput.write("\u{1B}[H" + shown.joined(separator: "\r\n") + "\u{1B}[J")
    }

    /// Gives the terminal back.
    func leave() {
        guard !hasLeft else { return }
        hasLeft = true
        try? StandardOutput.write("\u{1B}[?25h\u{1B}[?1049l")
        var settings = settings
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
