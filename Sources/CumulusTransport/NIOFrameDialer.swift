// Connects to a node over TCP or TLS and gives the connection its handler.
//
// The client's default way to the network.

import CumulusModel
package import CumulusWire
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

package struct NIOFrameDialer: FrameDialer {
    private let loops: EventLoops
    private let trust: TLSTrust?
    private let connectMilliseconds: Int64

    /// - Parameter trust: nil means plain TCP everywhere.
    package init(loops: EventLoops, trust: TLSTrust? = nil, connectMilliseconds: Int64 = 10_000) {
        self.loops = loops
        self.trust = trust
        self.connectMilliseconds = connectMilliseconds
    }

    package enum Failure: Error, CustomStringConvertible {
        /// The address does not have the form "host:port".
        case badEndpoint(String)
        case unreachable(String)
        /// The system said at once that nobody is there: no program listens, no way leads to the
        /// host, or its name is not known.
        case absent(String)
        /// The server can't prove its identity; trying again won't help.
        case untrusted(String)

        package var description: String {
            switch self {
            case .badEndpoint(let endpoint): "'\(endpoint)' is not of the form host:port"
            case .unreachable(let reason), .absent(let reason), .untrusted(let reason): reason
            }
        }
    }

    package func connect(
        to endpoint: String,
        _ make: @escaping MakeFrameHandler
    ) async throws {
        guard let (host, port) = Endpoint.split(endpoint) else {
            throw Failure.badEndpoint(endpoint)
        }
        do {
            try await connect(host, port, try trust?.context(for: host), make)
        } catch let error as NIOConnectionError {
            throw NIOFrameDialer.failure(of: error, host)
        } catch let error as TLSProblem {
            throw Failure.untrusted(error.description)
        } catch let error as NIOSSLExtraError where error == .failedToValidateHostname {
            throw Failure.untrusted("the certificate of \(endpoint) is not for \(host)")
        } catch let error as NIOSSLError {
            throw NIOFrameDialer.failure(of: error, endpoint)
        } catch let error as HandshakeTimeout {
            throw Failure.unreachable("\(endpoint): \(error)")
        } catch let error as ChannelError where error == .eof {
            throw Failure.unreachable("\(endpoint) closed the connection at once")
        }
    }

    /// The failure if none of a host's addresses was reached.
    private static func failure(of error: NIOConnectionError, _ host: String) -> Failure {
        let problems = error.connectionErrors.map(\.error)
        guard let first = problems.first else { return .absent("the name \(host) is not known") }
        let reason = SocketProblem(first).description
        let isAbsent = problems.allSatisfy { problem in
            [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains((problem as? IOError)?.errnoCode)
        }
        return isAbsent ? .absent(reason) : .unreachable(reason)
    }

    private static func failure(of error: NIOSSLError, _ endpoint: String) -> Failure {
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return .untrusted(
                "the certificate of \(endpoint) is not by an authority that is trusted here"
            )
        }
        if text.contains("WRONG_VERSION_NUMBER") {
            return .untrusted("\(endpoint) doesn't speak TLS")
        }
        return .unreachable("no TLS with \(endpoint): \(text)")
    }

    private func connect(
        _ host: String,
        _ port: Int,
        _ context: NIOSSLContext?,
        _ make: @escaping MakeFrameHandler
    ) async throws {
        let (loops, connectMilliseconds) = (loops, connectMilliseconds)
        let attempt = DialAttempt()
        try await withTaskCancellationHandler {
            let channel = try await ClientBootstrap(group: loops.group)
                .connectTimeout(.milliseconds(connectMilliseconds))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.maxMessagesPerRead, value: 16)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let context {
                            try pipeline.addHandler(NIOFrameDialer.handler(context, host))
                        }
                        let handler = FrameChannelHandler(
                            loop: loops.frameLoop(channel.eventLoop),
                            context == nil ? .plain : .dialer(name: NIOFrameDialer.name(host)),
                            handshakeMilliseconds: connectMilliseconds,
                            opened: try attempt.add(channel),
                            make
                        )
                        try pipeline.addHandler(handler)
                    }
                }
                .connect(host: host, port: port)
                .get()
            try await attempt.opening(of: channel)?.get()
            attempt.end()
        } onCancel: {
            attempt.cancel()
        }
    }

    /// A host's name in lower case; nil for an address.
    private static func name(_ host: String) -> String? {
        (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host.lowercased() : nil
    }

    /// Addresses are no names: certificates are held to the address that was reached.
    private static func handler(
        _ context: NIOSSLContext,
        _ host: String
    ) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: name(host))
    }
}

/// The channels of one attempt: of several addresses of a host one is taken, and each has an
/// opening of its own.
private final class DialAttempt: Sendable {
    private struct State {
        var channels: [any Channel] = []
        var openings: [ObjectIdentifier: EventLoopFuture<Void>] = [:]
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// The promise that the channel's handler keeps or fails.
    func add(_ channel: any Channel) throws -> EventLoopPromise<Void> {
        try state.withLock { state in
            if state.isCancelled { throw CancellationError() }
            let opened = channel.eventLoop.makePromise(of: Void.self)
            state.channels.append(channel)
            state.openings[ObjectIdentifier(channel)] = opened.futureResult
            return opened
        }
    }

    func opening(of channel: any Channel) -> EventLoopFuture<Void>? {
        state.withLock { $0.openings[ObjectIdentifier(channel)] }
    }

    /// The connection is its handler's now.
    func end() {
        state.withLock { $0.channels = [] }
    }

    func cancel() {
        let channels = state.withLock { state in
            state.isCancelled = true
            return state.channels
        }
        for channel in channels { channel.close(promise: nil) }
    }
}
