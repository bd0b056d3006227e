// The seam to push services: one request, one answer. And the client that makes it over sockets.
//
// Called by `PushSender`. Connections stay open for the next push, and carry many at a time over
// HTTP/2 where the service speaks it. A request has an end in time and a bound on its answer.
// Redirects are not followed, and no proxy is used. Where requests go, the operator has said.

import AsyncHTTPClient
import CumulusModel
package import NIOCore
import NIOHTTP1
import NIOSSL

package protocol PushClient: Sendable {
    /// Sends a request; returns the answer, whatever its status.
    func post(_ request: PushRequest) async throws -> PushAnswer
    /// Ends the connections; no request follows.
    func close() async
}

package final class OutboundPushClient: PushClient {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let client: HTTPClient
    private let group: any EventLoopGroup
    private let milliseconds: Int64

    private static let mostBytes = 64 << 10

    /// - Parameters:
    ///   - milliseconds: How long a request may take.
    ///   - authority: PEM file with the trusted authorities; nil means the system's.
    package init(
        on group: any EventLoopGroup,
        milliseconds: Int64 = 15_000,
        authority: String? = nil
    ) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.shutdownTimeout = .milliseconds(500)
        if let authority {
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authority))
        }
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = tls
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .milliseconds(milliseconds))
        configuration.httpVersion = .automatic
        // Couriers repeat pushes at their own pace.
        configuration.connectionPool.retryConnectionEstablishment = false
        self.group = group
        self.milliseconds = milliseconds
        client = HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    package func close() async { try? await client.shutdown() }

    package func post(_ request: PushRequest) async throws -> PushAnswer {
        guard request.address.isSecret else {
            throw Failure(description: "\(request.address.origin) is not reached by https")
        }
        let exchange = Task { try await send(request) }
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
                description: "\(request.address.host) did not answer within \(milliseconds) ms"
            )
        }
    }

    private func send(_ request: PushRequest) async throws -> PushAnswer {
        var call = HTTPClientRequest(url: request.address.text)
        call.method = .POST
        call.headers = HTTPHeaders(request.headers.map { ($0.name, $0.value) })
        call.body = .bytes(ByteBuffer(bytes: request.body))
        let response = try await client.execute(call, timeout: .milliseconds(milliseconds))
        let body: ByteBuffer
        do {
            body = try await response.body.collect(upTo: OutboundPushClient.mostBytes)
        } catch is NIOTooManyBytesError {
            throw Failure(description: "the answer of \(request.address.host) is too large")
        }
        return PushAnswer(
            status: Int(response.status.code),
            retryAfter: response.headers.first(name: "retry-after"),
            body: Bytes(body.readableBytesView)
        )
    }
}
