// The seam to other sites: one request, one answer. And the client that makes it over a socket.
//
// Called by `SignInPages` for the token endpoint of an identity provider, once per sign-in, and by
// `WebhookCourier` for each notification. Each request has a connection of its own, an end in time,
// and a bound on its answer. Redirects are not followed.

package import CumulusModel
import CumulusTransport
package import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

package protocol WebClient: Sendable {
    /// Sends a body, whose type is one of the headers; returns the answer, whatever its status.
    func post(
        _ body: Bytes,
        to address: WebAddress,
        headers: [(name: String, value: String)]
    ) async throws -> (status: Int, body: Bytes)
}

package struct SocketWebClient: WebClient {
    private let group: any EventLoopGroup
    private let milliseconds: Int64
    private let isPublicOnly: Bool

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let mostBytes = 256 << 10

    /// - Parameters:
    ///   - milliseconds: How long a request may take.
    ///   - isPublicOnly: Whether it connects to addresses of the public Internet only.
    package init(
        on group: any EventLoopGroup,
        milliseconds: Int64 = 15_000,
        isPublicOnly: Bool = false
    ) {
        self.group = group
        self.milliseconds = milliseconds
        self.isPublicOnly = isPublicOnly
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    package func post(
        _ content: Bytes,
        to address: WebAddress,
        headers: [(name: String, value: String)]
    ) async throws -> (status: Int, body: Bytes) {
        guard address.isSecret else {
            throw Failure(description: "\(address.origin) is not reached by https")
        }
        let connection = try await connect(to: address)
        let timeout = connection.channel.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) {
            connection.channel.close(promise: nil)
        }
        defer { timeout.cancel() }
        let head = SocketWebClient.head(content, address, headers)
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(.head(head))
            try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: content))))
            try await outbound.write(.end(nil))
            var status = 0
            var body: Bytes = []
            for try await part in inbound {
                switch part {
                case .head(let head): status = Int(head.status.code)
                case .body(let buffer):
                    body += buffer.readableBytesView
                    guard body.count <= SocketWebClient.mostBytes else {
                        throw Failure(description: "the answer of \(address.host) is too large")
                    }
                case .end: return (status, body)
                }
            }
            throw Failure(description: "\(address.host) hung up, or took too long")
        }
    }

    private static func head(
        _ content: Bytes,
        _ address: WebAddress,
        _ more: [(name: String, value: String)]
    ) -> HTTPRequestHead {
        let headers = HTTPHeaders(
            [
                ("Host", address.authority), ("Accept", "application/json"),
                ("Content-Length", String(content.count)), ("Connection", "close"),
            ] + more.map { ($0.name, $0.value) }
        )
        return HTTPRequestHead(
            version: .http1_1,
            method: .POST,
            uri: address.target,
            headers: headers
        )
    }

    private func connect(to address: WebAddress) async throws -> Connection {
        let context = address.isSecure ? try SocketWebClient.context() : nil
        let isAddress = (try? SocketAddress(ipAddress: address.host, port: 0)) != nil
        let bootstrap = ClientBootstrap(group: group)
            .connectTimeout(.milliseconds(milliseconds))
        @Sendable func prepare(
            _ channel: any Channel
        ) -> EventLoopFuture<Connection> {
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let context {
                    let tls = try NIOSSLClientHandler(
                        context: context,
                        serverHostname: isAddress ? nil : address.host
                    )
                    try pipeline.addHandler(tls)
                }
                try pipeline.addHTTPClientHandlers()
                return try Connection(wrappingChannelSynchronously: channel)
            }
        }
        guard isPublicOnly else {
            return try await bootstrap.connect(
                host: address.host,
                port: address.port,
                channelInitializer: prepare
            )
        }
        // To the address that was judged: a name may lead elsewhere when it is resolved again.
        let place = try await publicPlace(of: address)
        return try await bootstrap.connect(to: place, channelInitializer: prepare)
    }

    private func publicPlace(of address: WebAddress) async throws -> SocketAddress {
        let place = try await NIOThreadPool.singleton.runIfActive {
            try SocketAddress.makeAddressResolvingHost(address.host, port: address.port)
        }
        guard PublicAddress.isPublic(place.addressBytes) else {
            throw Failure(
                description: "\(address.host) leads to \(place.ipAddress ?? "no IP address"), "
                    + "which is not an address of the public Internet"
            )
        }
        return place
    }

    private static func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .milliseconds(500)
        return try NIOSSLContext(configuration: configuration)
    }
}
