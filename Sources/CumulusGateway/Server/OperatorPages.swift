// The doors that every operator knows: /livez, /readyz and /metrics.
//
// Asked by `HTTPServer` before anything else. They tell how the node is and nothing about its
// users. They tell metrics, and what a new node waits for, to this machine only; the operator may
// open the metrics to all.

import CumulusModel
package import CumulusNode

package struct OperatorPages: Sendable {
    private let node: Node
    private let meter: WebMeter
    /// nil: the node delivers no webhooks.
    private let webhooks: WebhookMeter?
    /// The metrics of the process's libraries.
    private let libraries: PrometheusRegistry?
    private let showsMetricsToAll: Bool

    package init(
        _ node: Node,
        _ meter: WebMeter,
        webhooks: WebhookMeter? = nil,
        libraries: PrometheusRegistry? = nil,
        showsMetricsToAll: Bool = false
    ) {
        self.node = node
        self.meter = meter
        self.webhooks = webhooks
        self.libraries = libraries
        self.showsMetricsToAll = showsMetricsToAll
    }

    /// Whether a path is one of these pages.
    static func isAt(_ path: Substring) -> Bool {
        path == "/livez" || path == "/readyz" || path == "/metrics"
    }

    /// nil if the page is none of these.
    ///
    /// - Parameter isOwnHost: The request names a host of the node, see `WebHosts`.
    package func answer(
        _ method: String,
        _ target: String,
        isLoopback: Bool,
        isOwnHost: Bool
    ) async -> WebAnswer? {
        let path = target.prefix { $0 != "?" }
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
            guard isLoopback || showsMetricsToAll else {
                return OperatorPages.text(403, "metrics are told to this machine only\n")
            }
            // A page in a browser of this machine may have let its own name lead here.
            guard isOwnHost || showsMetricsToAll else {
                return OperatorPages.text(
                    421,
                    "metrics are told under the node's own hosts only: ask for them at localhost, "
                        + "or start cumulusd with --web-host\n"
                )
            }
            let web = meter.metrics + (webhooks?.metrics(now: node.environment.wallClock()) ?? [])
            let text = await node.metricsText(and: web + (libraries?.families ?? []))
            var answer = OperatorPages.text(200, text)
            answer.headers[0].value = MetricsText.contentType
            return answer
        }
    }

    private static func text(_ status: Int, _ body: String, _ allow: String? = nil) -> WebAnswer {
        var headers = [
            (name: "Content-Type", value: "text/plain; charset=utf-8"),
            (name: "Cache-Control", value: "no-store"),
            (name: "X-Content-Type-Options", value: "nosniff"),
        ]
        if let allow { headers.append((name: "Allow", value: allow)) }
        return WebAnswer(status: status, headers: headers, body: Bytes(body.utf8))
    }
}
