// A port of 127.0.0.1 at which somebody listens and never says a word.
//
// Used where a command has to wait for a node.

import CumulusTesting
import Foundation

final class SilentListener: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        port = TestPort.free()
        #if os(Linux)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let (descriptor, size) = (descriptor, socklen_t(MemoryLayout<sockaddr_in>.size))
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0
            }
        }
        guard isBound, listen(descriptor, 16) == 0 else {
            throw ChildProcess.Failure("nobody can listen at \(port): errno \(errno)")
        }
    }

    deinit { close(descriptor) }
}
