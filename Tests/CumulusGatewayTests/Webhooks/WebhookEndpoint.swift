// An endpoint for webhooks on a real socket, for tests: it remembers what arrives, and fails as
// often as it is told to.

import CumulusGateway
import CumulusModel
import CumulusTesting
import CumulusTransport
import Logging
import Synchronization
import Testing

final class WebhookEndpoint: WebPages {
    struct Arrival: Sendable {
        var body: Bytes
        var signature: String
        var isTaken: Bool

        private var json: JSON? { try? JSONReader.read(body) }
        /// The id of the notification.
        var id: String { json?["ck"]?["nid"]?.string ?? "" }
        /// On whose behalf it was sent.
        var user: String { json?["user"]?.string ?? "" }
        /// The record that it tells of.
        var record: String { json?["ck"]?["qry"]?["rid"]?.string ?? "" }
        /// Why: 1 means created, 2 updated, 3 deleted.
        var reason: Int64? {
            guard case .integer(let reason)? = json?["ck"]?["qry"]?["fo"] else { return nil }
            return reason
        }
    }

    private struct State {
        var arrivals: [Arrival] = []
        var failures = 0
        var refused: String?
        var open = 0
        var mostOpen = 0
    }

    private let state = Mutex(State())

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    /// Records that it was told of and took, in the order of the first time.
    var records: [String] {
        arrivals.filter(\.isTaken).map(\.record).reduce(into: []) { records, record in
            if !records.contains(record) { records.append(record) }
        }
    }
    /// Requests that were open at the same time.
    var mostOpen: Int { state.withLock { $0.mostOpen } }

    /// Refuses the next requests.
    func fail(_ count: Int) { state.withLock { $0.failures = count } }

    /// Refuses all that tells of a record; nil ends that.
    func refuse(_ record: String?) { state.withLock { $0.refused = record } }

    /// Why each notification of a record came, in the order in which they came.
    func reasons(of record: String) -> [Int64?] {
        arrivals.filter { $0.record == record }.map(\.reason)
    }

    func isAt(_ path: Substring) -> Bool { path == "/hook" }

    func answer(_ request: WebRequest) async -> WebAnswer? {
        guard request.method == "POST", request.target == "/hook?a=b" else { return nil }
        let signature = request.headers["cumulus-signature"] ?? ""
        var arrival = Arrival(body: request.body, signature: signature, isTaken: false)
        let record = arrival.record
        arrival.isTaken = state.withLock { state in
            state.open += 1
            state.mostOpen = max(state.mostOpen, state.open)
            state.failures -= 1
            return state.failures < 0 && state.refused != record
        }
        let came = arrival
        // Long enough for a second request to arrive, if one were sent.
        try? await Task.sleep(for: .milliseconds(10))
        state.withLock { state in
            state.open -= 1
            state.arrivals.append(came)
        }
        return WebAnswer(status: came.isTaken ? 204 : 503)
    }

    /// Serves an endpoint for the length of a test.
    static func serve(
        _ body: (_ endpoint: WebhookEndpoint, _ address: String) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let loops = EventLoops(threads: 1)
        let gateway = WebGateway(NodeDoor(server.node) { _ in nil })
        let endpoint = WebhookEndpoint()
        let http = HTTPServer(
            gateway,
            OperatorPages(server.node, gateway.meter),
            [endpoint],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (ports, source) = AsyncStream<Int>.makeStream()
        let task = Task {
            try? await http.run(host: "127.0.0.1", port: 0, on: loops.group) { source.yield($0) }
            source.finish()
        }
        var port: Int?
        for await bound in ports {
            port = bound
            break
        }
        do {
            let port = try #require(port)
            try await body(endpoint, "http://127.0.0.1:\(port)/hook?a=b")
        } catch {
            Issue.record(error)
        }
        task.cancel()
        await task.value
        try await loops.stop()
        try await server.stop()
    }
}
