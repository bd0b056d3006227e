// The HTTP listener of a node. Hummingbird carries requests; `WebGateway` and `OperatorPages`
// answer them.
//
// Made by `cumulusd` where it is asked for. It holds strangers to limits before anything is read:
// connections of one caller and of all, the size of heads and bodies, bytes of all bodies together,
// how slowly bytes may come and go, and the time that a request may take from its first byte to its
// answer.
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
    /// The bounds for strangers.
    package struct Bounds: Sendable {
        package var connections = 1_000
        /// Connections of one address, or of one caller that a proxy names.
        package var connectionsOfOne = 256
        /// Beyond these, for health checks and operators.
        package var reservedConnections = 64
        package var headBytes = 32 << 10
        package var heads = 100
        package var bodyBytes = 2 << 20
        /// Bytes of all requests that are being read.
        package var allBodyBytes = 64 << 20
        /// Bytes of one uploaded file, which passes through and is not held.
        package var uploadBytes = WebTransfers.uploadBytes
        /// Memory of all files on their way up or down.
        package var transferBytes = 128 << 20
        /// How long a connection may be silent between requests, in milliseconds.
        package var idleMilliseconds: Int64 = 60_000
        /// The longest time from a request's first byte to the reading of its body, and from there
        /// to the first byte of its answer; for an upload, for each part.
        package var requestMilliseconds: Int64 = 90_000
        /// The longest time from the first byte of a head to its last.
        package var headMilliseconds: Int64 = 10_000
        /// The longest silence in a body.
        package var bodyMilliseconds: Int64 = 20_000
        /// The longest time in which the caller takes no byte of an answer.
        package var answerMilliseconds: Int64 = 30_000
        /// The least, of a body and of an answer, over a longer time.
        package var bytesPerSecond = 1_024

        package init() {}

        var ofConnections: ConnectionBounds {
            ConnectionBounds(
                most: connections,
                ofOneCaller: connectionsOfOne,
                reserve: reservedConnections
            )
        }

        var pace: PaceBounds {
            PaceBounds(
                headMilliseconds: headMilliseconds,
                bodyMilliseconds: bodyMilliseconds,
                answerMilliseconds: answerMilliseconds,
                bytesPerSecond: max(1, bytesPerSecond)
            )
        }
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
    private let connections: OpenConnections
    private let proxies: TrustedProxies
    private let date = HTTPDate.Latest()

    /// - Parameters:
    ///   - webPages: Asked in this order, before the gateway.
    ///   - hosts: The hosts under which the pages are found.
    ///   - proxies: The proxies that are trusted to name the callers of requests.
    package init(
        _ gateway: WebGateway,
        _ pages: OperatorPages,
        _ webPages: [any WebPages] = [],
        hosts: WebHosts = WebHosts(),
        proxies: TrustedProxies = TrustedProxies(),
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
        self.proxies = proxies
        connections = OpenConnections(bounds.ofConnections)
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
        let channel = GuardedChannel(
            bounds,
            connections: connections,
            proxies: proxies,
            secure: secure,
            responder: { [self] in try await answer($0, $1, $2) }
        )
        try await channel.run(host: host, port: port, on: group, logger, onRunning)
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
        response.headers[.date] = date.text(door.now)
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
        var web = HTTPServer.read(request, method, target)
        let origin = proxies.origin(of: caller.address, web.headers)
        web.address = origin.address
        web.isEncrypted = secure != nil
        web.isSecret = web.isEncrypted || caller.isLoopback
        // A caller for whom a proxy speaks is not on this machine, whatever its address.
        let isLocal = caller.isLoopback && !origin.isForwarded
        let named = origin.isForwarded ? origin.address : nil
        let path = WebText.path(of: target)
        let claim = claim(of: web, at: path, isLocal: isLocal)
        guard connections.begin(caller.id, from: named, claim) else {
            return refusal(HTTPServer.crowded)
        }
        if OperatorPages.isAt(path) {
            let answer = await self.pages.answer(
                method,
                target,
                isLoopback: isLocal,
                isOwnHost: hosts.admits(host),
                address: origin.address,
                authorization: web.headers["authorization"]
            )
            if let answer { return HTTPServer.response(answer) }
        }
        let pages = webPages.first { $0.isAt(path) }
        if pages != nil, !hosts.admits(host) { return refusal(WebHosts.refusal(of: host)) }
        if let response = await transfer(request, web, pages, caller) { return response }
        if let response = await poll(request, web, caller) { return response }
        let part = RoomPart(of: bodies)
        defer { withExtendedLifetime(part) {} }
        do throws(WebError) {
            guard web.contentLength ?? 0 <= bounds.bodyBytes else { throw tooLarge }
            caller.expectBody()
            web.body = try await body(of: request, part)
        } catch {
            return refusal(error)
        }
        if let answer = await pages?.answer(web) { return HTTPServer.response(answer) }
        return HTTPServer.response(await gateway.answer(web))
    }

    /// The privilege of a request when all others fill the room.
    private func claim(
        of web: WebRequest,
        at path: Substring,
        isLocal: Bool
    ) -> ConnectionClaim {
        if OperatorPages.isAt(path) { return isLocal ? .ofOperator : .page }
        guard let pages = webPages.first(where: { $0.isAt(path) }), pages.areForOperators else {
            return .none
        }
        return isLocal || pages.isOfOperator(web) ? .ofOperator : .page
    }

    /// Reads a body as far as there is room for it.
    private func body(
        of request: Request,
        _ part: RoomPart
    ) async throws(WebError) -> Bytes {
        var bytes: Bytes = []
        do {
            for try await buffer in request.body {
                guard bytes.count + buffer.readableBytes <= bounds.bodyBytes else {
                    throw tooLarge
                }
                try part.grow(by: buffer.readableBytes)
                buffer.withUnsafeReadableBytes { bytes.append(contentsOf: $0) }
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

    private static let crowded: WebError = {
        var error = WebError(
            .tryAgainLater,
            "the node has as many connections as it has room for, or as one caller may have"
        )
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
