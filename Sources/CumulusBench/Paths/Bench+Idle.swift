// The path `idle`: connections that were greeted and say nothing more.
//
// Connections use the transport and the frames of the client library alone, because the rest of it
// needs memory of its own for each. The figure is the memory of the server.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransport
import CumulusWire
import Foundation

extension Bench {
    func idle(_ target: BenchTarget) async throws -> BenchFigure {
        let count = options.idleConnections
        try BenchFiles.allow(count, "--idle-connections")
        let connections = IdleConnections(to: target)
        let figure = await Result { try await measure(count, connections, target) }
        await connections.close()
        return try figure.get()
    }

    private func measure(
        _ count: Int,
        _ connections: IdleConnections,
        _ target: BenchTarget
    ) async throws -> BenchFigure {
        let start = Date()
        let before = BenchMeter(target)
        try await connections.open(count)
        let seconds = Date().timeIntervalSince(start)
        // Whatever greeting them left to be done.
        try await Task.sleep(for: .seconds(1))
        let use = BenchMeter(target).use(since: before)
        return BenchFigure(
            path: "idle, \(count) connections",
            start: start.formatted(.iso8601),
            seconds: seconds,
            operations: count,
            perSecond: Double(count) / seconds,
            serverMicroseconds: use.server.map { $0 / Double(count) },
            serverResident: use.resident,
            serverPeakResident: use.peakResident,
            serverResidentGrowth: use.residentGrowth,
            others: use.others
        )
    }
}

/// Connections on one thread.
private final class IdleConnections: Sendable {
    private let loops = EventLoops(threads: 1)
    private let target: BenchTarget

    init(to target: BenchTarget) {
        self.target = target
    }

    /// Opens so many, and waits until all are greeted.
    func open(_ count: Int) async throws {
        let progress = BenchProgress("opening connections")
        defer { progress.end() }
        let dialer = NIOFrameDialer(loops: loops, trust: target.trust)
        // A server certainly queues this many connections that wait to be accepted.
        for start in stride(from: 0, to: count, by: 100) {
            try await withThrowingTaskGroup(of: Void.self) { [target] group in
                for _ in start..<min(start + 100, count) {
                    group.addTask { try await IdleConnections.open(target, dialer) }
                }
                try await group.waitForAll()
            }
            progress.show(start, of: count)
        }
    }

    private static func open(_ target: BenchTarget, _ dialer: NIOFrameDialer) async throws {
        let (greeting, greeted) = AsyncThrowingStream<Void, any Error>.makeStream()
        do {
            try await dialer.connect(to: target.endpoint) { [name = target.containerName] _, now in
                IdleConnection(name, greeted, now: now)
            }
            for try await _ in greeting { return }
        } catch {
            throw BenchProblem(message: "an idle connection: \(error)")
        }
        throw BenchProblem(message: "an idle connection: the node has closed it")
    }

    func close() async {
        try? await loops.stop()
    }
}

/// Says HELLO as an anonymous client, and nothing more.
private final class IdleConnection: FrameHandler {
    typealias Greeted = AsyncThrowingStream<Void, any Error>.Continuation

    /// Told of the greeting, or why it didn't come.
    private let greeted: Greeted
    private var connection: FrameConnection
    private var isClosing = false

    init(_ container: String, _ greeted: Greeted, now: Instant) {
        self.greeted = greeted
        connection = FrameConnection(limits: .standard, now: now)
        connection.send(Frame(.hello, payload: Hello(ofBenchIn: container).encoded()))
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do {
            try connection.received(bytes, now: now)
            while let frame = try connection.next() { try take(frame) }
        } catch {
            end(with: error)
        }
    }

    private func take(_ frame: Frame) throws {
        switch frame.kind {
        case .hello:
            connection.finishGreeting()
            greeted.yield()
        case .status: throw try ServiceError(wire: frame.payload)
        default: break
        }
    }

    /// Time counts until the greeting.
    func turnEnded(now: Instant) -> Turn {
        let wake = connection.isGreeting ? connection.wakeTime : nil
        return Turn(output: connection.takeOutput(), wake: wake, closes: isClosing)
    }

    func timePassed(now: Instant) {
        do {
            try connection.timePassed(now: now)
        } catch {
            end(with: error)
        }
    }

    private func end(with error: any Error) {
        greeted.finish(throwing: error)
        isClosing = true
    }

    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() { greeted.finish() }
}
