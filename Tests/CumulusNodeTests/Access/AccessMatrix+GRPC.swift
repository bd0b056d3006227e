// The access matrix over gRPC: each caller gets from every method what it gets over the binary
// protocol.
//
// Calls go through the door as gRPC makes them, without its sockets.

import CumulusModel
import CumulusTesting
import CumulusWire
import GRPCCore
import Synchronization
import Testing

@testable import CumulusGRPC
@testable import CumulusNode

extension AccessMatrixTests {
    @Test func whoCallsOverGRPCGetsTheSame() async throws {
        try await withScene { scene in
            let door = GRPCDoor(node: scene.server.node, isEncrypted: false)
            var count = 0
            for row in AccessMatrix.rows {
                guard let method = GRPCMethod.all.first(where: { $0.method == row.method }) else {
                    continue
                }
                let message = try row.message(scene.matrix)
                for (who, expected) in zip(AccessMatrix.Who.allCases, row.expected)
                where expected != "-" && who != .peer {
                    let call = DoorCall(door, method, scene.metadata(of: who))
                    let outcome = try await call.outcome(of: row, message)
                    let isRefusal = outcome == "9" || outcome == "10"
                    #expect(
                        expected == "·" ? !isRefusal : outcome == expected,
                        "\(row.method) of \(row.target) by \(who): \(outcome), not \(expected)"
                    )
                    count += 1
                }
            }
            #expect(count > 300)
        }
    }
}

extension AccessMatrixTests.Scene {
    /// What a caller says of itself.
    fileprivate func metadata(of who: AccessMatrix.Who) -> Metadata {
        var fields: Metadata = ["cumulus-container": .string(TestServer.container)]
        let token = who == .operator ? TestServer.operatorToken : tokens[who]
        if let token { fields.addString("Bearer \(token)", forKey: "authorization") }
        fields.addString(who == .operator ? "operator" : "client", forKey: "cumulus-role")
        return fields
    }
}

/// A call through the door; a stream ends with its first message.
private struct DoorCall {
    private let door: GRPCDoor
    private let method: GRPCMethod
    private let metadata: Metadata

    init(_ door: GRPCDoor, _ method: GRPCMethod, _ metadata: Metadata) {
        (self.door, self.method, self.metadata) = (door, method, metadata)
    }

    /// How it ends, in the words of the matrix.
    func outcome(of row: AccessMatrix.Row, _ message: Bytes) async throws -> String {
        let isEndless = MethodTable.entry(method.method.rawValue)?.answer == .endlessParts
        let writer = AnswerWriter(mostMessages: isEndless ? 1 : .max)
        let response = await door.answer(
            method,
            StreamingServerRequest(metadata: metadata, messages: messages(message)),
            from: "ipv4:127.0.0.1:5000"
        )
        do {
            _ = try await response.accepted.get().producer(RPCWriter(wrapping: writer))
        } catch let error as RPCError {
            if isEndless, !writer.messages.isEmpty { return try told(row, writer.messages) }
            let status = Array(error.metadata[binaryValues: "cumulus-status-bin"])
            let refusal = try ServiceError(wire: try #require(status.first, "\(error)"))
            #expect(error.code == GRPCRefusal.code(of: refusal))
            return "\(refusal.code.rawValue)"
        }
        return try told(row, writer.messages)
    }

    private func told(_ row: AccessMatrix.Row, _ answer: [Bytes]) throws -> String {
        if let refusal = try RawClient.itemError(row.method, answer) {
            return "\(refusal.code.rawValue)"
        }
        let sign = Bytes((AccessMatrix.signs[row.target] ?? "").utf8)
        return row.method.isRead && answer.contains { $0.contains(sign) } ? "told" : "ok"
    }

    /// The messages of an upload are parts; all others have one.
    private func messages(_ message: Bytes) -> RPCAsyncSequence<Bytes, any Error> {
        let part = [UploadPart.begin << 3 | 2, UInt8(clamping: message.count)] + message
        let (stream, source) = AsyncThrowingStream<Bytes, any Error>.makeStream()
        source.yield(method.form == .upload ? part : message)
        source.finish()
        return RPCAsyncSequence(wrapping: stream)
    }
}

/// Gathers an answer.
private final class AnswerWriter: RPCWriterProtocol {
    private struct Enough: Error {}

    private let answer = Mutex<[Bytes]>([])
    private let mostMessages: Int

    init(mostMessages: Int) {
        self.mostMessages = mostMessages
    }

    var messages: [Bytes] { answer.withLock { $0 } }

    func write(_ message: Bytes) async throws {
        let count = answer.withLock { answer in
            answer.append(message)
            return answer.count
        }
        if count >= mostMessages { throw Enough() }
    }

    func write(contentsOf messages: some Sequence<Bytes>) async throws {
        for message in messages { try await write(message) }
    }
}
