// The seam to other sites: one request, one answer. And the client that makes it over a socket.
//
// Called by `SignInPages` for the token endpoint of an identity provider, once per sign-in. Each
// request has a connection of its own, an end in time, and a bound on its answer. Redirects are not
// followed.

package import CumulusModel
import CumulusTransport
package import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

package protocol WebClient: Sendable {
    /// Sends a form; returns what is answered, whatever its status.
    func post(
        _ form: Bytes,
        to address: WebAddress,
        headers: [(name: String, value: String)]
    ) async throws -> (status: Int, body: Bytes)
}

package struct SocketWebClient: WebClient {
    private let group: any EventLoopGroup
    private let milliseconds: Int64

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let mostBytes = 256 << 10

    /// - Parameter milliseconds: How long a request may take.
    package init(on group: any EventLoopGroup, milliseconds: Int64 = 15_000) {
        self.group = group
        self.milliseconds = milliseconds
    }

    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    package func post(
        _ form: Bytes,
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
        let head = SocketWebClient.head(form, address, headers)
        return try await connection.executeThenClose { inbound, outbound in
            try await outbound.write(.head(head))
            try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: form))))
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
        _ form: Bytes,
        _ address: WebAddress,
        _ more: [(name: String, value: String)]
    ) -> HTTPRequestHead {
        let headers = HTTPHeaders(
            [
                ("Host", address.authority), ("Accept", "application/json"),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Content-Length", String(form.count)), ("Connection", "close"),
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
        return try await ClientBootstrap(group: group)
            .connectTimeout(.milliseconds(milliseconds))
            .connect(host: address.host, port: address.port) { channel in
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
    }

    private static func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .milliseconds(500)
        return try NIOSSLContext(configuration: configuration)
    }
}
