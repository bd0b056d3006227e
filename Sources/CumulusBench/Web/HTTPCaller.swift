// Requests over HTTP to one server, by async-http-client: each call in flight has a connection of
// its own, which is kept.
//
// Each figure of the path `http` makes one, and so does nginx beside it. The callers also run on
// the thread of the connections, as with the client of the binary protocol. See `Bench+HTTP` for
// the library's effect on the figures.

import AsyncHTTPClient
import CumulusTerminal
import CumulusTransport
import NIOCore
import NIOHTTP1

struct HTTPCaller: Sendable {
    private let client: HTTPClient
    /// The thread of the connections.
    let executor: any TaskExecutor

    /// How long a request may take; it is far more than one takes.
    private static let timeout = TimeAmount.seconds(60)
    private static let mostBodyBytes = 1 << 20

    /// A caller for the length of a body.
    ///
    /// - Parameter connections: The most calls in flight; more calls wait.
    static func with<Value>(
        connections: Int,
        _ body: (HTTPCaller) async throws -> Value
    ) async throws -> Value {
        let loops = EventLoops(threads: 1)
        let value = await Result {
            try await HTTPClient.withHTTPClient(
                eventLoopGroup: loops.group,
                configuration: configuration(connections)
            ) { client in
                try await body(HTTPCaller(client: client, executor: loops.next()))
            }
        }
        try? await loops.stop()
        return try value.get()
    }

    private static func configuration(_ connections: Int) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.httpVersion = .http1Only
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        // An unreachable server is an error at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        return configuration
    }

    /// Sends a request and waits for its answer; one that tells of a mistake is thrown.
    func ask(_ request: HTTPClientRequest) async throws -> HTTPAnswer {
        let answer: HTTPAnswer
        do {
            let response = try await client.execute(request, timeout: HTTPCaller.timeout)
            let body = try await response.body.collect(upTo: HTTPCaller.mostBodyBytes)
            answer = HTTPAnswer(status: Int(response.status.code), body: body)
        } catch {
            throw BenchProblem(message: "over HTTP: \(error)")
        }
        if let mistake = answer.mistake { throw BenchProblem(message: "over HTTP: \(mistake)") }
        return answer
    }
}

struct HTTPAnswer: Equatable, Sendable {
    var status: Int
    var body: ByteBuffer

    /// The node's error for the request, or for one of its records.
    var mistake: String? {
        guard status != 200 || body.holds(HTTPAnswer.refusal) else { return nil }
        return "\(status) \(String(decoding: body.readableBytesView.prefix(500), as: UTF8.self))"
    }

    /// It is looked for as bytes: to read the JSON takes more time.
    private static let refusal = [UInt8]("serverErrorCode".utf8)
}

extension ByteBuffer {
    /// Whether a part stands somewhere in it.
    fileprivate func holds(_ part: [UInt8]) -> Bool {
        withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while let place = rest.firstIndex(of: part[0]) {
                if rest[place...].starts(with: part) { return true }
                rest = rest[(place + 1)...]
            }
            return false
        }
    }
}
