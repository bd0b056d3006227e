// How a gRPC call reaches the node: it becomes a call of a caller in this process, with the same
// rights, budgets, deadlines, causality and audit lines as on the binary protocol.
//
// `GRPCListener` registers it with gRPC for each method. It knows no message but `UploadPart`,
// which gRPC needs around the messages of an upload: the bytes of requests go to the node as they
// came, and answers to the caller likewise. A caller is let in for one call. Flow control is gRPC's
// and the node's, one behind the other: the node sends the next part of an answer when gRPC has
// taken the last one, and gRPC is asked for the next part of an upload when the node has room for
// it. What a call sent counts as held until the call ends.
//
// Folder: what a call over gRPC means, without its sockets. Read `GRPCDoor`, then
// `GRPCDoor+Opening`, `GRPCMethod`, `GRPCHead`, `GRPCRefusal` and `Ender`.

import CumulusModel
import CumulusNode
import CumulusWire
import GRPCCore

struct GRPCDoor: Sendable {
    typealias Request = StreamingServerRequest<Bytes>
    typealias Response = StreamingServerResponse<Bytes>

    let node: Node
    /// Whether connections have TLS.
    let isEncrypted: Bool
    /// Told what the node takes over; nil: nobody counts it.
    var room: GRPCRoom?

    /// Registers every method.
    func register<Transport>(in router: inout RPCRouter<Transport>) {
        for method in GRPCMethod.all {
            router.registerHandler(
                forMethod: method.descriptor,
                deserializer: PassingBytes(),
                serializer: PassingBytes()
            ) { request, context in
                await answer(method, request, from: context.remotePeer, context.cancellation)
            }
        }
    }

    /// - Parameter cancellation: Says when the call's time is up, or its caller has gone; nil:
    ///   neither is known.
    func answer(
        _ method: GRPCMethod,
        _ request: Request,
        from peer: String,
        _ cancellation: ServerContext.RPCCancellationHandle? = nil
    ) async -> Response {
        do throws(RPCError) {
            let call = try Opening(method, request, from: peer, cancellation, of: self)
            switch method.form {
            case .whole: return Response(single: try await whole(call))
            case .upload: return Response(single: try await upload(call))
            case .parts:
                // Errors end up in the trailers there too.
                return Response { writer in try await parts(call, writer) }
            }
        } catch {
            return Response(error: error)
        }
    }

    // MARK: Forms

    /// One message each way.
    private func whole(_ call: Opening) async throws(RPCError) -> ServerResponse<Bytes> {
        let message = try await call.message()
        let (answer, trailers) = try await calling(call) { connection, header in
            try await joined(await connection.follow(header, message), of: call)
        }
        return ServerResponse(message: answer, trailingMetadata: trailers)
    }

    /// The parts of an answer one behind the other, which is how protobuf joins messages.
    ///
    /// What was changed is told whatever it takes; what was asked for may be asked for in parts.
    private func joined(_ stream: LocalStream, of call: Opening) async throws -> Bytes {
        let isChange = call.method.needsRequestID
        let limit = isChange ? Int.max : node.configuration.limits.frameBytes
        var answer: Bytes = []
        while true {
            try await waitForRoom(call)
            guard let part = try await stream.next() else { break }
            call.gathered(part)
            if answer.isEmpty { answer = part } else { answer += part }
            guard answer.count <= limit else { throw GRPCDoor.answerTooLarge(limit) }
        }
        return answer
    }

    /// Waits while the caller takes none of the answers that it has.
    private func waitForRoom(_ call: Opening) async throws {
        while !call.hasRoom {
            guard !call.isCancelled else { throw ServiceError.callEnded }
            try await node.environment.sleep(GRPCDoor.pause)
        }
    }

    /// Milliseconds after which a call that waits for room looks again.
    private static let pause: Int64 = 20

    /// One message there, the parts of the answer back.
    private func parts(
        _ call: Opening,
        _ writer: RPCWriter<Bytes>
    ) async throws(RPCError) -> Metadata {
        let message = try await call.message()
        return try await calling(call) { connection, header in
            let stream = await connection.follow(header, message)
            try await untilCallEnds {
                while let part = try await stream.next() { try await writer.write(part) }
            }
        }.trailers
    }

