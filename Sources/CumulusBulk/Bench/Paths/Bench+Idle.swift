// The path `idle`: connections that were greeted and say nothing more.
//
// Opened without the client library, which has memory of its own to spend on each. What counts is
// the memory of the server.

import Cumulus
import CumulusModel
import Foundation

extension Bench {
    func idle(_ target: BenchTarget) async throws -> BenchFigure {
        let count = options.idleConnections
        let progress = BenchProgress("opening connections")
        defer { progress.end() }
        try BenchFiles.allow(count, "--idle-connections")
        let start = Date()
        let before = BenchMeter(target)
        var connections: [IdleConnection] = []
        defer { for connection in connections { connection.close() } }
        while connections.count < count {
            // As many at once as a server is sure to have waiting for it to accept.
            let group = try (0..<min(100, count - connections.count)).map { _ in
                let connection = try IdleConnection(to: target.endpoint)
                connections.append(connection)
                return connection
            }
            for connection in group { try connection.awaitGreeting() }
            progress.show(connections.count, of: count)
        }
        let seconds = Date().timeIntervalSince(start)
        // Whatever greeting them left to be done.
        try await Task.sleep(for: .seconds(1))
        let use = BenchMeter(target).use(since: before)
        return BenchFigure(
            path: "idle, \(count) connections",
            start: start.formatted(.iso8601),
            seconds: seconds,
            operations: count,
            perSecond: Double(count) / seconds,
            serverMicroseconds: use.server.map { $0 / Double(count) },
            serverResident: use.resident,
            serverPeakResident: use.peakResident,
            serverResidentGrowth: use.residentGrowth,
            others: use.others
        )
    }
}

/// A socket that has sent a HELLO.
private struct IdleConnection {
    private let socket: Int32

    init(to endpoint: String) throws {
        let parts = endpoint.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw BenchProblem(message: "'\(endpoint)' is not an IPv4 address and a port")
        }
        #if os(Linux)
            socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard socket >= 0 else { throw IdleConnection.failure("socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, String(parts[0]), &address.sin_addr) == 1 else {
            throw BenchProblem(message: "'\(parts[0])' is not an IPv4 address")
        }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        let connected = withUnsafeBytes(of: &address) { bytes in
            connect(
                socket,
                bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                socklen_t(bytes.count)
            )
        }
        guard connected == 0 else { throw IdleConnection.failure("connect") }
        let hello = IdleConnection.hello
        guard send(socket, hello, hello.count, 0) == hello.count else {
            throw IdleConnection.failure("send")
        }
    }

    /// The preface, and the HELLO of an anonymous client.
    private static let hello: [UInt8] = {
        var message = CanonicalWriter()
        message.field(1, varint: 1)
        message.field(2, varint: 1)
        message.field(3, text: "cumulus bench")
        message.field(4, text: Release.version)
        message.field(5, text: "iCloud.dev.cumulus")
        message.field(6, varint: UInt64(Environment.development.rawValue))
        let length = UInt32(message.bytes.count + 5)
        let head = withUnsafeBytes(of: length.bigEndian, Array.init) + [1, 0, 0, 0, 0]
        return Array("CUMULUS".utf8) + [1] + head + message.bytes
    }()

    /// Waits for the server's HELLO: before it come the preface and a frame.
    func awaitGreeting() throws {
        var received: [UInt8] = []
        while true {
            if let kind = IdleConnection.secondFrame(received) {
                guard kind == 1 else {
                    throw BenchProblem(message: "the server refused an idle connection")
                }
                return
            }
            var buffer = [UInt8](repeating: 0, count: 1_024)
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { throw IdleConnection.failure("recv") }
            received += buffer.prefix(count)
        }
    }

    /// The kind of the second frame, once it has begun.
    private static func secondFrame(_ bytes: [UInt8]) -> UInt8? {
        let preface = 8
        guard bytes.count >= preface + 4 else { return nil }
        let length = bytes[preface..<preface + 4].reduce(0) { $0 << 8 | Int($1) }
        let kind = preface + 4 + length + 4
        return bytes.count > kind ? bytes[kind] : nil
    }

    func close() {
        Foundation.close(socket)
    }

    private static func failure(_ call: String) -> BenchProblem {
        BenchProblem(message: "an idle connection: \(call): \(String(cString: strerror(errno)))")
    }
}
