// A port that a test can use twice: for a server, and for its successor.
//
// A free port that the machine hands out may be handed to another process in between. These ports
// are below the range that Linux and macOS hand out by themselves. Tests run side by side, and
// beside other programs: each port is given once, and only if nothing listens on it.

import Foundation
import Synchronization

package enum TestPort {
    private static let given = Mutex<Set<UInt16>>([])

    /// A port of 127.0.0.1 that is free now, and that nobody else in this process is given.
    package static func free() -> Int {
        for _ in 0..<10_000 {
            let port = UInt16.random(in: 20_000..<30_000)
            guard given.withLock({ $0.insert(port).inserted }), !isTaken(port) else { continue }
            return Int(port)
        }
        preconditionFailure("no port of 127.0.0.1 between 20000 and 29999 is free")
    }

    /// Whether somebody answers there.
    ///
    /// Binding it instead could take it for good: a process started meanwhile inherits the socket.
    private static func isTaken(_ port: UInt16) -> Bool {
        #if os(Linux)
            let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let probe = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard probe >= 0 else { return true }
        defer { close(probe) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
