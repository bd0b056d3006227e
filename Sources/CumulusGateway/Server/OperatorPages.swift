// The doors that every operator knows: /livez, /readyz and /metrics.
//
// Asked by `HTTPServer` before anything else. They tell how the node is and nothing about its
// users. They tell metrics, and what a new node waits for, to this machine only; the operator may
// let others have the metrics, see `MetricsAccess`.

package import CumulusModel
package import CumulusNode

package struct OperatorPages: Sendable {
    private let node: Node
    private let meter: WebMeter
    /// nil: the node delivers no webhooks.
    private let webhooks: WebhookMeter?
    /// nil: the node wakes no devices.
    private let pushes: PushMeter?
    /// The metrics of the process's libraries.
    private let libraries: PrometheusRegistry?
    private let access: MetricsAccess

    package init(
        _ node: Node,
        _ meter: WebMeter,
        webhooks: WebhookMeter? = nil,
        pushes: PushMeter? = nil,
        libraries: PrometheusRegistry? = nil,
        access: MetricsAccess = MetricsAccess()
    ) {
        self.node = node
        self.meter = meter
        self.webhooks = webhooks
        self.pushes = pushes
        self.libraries = libraries
        self.access = access
    }

    /// Whether a path is one of these pages.
    static func isAt(_ path: Substring) -> Bool {
        path == "/livez" || path == "/readyz" || path == "/metrics"
    }

    /// nil if the page is none of these.
    ///
    /// - Parameters:
    ///   - isOwnHost: The request names a host of the node, see `WebHosts`.
    ///   - address: The caller's, 4 or 16 bytes.
    ///   - authorization: The header of that name.
    package func answer(
        _ method: String,
        _ target: String,
        isLoopback: Bool,
        isOwnHost: Bool,
        address: Bytes = [],
        authorization: String? = nil
    ) async -> WebAnswer? {
        let path = WebText.path(of: target)
        guard OperatorPages.isAt(path) else { return nil }
        guard method == "GET" || method == "HEAD" else {
            return OperatorPages.text(405, "\(path) takes GET, not \(method)\n", "GET, HEAD")
        }
        switch path {
        case "/livez": return OperatorPages.text(200, "ok\n")
        case "/readyz":
            let state = node.state
            // The reason names other nodes and why they can't be reached.
            let reason = isLoopback && isOwnHost ? node.notReady : ""
            let text = [state, reason].filter { !$0.isEmpty }.joined(separator: ": ")
            return OperatorPages.text(state == "ready" ? 200 : 503, text + "\n")
        default:
            let verdict = access.verdict(
                address,
                authorization,
                isLoopback: isLoopback,
                isOwnHost: isOwnHost
            )
            if let refusal = OperatorPages.refusal(verdict) { return refusal }
            let now = node.environment.wallClock()
            let told = (webhooks?.metrics(now: now) ?? []) + (pushes?.metrics(now: now) ?? [])
            let web = meter.metrics + told
            let text = await node.metricsText(and: web + (libraries?.families ?? []))
            var answer = OperatorPages.text(200, text)
            answer.headers[0].value = MetricsText.contentType
            return answer
        }
    }

    /// nil for a caller who is told.
    private static func refusal(_ verdict: MetricsAccess.Verdict) -> WebAnswer? {
        switch verdict {
        case .told: return nil
        case .wrongHost:
            return text(
                421,
                "metrics are told under the node's own hosts only: ask for them at localhost, "
                    + "or start cumulusd with --web-host\n"
            )
        case .wrongToken:
            var answer = text(
                401,
                "metrics need the token of --metrics-token-file: Authorization: Bearer TOKEN\n"
            )
            answer.headers.append((name: "WWW-Authenticate", value: "Bearer"))
            return answer
        case .refused:
            return text(
                403,
                "metrics are told to this machine only; start cumulusd with --metrics-from or "
                    + "--metrics-token-file\n"
            )
        }
    }

    static func text(_ status: Int, _ body: String, _ allow: String? = nil) -> WebAnswer {
        var headers = [
            (name: "Content-Type", value: "text/plain; charset=utf-8"),
            (name: "Cache-Control", value: "no-store"),
            (name: "X-Content-Type-Options", value: "nosniff"),
        ]
        if let allow { headers.append((name: "Allow", value: allow)) }
        return WebAnswer(status: status, headers: headers, body: Bytes(body.utf8))
    }
}
