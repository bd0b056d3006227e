// Connects to a node over TCP and gives the connection its handler.
//
// The client's default way to the network.

package import CumulusWire
import NIOCore
import NIOPosix

package struct NIOFrameDialer: FrameDialer {
    private let loops: EventLoops
    private static let connectSeconds: Int64 = 10

    package init(loops: EventLoops) {
        self.loops = loops
    }

    package enum Failure: Error, CustomStringConvertible {
        /// Not of the form "host:port".
        case badEndpoint(String)
        case unreachable(String)

        package var description: String {
            switch self {
            case .badEndpoint(let endpoint): "'\(endpoint)' is not of the form host:port"
            case .unreachable(let reason): reason
            }
        }
    }

    package func connect(
        to endpoint: String,
        _ make: @escaping MakeFrameHandler
    ) async throws {
        guard let (host, port) = NIOFrameDialer.split(endpoint) else {
            throw Failure.badEndpoint(endpoint)
        }
        do {
            try await connect(host, port, make)
        } catch let error as NIOConnectionError {
            let reason = error.connectionErrors.first.map { SocketProblem($0.error).description }
            throw Failure.unreachable(reason ?? "\(host) is not known")
        }
    }

    private func connect(
        _ host: String,
        _ port: Int,
        _ make: @escaping MakeFrameHandler
    ) async throws {
        let loops = loops
        _ = try await ClientBootstrap(group: loops.group)
            .connectTimeout(.seconds(NIOFrameDialer.connectSeconds))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelOption(.maxMessagesPerRead, value: 16)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let loop = loops.frameLoop(channel.eventLoop)
                    let handler = FrameChannelHandler(loop: loop, make)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: host, port: port)
            .get()
    }

    /// "127.0.0.1:7420", "localhost:7420" or "[::1]:7420".
    package static func split(_ endpoint: String) -> (host: String, port: Int)? {
        guard let colon = endpoint.lastIndex(of: ":"),
            let port = Int(endpoint[endpoint.index(after: colon)...]), (0...65_535).contains(port)
        else { return nil }
        var host = endpoint[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty ? nil : (String(host), port)
    }
}
