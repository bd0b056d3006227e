// The HTTP listener of a node. Hummingbird carries requests; `WebGateway` and `OperatorPages`
// answer them.
//
// Made by `cumulusd` where it is asked for. It holds strangers to limits before anything is read:
// connections, the size of heads and bodies, bytes of all bodies together, and the time that a
// request may take from its first byte to its answer.
//
// Folder: HTTP on real sockets. Read `HTTPServer`, then `GuardedChannel` and `OperatorPages`.

import CumulusModel
import CumulusTransport
import HTTPTypes
import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
package import NIOSSL

package struct HTTPServer: Sendable {
    /// What strangers are held to.
    package struct Bounds: Sendable {
        package var connections = 1_000
        package var headBytes = 32 << 10
        package var heads = 100
        package var bodyBytes = 2 << 20
        /// Of all requests that are being read.
        package var allBodyBytes = 64 << 20
        /// Of one file that is uploaded; it passes through and is not held.
        package var uploadBytes = WebTransfers.uploadBytes
        /// What all files on their way up or down hold in memory.
        package var transferBytes = 128 << 20
        /// How long a connection may be silent between requests, in milliseconds.
        package var idleMilliseconds: Int64 = 60_000
        /// From a request's first byte to the reading of its body, and from there to the first byte
        /// of its answer; of an upload, for each part.
        package var requestMilliseconds: Int64 = 90_000

        package init() {}
    }

    /// Gives the certificate of the moment; nil: plain HTTP.
    package typealias Secure = @Sendable () throws -> NIOSSLContext

    let gateway: WebGateway
    private let pages: OperatorPages
    private let webPages: [any WebPages]
    private let hosts: WebHosts
    let bounds: Bounds
    private let secure: Secure?
    private let logger: Logger
    private let bodies: BodyRoom
    let transfers: BodyRoom

    /// - Parameters:
    ///   - webPages: Asked in this order, before the gateway.
    ///   - hosts: Those under which they are found.
    package init(
        _ gateway: WebGateway,
        _ pages: OperatorPages,
        _ webPages: [any WebPages] = [],
        hosts: WebHosts = WebHosts(),
        secure: Secure? = nil,
        bounds: Bounds = Bounds(),
        logger: Logger
    ) {
        self.gateway = gateway
        self.pages = pages
        self.webPages = webPages
        self.hosts = hosts
        self.secure = secure
        self.bounds = bounds
        self.logger = logger
        bodies = BodyRoom(bounds.allBodyBytes)
        transfers = BodyRoom(bounds.transferBytes)
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onRunning: Told the port that was bound.
    package func run(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        onRunning: @escaping @Sendable (Int) -> Void
    ) async throws {
        var configuration = HTTP1Channel.Configuration(
            idleTimeout: .milliseconds(bounds.idleMilliseconds)
        )
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: bounds.headBytes,
            maxHeaderListSize: bounds.headBytes,
            maxHeaderFieldCount: bounds.heads
        )
        let channel = GuardedChannel(
            base: HTTP1Channel(
                responder: { [self] in try await answer($0, $1, $2) },
                configuration: configuration
            ),
            requestMilliseconds: bounds.requestMilliseconds,
            secure: secure
        )
        // It calls each connection that a shutdown ends an error. What goes wrong is thrown, too.
        var quiet = logger
        quiet.logLevel = .critical
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(
                address: .hostname(host, port: port),
                availableConnectionsDelegate: MaximumAvailableConnections(
                    bounds.connections,
                    logger: logger
                )
            ),
            onServerRunning: { onRunning($0.localAddress?.port ?? port) },
            eventLoopGroup: group,
            logger: quiet
        )
        try await server.run()
        // What the server still holds schedules work on the loops when it is freed. This frees it
        // now; else that could be after the loops have ended, since a task may hold the server for
        // a moment after its end. The error says that its channels are closed already.
        try? await server.shutdownGracefully()
    }

    /// Where a request comes from.
    struct Caller {
        let address: Bytes
        let isLoopback: Bool
        let channel: any Channel

        init(_ channel: any Channel) {
            address = channel.remoteAddress?.addressBytes ?? []
            isLoopback = channel.remoteAddress?.isLoopback ?? false
            self.channel = channel
        }

        /// The body is read, or the answer made, from now on: the request has its time once more,
        /// and a caller that waits with its body is told to send it.
        func expectBody() {
            channel.triggerUserOutboundEvent(RequestCameOn(), promise: nil)
        }
    }

    // MARK: Requests

    private struct UnreadableRequest: Error {}

    @concurrent private func answer(
        _ request: Request,
        _ writer: consuming ResponseWriter,
        _ channel: any Channel
    ) async throws {
        var response = await traced(request, Caller(channel))
        if request.method == .head { response = response.createHeadResponse() }
        response.headers[.date] = HTTPDate.text(door.now)
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch is HTTPParserError {
            // Hummingbird would send a second answer for an error of the parser.
            throw UnreadableRequest()
        }
    }

    /// The answer to a request that names a trace names the node's step of it.
    private func traced(_ request: Request, _ caller: Caller) async -> Response {
        // A request that names two traces belongs to none.
        let named = request.headers[values: .traceparent]
        guard named.count == 1, let trace = TraceContext(traceparent: named[0])?.step(door.random())
        else { return await respond(to: request, caller) }
        var response = await TraceContext.$current.withValue(trace) {
            await respond(to: request, caller)
        }
        response.headers.append(
            contentsOf: HTTPServer.fields([("traceresponse", trace.traceparent)])
        )
        return response
    }

    private var door: any WebDoor { gateway.door }

    private func respond(to request: Request, _ caller: Caller) async -> Response {
        let target = request.head.path ?? "/"
        let method = request.method.rawValue
        let host = request.head.authority ?? ""
        let operatorAnswer = await pages.answer(
            method,
            target,
            isLoopback: caller.isLoopback,
            isOwnHost: hosts.admits(host)
        )
        if let operatorAnswer { return HTTPServer.response(operatorAnswer) }
        var headers: [String: String] = [:]
        // A field on several lines is one list: RFC 9110, section 5.3.
        for field in request.headers {
            let name = field.name.canonicalName
            let separator = name == "cookie" ? "; " : ", "
            headers[name] = headers[name].map { $0 + separator + field.value } ?? field.value
        }
        if !host.isEmpty { headers["host"] = host }
        var web = WebRequest(method, target, headers: headers)
        web.address = caller.address
        web.isEncrypted = secure != nil
        web.isSecret = web.isEncrypted || caller.isLoopback
        let path = target.prefix { $0 != "?" }
        let pages = webPages.first { $0.isAt(path) }
        if pages != nil, !hosts.admits(host) { return refusal(WebHosts.refusal(of: host)) }
        if let response = await transfer(request, web, pages, caller) { return response }
        if let response = await poll(request, web, caller) { return response }
        let share = RoomShare(of: bodies)
        defer { withExtendedLifetime(share) {} }
        do throws(WebError) {
            guard web.contentLength ?? 0 <= bounds.bodyBytes else { throw tooLarge }
            caller.expectBody()
            web.body = try await body(of: request, share)
        } catch {
            return refusal(error)
        }
        if let answer = await pages?.answer(web) { return HTTPServer.response(answer) }
        return HTTPServer.response(await gateway.answer(web))
    }

    /// Reads a body as far as there is room for it.
    private func body(
        of request: Request,
        _ share: RoomShare
    ) async throws(WebError) -> Bytes {
        var bytes: Bytes = []
        do {
            for try await buffer in request.body {
                guard bytes.count + buffer.readableBytes <= bounds.bodyBytes else {
                    throw tooLarge
                }
                try share.grow(by: buffer.readableBytes)
                bytes += buffer.readableBytesView
            }
        } catch let error as WebError {
            throw error
        } catch {
            throw .badRequest("the body ended early")
        }
        return bytes
    }

    private var tooLarge: WebError {
        .badRequest("the body is larger than \(bounds.bodyBytes) bytes; send it in parts")
    }

    static let full: WebError = {
        var error = WebError(.tryAgainLater, "the node reads as many requests as it has room for")
        error.retryAfter = 1
        return error
    }()

    /// The answer to a request that goes no further; it is counted.
    func refusal(_ error: WebError) -> Response {
        let answer = gateway.refusal(error)
        gateway.meter.note(nil, status: answer.status, microseconds: 0)
        return HTTPServer.response(answer)
    }

    static func fields(_ headers: [(name: String, value: String)]) -> HTTPFields {
        var fields = HTTPFields()
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { continue }
            fields[name] = value
        }
        return fields
    }

    static func response(_ answer: WebAnswer) -> Response {
        let fields = fields(answer.headers)
        let status = HTTPResponse.Status(code: answer.status)
        if answer.body.isEmpty { return Response(status: status, headers: fields) }
        let body = ByteBuffer(bytes: answer.body)
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: body))
    }
}
