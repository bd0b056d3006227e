// `cumulusd bound echo`: a node without a store. It greets like one, and answers every call with
// the same record.
//
// The bound of fetches: our transport and our client, and nothing between them.

import ArgumentParser
import CumulusModel
import CumulusSystem
import CumulusTransport
import CumulusWire
import UnixSignals

struct EchoBound: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Answer every call with the same record of 1 KB."
    )

    @Option(help: "Address and port on this machine; port 0 takes a free one.")
    var listen = "127.0.0.1:0"
    @Option(help: "Event loops.") var threads = 2

    func run() async throws {
        guard let (host, port) = Endpoint.split(listen), host.hasPrefix("127.") else {
            throw ValidationError("'\(listen)' is not an address and port of 127.0.0.1")
        }
        OpenFiles.raiseLimit()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let loops = EventLoops(threads: max(1, threads))
        let listener = NIOFrameListener(host: host, port: port, loops: loops)
        let answer = EchoBound.answer
        let address = try await listener.start { _, now in EchoHandler(answer: answer, now: now) }
        write("cumulusd ready on \(address)\n", to: STDOUT_FILENO)
        for await _ in signals { break }
        try await listener.stop()
    }

    /// A `FetchRecordsResponse` with one record.
    private static var answer: Bytes {
        let record = BoundRecord.view(1)
        let id = WireRecordID(name: Bytes(record.name.utf8), zone: nil)
        return FetchRecordsResponse([.encoded(record.encoded(as: id))]).encoded()
    }
}

/// One connection.
private final class EchoHandler: FrameHandler {
    private let answer: Bytes
    private var connection: FrameConnection
    private var isClosing = false

    init(answer: Bytes, now: Instant) {
        self.answer = answer
        connection = FrameConnection(limits: .standard, now: now)
        connection.send(Frame(.nonce, payload: Bytes(repeating: 0, count: 32)))
    }

    func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
        do throws(ProtocolFault) {
            try connection.received(bytes, now: now)
            while let frame = try connection.next() { handle(frame) }
        } catch {
            isClosing = true
        }
    }

    private func handle(_ frame: Frame) {
        switch frame.kind {
        case .hello:
            connection.finishGreeting()
            connection.send(Frame(.hello, payload: ServerHello().encoded()))
        case .call:
            connection.send(
                Frame(.message, isEnd: true, stream: frame.stream, payload: answer)
            )
        default: break
        }
    }

    func turnEnded(now: Instant) -> Turn {
        Turn(output: connection.takeOutput(), wake: nil, closes: isClosing)
    }

    func timePassed(now: Instant) {}
    func writing(_ pendingBytes: Int, now: Instant) {}
    func closed() {}
}