    /// Messages there, one back.
    private func upload(_ call: Opening) async throws(RPCError) -> ServerResponse<Bytes> {
        let (answer, trailers) = try await calling(call) { connection, header in
            let reader = Ender()
            return try await untilCallEnds(reader) {
                try await send(call, header, over: connection, reader)
            }
        }
        return ServerResponse(message: answer, trailingMetadata: trailers)
    }

    /// Hands over the messages of an upload; returns its answer.
    ///
    /// - Parameter reader: Ended when the node ends the call, which may come before the caller
    ///   sends again.
    private func send(
        _ call: Opening,
        _ header: CallHeader,
        over connection: LocalConnection,
        _ reader: Ender
    ) async throws -> Bytes {
        var upload: LocalUpload?
        do {
            for try await part in call.messages {
                defer { call.taken(part) }
                if let upload {
                    try await upload.send(UploadPart.content(part, of: UploadPart.chunks))
                } else {
                    let begin = try UploadPart.content(part, of: UploadPart.begin)
                    upload = await connection.send(header, begin) { reader.end() }
                }
            }
        } catch is CancellationError {
            throw upload?.failure ?? .callEnded
        }
        if Task.isCancelled { throw upload?.failure ?? .callEnded }
        guard let upload else { throw GRPCDoor.oneMessage }
        return try await upload.finish().reduce([], +)
    }

    // MARK: Calling

    /// Lets a caller in, makes its call, and lets it out.
    ///
    /// Returns what the trailers say of a call that was answered, too.
    private func calling<Answer: Sendable>(
        _ call: Opening,
        _ work: @Sendable (LocalConnection, CallHeader) async throws -> Answer
    ) async throws(RPCError) -> (answer: Answer, trailers: Metadata) {
        var trailers: Metadata = [:]
        var opened: LocalConnection?
        defer { opened?.leave() }
        do {
            let (connection, _) = try await LocalConnection.open(call.entrance, on: node)
            opened = connection
            var header = call.head.header
            header.timeout = timeout(of: call)
            if call.method.needsRequestID {
                if header.requestID.isEmpty { header = connection.naming(header) }
                trailers.addBinary(header.requestID, forKey: GRPCHead.Key.requestID)
            }
            let named = header
            let answer = try await withRPCCancellationHandler {
                try await work(connection, named)
            } onCancelRPC: {
                // The change of a call that goes no further may have been made.
                connection.close()
            }
            trailers.add(causal: connection.reached)
            return (answer, trailers)
        } catch let error as RPCError where !call.isCancelled {
            throw error
        } catch {
            // The token of a stream covers what was told before it ended.
            trailers.add(causal: opened?.reached)
            let why = error as? ServiceError ?? .callEnded
            throw GRPCRefusal.error(refusal(why, of: call), trailers)
        }
    }

    /// gRPC cancels a call whose caller has gone, which reads nothing, and one whose time is up.
    private func refusal(_ error: ServiceError, of call: Opening) -> ServiceError {
        guard error.code == .operationCancelled, call.isCancelled, call.head.header.timeout > 0
        else { return error }
        return ServiceError(.serviceUnavailable, .deadline, "the call's time was up")
    }

    /// What is left of the time of a call, in milliseconds, less a tenth; 0 if it names no time.
    ///
    /// gRPC ends the call when its time is over, and the node's own answer says more.
    private func timeout(of call: Opening) -> UInt32 {
        guard call.head.header.timeout > 0 else { return 0 }
        let rest = call.end - node.environment.now()
        return UInt32(clamping: max(1, rest / 10 * 9))
    }

    static let oneMessage = ServiceError(
        .invalidArguments,
        .protocolError,
        "this call takes exactly one message"
    )

    private static func answerTooLarge(_ limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooLarge,
            "the answer takes more than \(limit) bytes; ask for fewer records at once, or for the "
                + "fields that are needed"
        )
    }
}

extension Metadata {
    /// - Parameter token: Nothing is added for nil or an empty one.
    fileprivate mutating func add(causal token: Bytes?) {
        guard let token, !token.isEmpty else { return }
        addBinary(token, forKey: GRPCHead.Key.causal)
    }
}
