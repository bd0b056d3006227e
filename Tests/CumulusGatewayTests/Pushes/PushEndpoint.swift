// The three kinds of push services on one real socket, for tests: they remember what arrives, and
// fail as often as they are told to.
//
// It speaks HTTP/1.1 without TLS. `PushServiceTests` has services in another language, over HTTP/2.

import CumulusGateway
import CumulusModel
import CumulusTesting
import CumulusTransport
import Logging
import Synchronization
import Testing

final class PushEndpoint: WebPages {
    struct Arrival: Sendable {
        var service: PushService
        /// The device token, or the path of a browser's endpoint.
        var device: String
        var headers: [String: String]
        var body: Bytes
        var status: Int
        /// When it arrived.
        var time: ContinuousClock.Instant

        /// The `ck` of what APNs and FCM are sent.
        var ck: JSON? {
            let json = try? JSONReader.read(body)
            guard case .string(let text)? = json?["message"]?["data"]?["ck"] else {
                return json?["ck"]
            }
            return try? JSONReader.read(Bytes(text.utf8))
        }

        var record: String? {
            guard case .string(let name)? = ck?["qry"]?["rid"] else { return nil }
            return name
        }

        var isTaken: Bool { (200..<300).contains(status) }
    }

    /// What a service answers.
    struct Answer: Sendable {
        var status: Int
        var headers: [(name: String, value: String)] = []
        var body = ""
    }

    private struct State {
        var arrivals: [Arrival] = []
        /// The next answers, by services; after them all is taken.
        var answers: [PushService: [Answer]] = [:]
        var tokens = 0
        var hanging: Set<PushService> = []
    }

    private let state = Mutex(State())

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    /// Access tokens that were given.
    var tokens: Int { state.withLock { $0.tokens } }

    func taken(by service: PushService) -> [Arrival] {
        arrivals.filter { $0.service == service && $0.isTaken }
    }

    func answer(_ service: PushService, _ answers: Answer...) {
        state.withLock { $0.answers[service, default: []] += answers }
    }

    /// Lets a service never answer; false ends that.
    func hang(_ service: PushService, _ hangs: Bool = true) {
        state.withLock { state in
            if hangs { state.hanging.insert(service) } else { state.hanging.remove(service) }
        }
    }

    func isAt(_ path: Substring) -> Bool {
        path.hasPrefix("/3/device/") || path.hasPrefix("/browser/") || path.hasPrefix("/v1/")
            || path == "/token"
    }

    func answer(_ request: WebRequest) async -> WebAnswer? {
        guard request.method == "POST" else { return nil }
        if request.target == "/token" {
            let number = state.withLock { state in
                state.tokens += 1
                return state.tokens
            }
            return WebAnswer(
                status: 200,
                body: Bytes("{\"access_token\": \"at\(number)\", \"expires_in\": 3600}".utf8)
            )
        }
        let service: PushService =
            switch request.target.prefix(3) {
            case "/3/": .apns
            case "/br": .webPush
            default: .fcm
            }
        let (answer, hangs) = state.withLock { state in
            let answer = state.answers[service]?.first
            if answer != nil { state.answers[service]?.removeFirst() }
            return (answer ?? Answer(status: 201), state.hanging.contains(service))
        }
        let arrival = Arrival(
            service: service,
            device: String(request.target.split(separator: "/").last ?? ""),
            headers: request.headers,
            body: request.body,
            status: hangs ? 0 : answer.status,
            time: .now
        )
        state.withLock { $0.arrivals.append(arrival) }
        while !Task.isCancelled, state.withLock({ $0.hanging.contains(service) }) {
            try? await Task.sleep(for: .milliseconds(20))
        }
        return WebAnswer(
            status: answer.status,
            headers: answer.headers,
            body: Bytes(answer.body.utf8)
        )
    }

    /// Serves for the length of a test.
    static func serve(
        _ body: (_ endpoint: PushEndpoint, _ address: String) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let loops = EventLoops(threads: 1)
        let gateway = WebGateway(NodeDoor(server.node) { _ in nil })
        let endpoint = PushEndpoint()
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
            try await body(endpoint, "http://127.0.0.1:\(port)")
        } catch {
            Issue.record(error)
        }
        task.cancel()
        await task.value
        try await loops.stop()
        try await server.stop()
    }
}
