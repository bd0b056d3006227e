// What a client says of a change whose outcome it can't know, whatever comes after; and of an
// answer that is none.

import Cumulus
import CumulusModel
import CumulusTransport
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct UnknownOutcomeTests {
    private static let note = Record(recordType: "Note", recordID: .init(recordName: "r"))

    /// The error of a save at a server that does this with one connection after the other.
    private func error(_ steps: ScriptedServer.Step...) async throws -> ServiceError {
        let server = try await ScriptedServer(steps)
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.connections = 1
        configuration.timeout = .seconds(5)
        let container = Container(identifier: "iCloud.test", configuration: configuration)
        let error = try await #require(throws: ServiceError.self) {
            try await container.privateCloudDatabase.save(Self.note)
        }
        await container.close()
        try await server.stop()
        return error
    }

    @Test(arguments: [
        ServiceError(.notAuthenticated, "the token was taken back"),
        ServiceError(.badContainer, "there is no such container"),
    ])
    func aGreetingThatIsRefusedAfterTheChangeWasSentTellsNothing(refusal: ServiceError) async throws
    {
        #expect(try await error(.dropCall, .refuseGreeting(refusal)).code == .serverResponseLost)
        #expect(try await error(.refuseGreeting(refusal)).code == refusal.code)
    }

    @Test(arguments: [
        ServiceError(.invalidArguments, .requestIDExpired, "that id is too old"),
        ServiceError(.notAuthenticated, "the token was taken back"),
        ServiceError(.internalError, "a stored row is damaged"),
        ServiceError(.serviceUnavailable, .diskFull, "the disk is full"),
    ])
    func aRepeatedChangeThatIsRefusedTellsNothing(refusal: ServiceError) async throws {
        #expect(try await error(.dropCall, .refuseCall(refusal)).code == .serverResponseLost)
    }

    /// What is wrong with a request was wrong with it from the beginning.
    @Test func aRequestThatIsWrongWasNeverCarriedOut() async throws {
        let refusal = ServiceError(.invalidArguments, "a name is too long")
        #expect(try await error(.dropCall, .refuseCall(refusal)).code == .invalidArguments)
    }

    @Test func anAnswerWithoutResultsIsNone() async throws {
        #expect(try await error(.answer([])).code == .internalError)
    }
}

/// Does with each connection what it was told to; the last step holds for all that follow.
private final class ScriptedServer: Sendable {
    enum Step: Sendable {
        /// Closes the connection when a call comes.
        case dropCall
        case refuseGreeting(ServiceError)
        case refuseCall(ServiceError)
        case answer(Bytes)
    }

    let endpoint: String
    private let listener: NIOFrameListener

    init(_ steps: [Step]) async throws {
        listener = NIOFrameListener(host: "127.0.0.1", port: 0, loops: EventLoops(threads: 1))
        let counter = Counter()
        endpoint = try await listener.start { _, now in
            Handler(steps[min(counter.next(), steps.count - 1)], now)
        }
    }

    func stop() async throws { try await listener.stop() }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
    }

    private final class Handler: FrameHandler {
        private let step: Step
        private var connection: FrameConnection
        private var isOver = false

        init(_ step: Step, _ now: Instant) {
            self.step = step
            connection = FrameConnection(limits: .standard, now: now)
        }

        func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
            do {
                try connection.received(bytes, now: now)
                while let frame = try connection.next() { take(frame) }
            } catch {
                isOver = true
            }
        }

        private func take(_ frame: Frame) {
            switch (frame.kind, step) {
            case (.hello, .refuseGreeting(let error)):
                connection.send(Frame(.status, isEnd: true, payload: error.encoded()))
                isOver = true
            case (.hello, _):
                connection.finishGreeting()
                var hello = ServerHello()
                hello.limits = .standard
                hello.clock = Int64(Date().timeIntervalSince1970 * 1_000)
                connection.send(Frame(.hello, payload: hello.encoded()))
            case (.call, .dropCall): isOver = true
            case (.call, .refuseCall(let error)):
                let stream = frame.stream
                let status = Frame(.status, isEnd: true, stream: stream, payload: error.encoded())
                connection.send(status)
            case (.call, .answer(let bytes)):
                let message = Frame(.message, isEnd: true, stream: frame.stream, payload: bytes)
                connection.send(message)
            default: break
            }
        }

        func turnEnded(now: Instant) -> Turn {
            Turn(output: connection.takeOutput(), wake: nil, closes: isOver)
        }

        func timePassed(now: Instant) {}
        func writing(_ pendingBytes: Int, now: Instant) {}
        func closed() {}
    }
}
