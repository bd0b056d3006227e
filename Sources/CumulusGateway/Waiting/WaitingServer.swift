// HTTP of a process that stands by, before it has a node: it lives and is not ready. A caller that
// asks for anything else is told to ask another process.
//
// Made by `cumulusd --standby`. It holds strangers to the limits of `HTTPServer`, reads no body,
// and gives its port up when its task is cancelled.
//
// Folder: HTTP before there is a node. Read `WaitingServer`.

import HTTPTypes
import HummingbirdCore
package import Logging
package import NIOCore

package struct WaitingServer: Sendable {
    private let secure: HTTPServer.Secure?
    private let logger: Logger

    /// - Parameter secure: Gives the certificate of the moment; nil: plain HTTP.
    package init(secure: HTTPServer.Secure?, logger: Logger) {
        self.secure = secure
        self.logger = logger
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
        let bounds = HTTPServer.Bounds()
        let connections = OpenConnections(bounds.ofConnections)
        let channel = GuardedChannel(
            bounds,
            connections: connections,
            proxies: TrustedProxies(),
            secure: secure,
            responder: { request, writer, channel in
                _ = connections.begin(ObjectIdentifier(channel), from: nil, .page)
                let answer = WaitingServer.answer(
                    request.method.rawValue,
                    WebText.path(of: request.head.path ?? "/")
                )
                var response = HTTPServer.response(answer)
                if request.method == .head { response = response.createHeadResponse() }
                try await writer.write(response: response.head, body: response.body)
            }
        )
        try await channel.run(host: host, port: port, on: group, logger, onRunning)
    }

    /// The answer to a request; the same for everybody.
    static func answer(_ method: String, _ path: Substring) -> WebAnswer {
        guard method == "GET" || method == "HEAD" else { return away }
        switch path {
        case "/livez": return OperatorPages.text(200, "ok\n")
        case "/readyz": return OperatorPages.text(503, "standby\n")
        default: return away
        }
    }

    private static let away: WebAnswer = {
        var answer = OperatorPages.text(503, "this process stands by: ask the one that serves\n")
        answer.headers.append((name: "Retry-After", value: "1"))
        return answer
    }()
}
