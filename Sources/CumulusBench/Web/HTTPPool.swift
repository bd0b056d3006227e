// Connections with keep-alive, each with one request in flight.
//
// One per caller, all on one thread, on which their callers run too: as with the client of the
// binary protocol, a call changes no threads.

import CumulusTransport
import CumulusWire
import Foundation
import Synchronization

final class HTTPPool: Sendable {
    private let loops: EventLoops
    private let free: Mutex<[HTTPConnection]>
    /// The thread of the connections.
    let executor: any TaskExecutor

    /// - Parameter endpoint: "host:port".
    init(to endpoint: String, connections: Int) async throws {
        let loops = EventLoops(threads: 1)
        let dialer = NIOFrameDialer(loops: loops)
        var all: [HTTPConnection] = []
        do {
            for _ in 0..<connections {
                let connection = HTTPConnection()
                try await dialer.connect(to: endpoint) { link, _ in connection.handler(link) }
                all.append(connection)
            }
        } catch {
            try? await loops.stop()
            throw error
        }
        self.loops = loops
        executor = loops.next()
        free = Mutex(all)
    }

    /// Connections for the length of a body.
    static func with<Value>(
        _ endpoint: String,
        connections: Int,
        _ body: (HTTPPool) async throws -> Value
    ) async throws -> Value {
        let pool = try await HTTPPool(to: endpoint, connections: connections)
        do {
            let value = try await body(pool)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Sends a request and waits for its answer; one that tells of a mistake is thrown.
    func ask(_ request: [UInt8]) async throws -> HTTPAnswer {
        guard let connection = free.withLock({ $0.popLast() }) else {
            throw BenchProblem(message: "more requests than connections")
        }
        let answer = try await connection.send(request)
        free.withLock { $0.append(connection) }
        if let mistake = answer.mistake { throw BenchProblem(message: "over HTTP: \(mistake)") }
        return answer
    }

    func close() async {
        try? await loops.stop()
    }
}

/// One connection; a request, then its answer.
final class HTTPConnection: Sendable {
    private typealias Waiter = CheckedContinuation<HTTPAnswer, any Error>

    private struct State {
        var link: (any FrameLink)?
        var output: [UInt8] = []
        var reader = HTTPAnswerReader()
        var waiter: Waiter?
        var isClosed = false
    }

    private let state = Mutex(State())

    func handler(_ link: any FrameLink) -> any FrameHandler {
        state.withLock { $0.link = link }
        return Handler(self)
    }

    func send(_ request: [UInt8]) async throws -> HTTPAnswer {
        try await withCheckedThrowingContinuation { (waiter: Waiter) in
            let link = state.withLock { state -> (any FrameLink)? in
                guard !state.isClosed, let link = state.link else { return nil }
                state.output = request
                state.waiter = waiter
                return link
            }
            guard let link else { return waiter.resume(throwing: HTTPConnection.closed) }
            link.loop.execute { link.needsTurn() }
        }
    }

    private static let closed = BenchProblem(message: "the HTTP server has closed a connection")

    private func take(_ bytes: UnsafeRawBufferPointer) {
        let (waiter, result) = state.withLock { state -> (Waiter?, Result<HTTPAnswer, any Error>) in
            do {
                guard let answer = try state.reader.take(bytes) else {
                    return (nil, .failure(HTTPConnection.closed))
                }
                return (state.waiter.take(), .success(answer))
            } catch {
                state.isClosed = true
                return (state.waiter.take(), .failure(error))
            }
        }
        waiter?.resume(with: result)
    }

    private func turn() -> Turn {
        state.withLock { state in
            defer { state.output = [] }
            return Turn(output: FrameOutput(state.output), wake: nil, closes: state.isClosed)
        }
    }

    private func end() {
        let waiter = state.withLock { state in
            state.isClosed = true
            state.link = nil
            return state.waiter.take()
        }
        waiter?.resume(throwing: HTTPConnection.closed)
    }

    private final class Handler: FrameHandler {
        private let connection: HTTPConnection

        init(_ connection: HTTPConnection) {
            self.connection = connection
        }

        func received(_ bytes: UnsafeRawBufferPointer, now: Instant) { connection.take(bytes) }
        func turnEnded(now: Instant) -> Turn { connection.turn() }
        func timePassed(now: Instant) {}
        func writing(_ pendingBytes: Int, now: Instant) {}
        func closed() { connection.end() }
    }
}
