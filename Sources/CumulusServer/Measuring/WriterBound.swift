// `cumulusd bound writer`: a loop that writes the same bytes to all its connections, without a
// protocol.
//
// The bound of a feed's fan-out: one thread, one buffer, one `send` for each connection and event.
// The first connection asks for it, in 8 bytes: how often, and how many bytes, both big-endian. It
// ends when that connection does.

import ArgumentParser
import CumulusModel
import CumulusSystem

struct WriterBound: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "writer",
        abstract: "Write the same bytes to all connections, as the first one asks."
    )

    @Option(help: "Address and port on this machine; port 0 takes a free one.")
    var listen = "127.0.0.1:0"

    func run() throws {
        guard let (host, port) = Endpoint.split(listen), host.hasPrefix("127.") else {
            throw ValidationError("'\(listen)' is not an address and port of 127.0.0.1")
        }
        OpenFiles.raiseLimit()
        signal(SIGPIPE, SIG_IGN)
        let listener = try WriterBound.listener(host, port)
        defer { close(listener.socket) }
        write("cumulusd ready on \(host):\(listener.port)\n", to: STDOUT_FILENO)
        let asker = accept(listener.socket, nil, nil)
        guard asker >= 0 else { throw WriterBound.failure("accept") }
        defer { close(asker) }
        try WriterBound.serve(asker, listener.socket)
    }

    private static func listener(
        _ host: String,
        _ port: Int
    ) throws -> (socket: Int32, port: UInt16) {
        #if os(Linux)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let raw = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else {
                return false
            }
            return bind(listener, raw, size) == 0 && CumulusSystem.listen(listener, 1_024) == 0
                && getsockname(listener, raw, &size) == 0
        }
        guard listener >= 0, isBound else { throw failure("bind") }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    /// Accepts connections and serves requests until the asker is gone.
    private static func serve(_ asker: Int32, _ listener: Int32) throws {
        var connections: [Int32] = []
        defer { for connection in connections { close(connection) } }
        while true {
            var waits = [asker, listener].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waits, 2, -1) >= 0 else { throw failure("poll") }
            // New connections are accepted first, because a request is for all of them.
            if waits[1].revents != 0 {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { throw failure("accept") }
                var isOn: Int32 = 1
                let size = socklen_t(MemoryLayout<Int32>.size)
                setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, size)
                connections.append(connection)
            } else if waits[0].revents != 0 {
                guard let (times, bytes) = question(asker) else { return }
                let event = [UInt8](repeating: 0x5A, count: bytes)
                for _ in 0..<times {
                    for connection in connections { try send(event, connection) }
                }
            }
        }
    }

    /// How often and how many bytes; nil when the asker is gone.
    private static func question(_ asker: Int32) -> (times: Int, bytes: Int)? {
        var bytes = [UInt8](repeating: 0, count: 8)
        guard recv(asker, &bytes, 8, Int32(MSG_WAITALL)) == 8 else {
            return nil
        }
        func number(_ part: ArraySlice<UInt8>) -> Int { part.reduce(0) { $0 << 8 | Int($1) } }
        return (number(bytes[..<4]), number(bytes[4...]))
    }

    private static func send(_ event: [UInt8], _ connection: Int32) throws {
        guard write(connection, event, event.count) == event.count else { throw failure("write") }
    }

    private static func failure(_ call: String) -> StartProblem {
        StartProblem("\(call): \(String(cString: strerror(errno)))")
    }
}
