// The seam to other sites: one request, one answer. And the client that makes it over a socket.
//
// Called by `SignInPages` for the token endpoint of an identity provider, once per sign-in, and by
// `WebhookCourier` for each notification. Each request has an `HTTPClient` of its own, whose only
// connection leads to the address that was judged; so a name that is resolved anew for the next
// request is judged anew. A request has an end in time and a bound on its answer. Redirects are not
// followed, and no proxy is used.
//
// Folder: requests to other sites, for all features that make some. Read `WebClient`, and
// `PublicAddress` for what a webhook may not reach.

import AsyncHTTPClient
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

package struct OutboundWebClient: WebClient {
    /// Finds the address of a host.
    package typealias Resolver =
        @Sendable (_ host: String, _ port: Int) async throws -> SocketAddress
    /// Whether an IP address of 4 or 16 bytes may be connected to.
    package typealias Judge = @Sendable (_ address: Bytes) -> Bool

    private let group: any EventLoopGroup
    private let milliseconds: Int64
    private let judge: Judge?
    private let resolve: Resolver
    private let authorities: String?

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private static let mostBytes = 256 << 10

    /// - Parameters:
    ///   - milliseconds: How long a request may take.
    ///   - judge: nil allows all addresses.
    ///   - authorities: PEM file with the trusted authorities; nil means the system's.
    package init(
        on group: any EventLoopGroup,
        milliseconds: Int64 = 15_000,
        judge: Judge? = nil,
        resolve: @escaping Resolver = OutboundWebClient.resolve,
        authorities: String? = nil
    ) {
        self.group = group
        self.milliseconds = milliseconds
        self.judge = judge
        self.resolve = resolve
        self.authorities = authorities
    }

    package func post(
        _ content: Bytes,
        to address: WebAddress,
        headers: [(name: String, value: String)]
    ) async throws -> (status: Int, body: Bytes) {
        guard address.isSecret else {
            throw Failure(description: "\(address.origin) is not reached by https")
        }
        let request = OutboundWebClient.request(content, address, headers)
        let exchange = Task { try await send(request, to: address) }
        let timeout = group.any().scheduleTask(in: .milliseconds(milliseconds)) {
            exchange.cancel()
        }
        defer { timeout.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await exchange.value
            } onCancel: {
                exchange.cancel()
            }
        } catch  where exchange.isCancelled && !Task.isCancelled {
            throw Failure(
                description: "\(address.host) did not answer within \(milliseconds) ms"
            )
        }
    }

    private static func request(
        _ content: Bytes,
        _ address: WebAddress,
        _ headers: [(name: String, value: String)]
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address.text)
        request.method = .POST
        request.headers = HTTPHeaders(
            [("Accept", "application/json"), ("Connection", "close")]
                + headers.map { ($0.name, $0.value) }
        )
        request.body = .bytes(ByteBuffer(bytes: content))
        return request
    }

    private func send(
        _ request: HTTPClientRequest,
        to address: WebAddress
    ) async throws -> (status: Int, body: Bytes) {
        let configuration = try await configuration(for: address)
        return try await HTTPClient.withHTTPClient(
            eventLoopGroup: group,
            configuration: configuration
        ) { client in
            let response: HTTPClientResponse
            do {
                response = try await client.execute(request, timeout: .milliseconds(milliseconds))
            } catch  where OutboundWebClient.isDoubt(error) {
                throw Failure(
                    description: "the certificate of \(address.host) is not one that the system's "
                        + "authorities vouch for"
                )
            }
            do {
                let body = try await response.body.collect(upTo: OutboundWebClient.mostBytes)
                return (Int(response.status.code), Bytes(body.readableBytesView))
            } catch is NIOTooManyBytesError {
                throw Failure(description: "the answer of \(address.host) is too large")
            }
        }
    }

    /// Whether TLS ended because the certificate is not believed; only the error's text says so.
    private static func isDoubt(_ error: any Error) -> Bool {
        "\(error)".contains("CERTIFICATE_VERIFY_FAILED")
    }

    private func configuration(
        for address: WebAddress
    ) async throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration.outbound(
            milliseconds: milliseconds,
            trusting: try authorities.map { try NIOSSLCertificate.fromPEMFile($0) }
        )
        configuration.httpVersion = .http1Only
        if let judge {
            configuration.dnsOverride = try await places(of: address, judge)
        }
        return configuration
    }

    // MARK: Addresses

    /// The addresses to connect to for the host; empty if the host is an address, which is not
    /// resolved.
    ///
    /// The certificate is still checked against the host's name.
    private func places(
        of address: WebAddress,
        _ judge: Judge
    ) async throws -> [String: String] {
        if let place = try? SocketAddress(ipAddress: address.host, port: address.port) {
            try check(place, of: address, judge)
            return [:]
        }
        // The client may spell such a name in another way, and resolve it by itself then.
        guard !address.host.split(separator: ".").contains(where: { $0.hasPrefix("xn--") }) else {
            throw Failure(
                description: "\(address.host) is an international name, whose address can't be "
                    + "held to; use a name of plain letters"
            )
        }
        let place = try await resolve(address.host, address.port)
        try check(place, of: address, judge)
        guard let text = place.ipAddress else {
            throw Failure(description: "\(address.host) has no IP address")
        }
        return [address.host: text]
    }

    private func check(
        _ place: SocketAddress,
        of address: WebAddress,
        _ judge: Judge
    ) throws(Failure) {
        guard judge(place.addressBytes) else {
            throw Failure(
                description: "\(address.host) leads to \(place.ipAddress ?? "no IP address"), "
                    + "which is not an address of the public Internet"
            )
        }
    }

    /// Asks the system.
    package static let resolve: Resolver = { host, port in
        try await NIOThreadPool.singleton.runIfActive {
            try SocketAddress.makeAddressResolvingHost(host, port: port)
        }
    }
}

extension HTTPClient.Configuration {
    /// How the node calls others: by TLS 1.2 or later, to the address that was named and no other.
    ///
    /// It uses no proxy and decompresses nothing. Callers repeat requests at their own pace.
    ///
    /// - Parameters:
    ///   - milliseconds: How long a connection may take to be made.
    ///   - authorities: Whose certificates are believed; nil means the system's authorities.
    static func outbound(
        milliseconds: Int64,
        trusting authorities: [NIOSSLCertificate]?
    ) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.shutdownTimeout = .milliseconds(500)
        if let authorities { tls.trustRoots = .certificates(authorities) }
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = tls
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .milliseconds(milliseconds))
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }
}
