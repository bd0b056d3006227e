// A terminal that shows one screen after the other and takes keys; it is given back as it was.
//
// Held by `TopCommand`. It uses the terminal's second screen, so that what stood there before is
// there again afterwards. `leave` may be called from any thread and more than once: a signal, a key
// and the end of the command all call it.

import CumulusSystem
import CumulusTerminal
import Synchronization

final class LiveTerminal: Sendable {
    private enum State {
        case outside
        case inside
        case left
    }

    private let settings: termios
    private let state = Mutex(State.outside)

    /// nil if standard input and output are no terminal that can be drawn on.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1,
            ProcessInfo.processInfo.environment["TERM"] != "dumb",
            tcgetattr(STDIN_FILENO, &settings) == 0
        else { return nil }
        self.settings = settings
    }

    /// Takes keys one by one and shows none of them; does nothing on a terminal that was left.
    ///
    /// Ctrl-C still sends its signal. Ctrl-Z and Ctrl-\ send none: they would leave the terminal as
    /// it is now.
    func enter() throws {
        try state.withLock { state in
            guard state == .outside else { return }
            state = .inside
            var raw = settings
            raw.c_lflag &= ~tcflag_t(ECHO | ICANON)
            let nothing = UInt8(truncatingIfNeeded: fpathconf(STDIN_FILENO, Int32(_PC_VDISABLE)))
            withUnsafeMutableBytes(of: &raw.c_cc) { keys in
                keys[Int(VSUSP)] = nothing
                keys[Int(VQUIT)] = nothing
            }
            tcsetattr(STDIN_FILENO, TCSANOW, &raw)
            try StandardOutput.write("\u{1B}[?1049h\u{1B}[?25l")
        }
    }

    /// Draws the screen anew, with the lines that are made for its room.
    func show(_ lines: (TopScreen.Room) -> [String]) throws {
        let text = lines(room).map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
        try state.withLock { state in
            guard state == .inside else { return }
            try StandardOutput.write("\u{1B}[H" + text + "\u{1B}[J")
        }
    }

    /// Gives the terminal back as it was.
    func leave() {
        state.withLock { state in
            let wasInside = state == .inside
            state = .left
            guard wasInside else { return }
            try? StandardOutput.write("\u{1B}[?25h\u{1B}[?1049l")
            var settings = settings
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
    }

    var hasLeft: Bool { state.withLock { $0 == .left } }

    private var isShown: Bool { state.withLock { $0 == .inside } }

    /// Leaves the terminal when q is typed, or when nobody can type any more.
    ///
    /// - Returns: False if the task was cancelled before.
    func waitForQuit() async -> Bool {
        while !Task.isCancelled {
            if isShown, isQuitTyped {
                leave()
                return true
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    private var isQuitTyped: Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, 0) > 0 {
            var key: UInt8 = 0
            guard read(STDIN_FILENO, &key, 1) == 1 else { return true }
            if key == UInt8(ascii: "q") || key == UInt8(ascii: "Q") { return true }
        }
        return false
    }

    /// How much room lines have, which changes with the window.
    private var room: TopScreen.Room {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        return isKnown
            ? TopScreen.Room(columns: Int(size.ws_col), rows: Int(size.ws_row))
            : TopScreen.Room(columns: 80, rows: 24)
    }
}
