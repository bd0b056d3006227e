// The seam to push services: one request, one answer. And the client that makes it over sockets.
//
// Called by `PushSender`. Connections stay open for the next push, and carry many at a time over
// HTTP/2 where the service speaks it. Nothing tells that such a connection is dead but the silence
// at its other end: after some of it, all connections are made anew. A request has an end in time
// and a bound on its answer. Redirects are not followed, and no proxy is used. Where requests go,
// the operator has said.

import AsyncHTTPClient
package import CumulusModel
package import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

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

    private struct State {
        var client: HTTPClient
        /// The one before; its requests are over when the next one takes the place of `client`.
        var former: HTTPClient?
        /// Requests in a row without an answer, by origins.
        var silent: [String: Int] = [:]
        /// When `client` was made.
        var made = NIODeadline.now()
        /// How often connections were made anew.
        var renewals = 0
        var isClosed = false
    }

    private let state: Mutex<State>
    private let configuration: HTTPClient.Configuration
    private let group: any EventLoopGroup
    private let milliseconds: Int64

    private static let mostBytes = 64 << 10
    /// So many requests in a row without an answer make the connections suspect.
    private static let mostSilent = 3
    /// Origins that are counted; users of Web Push choose among many.
    private static let mostOrigins = 1_000

    /// - Parameters:
    ///   - milliseconds: How long a request may take.
    ///   - authority: PEM text of the trusted authorities; nil means the system's.
    package init(
        on group: any EventLoopGroup,
        milliseconds: Int64 = 15_000,
        authority: Bytes? = nil
    ) throws {
        let configuration = HTTPClient.Configuration.outbound(
            milliseconds: milliseconds,
            trusting: try authority.map { try NIOSSLCertificate.fromPEMBytes($0) }
        )
        self.configuration = configuration
        self.group = group
        self.milliseconds = milliseconds
        let client = HTTPClient(eventLoopGroup: group, configuration: configuration)
        state = Mutex(State(client: client))
    }

    /// How often connections were made anew since an origin was silent.
    package var renewals: Int { state.withLock(\.renewals) }

    /// Whether a text holds certificates.
    package static func isAuthority(_ text: Bytes) -> Bool {
        (try? NIOSSLCertificate.fromPEMBytes(text))?.isEmpty == false
    }

    package func close() async {
        let (client, former) = state.withLock { state in
            state.isClosed = true
            return (state.client, state.former)
        }
        try? await client.shutdown()
        try? await former?.shutdown()
    }

    /// Notes whether an origin has answered; makes connections anew after much silence.
    ///
    /// At most once in the time of four requests, so that one origin that is down makes no storm
    /// of connections to the others.
    private func note(_ origin: String, answers: Bool) async {
        let (configuration, group) = (configuration, group)
        let least = TimeAmount.milliseconds(4 * milliseconds)
        let over = state.withLock { state -> HTTPClient? in
            if answers || state.isClosed {
                state.silent[origin] = nil
                return nil
            }
            if state.silent.count >= Self.mostOrigins { state.silent = [:] }
            state.silent[origin, default: 0] += 1
            guard state.silent[origin, default: 0] >= Self.mostSilent,
                NIODeadline.now() - state.made >= least
            else { return nil }
            let over = state.former
            state = State(
                client: HTTPClient(eventLoopGroup: group, configuration: configuration),
                former: state.client,
                renewals: state.renewals + 1
            )
            return over
        }
        try? await over?.shutdown()
    }

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
            let answer = try await withTaskCancellationHandler {
                try await exchange.value
            } onCancel: {
                exchange.cancel()
            }
            await note(request.address.origin, answers: true)
            return answer
        } catch {
            let isLate = exchange.isCancelled || error as? HTTPClientError == .deadlineExceeded
            guard isLate, !Task.isCancelled else { throw error }
            await note(request.address.origin, answers: false)
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
        let client = state.withLock(\.client)
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
