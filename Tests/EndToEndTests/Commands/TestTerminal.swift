// A terminal of its own for a command under test: what it shows, what is typed, and how it is set.

import CumulusTesting
import Foundation
import Testing

/// A terminal at which nobody sits.
final class TestTerminal {
    let path: String
    /// What a command reads from; held, so that what was written stays after the command's end.
    let far: Int32
    private let descriptor: Int32

    init(columns: UInt16 = 0, rows: UInt16 = 0) throws {
        var (near, far): (Int32, Int32) = (-1, -1)
        try #require(openpty(&near, &far, nil, nil, nil) == 0)
        (descriptor, self.far) = (near, far)
        path = try #require(ttyname(far).map { String(cString: $0) })
        if columns == 0 { return }
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(far, UInt(TIOCSWINSZ), &size) == 0 else {
            throw ChildProcess.Failure("a terminal takes no size")
        }
    }

    deinit {
        close(far)
        close(descriptor)
    }

    /// Whether it shows what is typed, waits for lines, and so on.
    var localModes: tcflag_t {
        var settings = termios()
        tcgetattr(far, &settings)
        return settings.c_lflag
    }

    func type(_ text: String) {
        _ = text.utf8CString.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count - 1) }
    }

    /// Everything that was written since this was asked the last time.
    func shown() -> String {
        var bytes: [UInt8] = []
        var buffer: [UInt8] = Array(repeating: 0, count: 1 << 16)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
