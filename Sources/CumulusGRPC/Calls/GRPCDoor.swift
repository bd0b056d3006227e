// How a gRPC call reaches the node: it becomes a call of a caller in this process, with the same
// rights, budgets, deadlines, causality and audit lines as on the binary protocol.
//
// `GRPCListener` registers it with gRPC for each method. It knows no message: the node gets the
// bytes of requests as they came, and the caller the bytes of answers. A caller is let in for one
// call.
// Flow control is gRPC's and the node's, one behind the other: the node sends the next part of an
// answer when gRPC has taken the last one, and gRPC is asked for the next part of an upload when
// the node has room for it.
//
// Folder: what a call over gRPC means, without its sockets. Read `GRPCDoor`, then `GRPCMethod`,
// `GRPCHead` and `GRPCRefusal`.

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
                await answer(method, request, from: context.remotePeer)
            }
        }
    }

    func answer(_ method: GRPCMethod, _ request: Request, from peer: String) async -> Response {
        do throws(RPCError) {
            let call = try Opening(method, request, from: peer, of: self)
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
            try await joined(await connection.follow(header, message), of: call.method)
        }
        return ServerResponse(message: answer, trailingMetadata: trailers)
    }

    /// The parts of an answer one behind the other, which is how protobuf joins messages.
    ///
    /// What was changed is told whatever it takes; what was asked for may be asked for in parts.
    private func joined(
        _ stream: LocalStream,
        of method: GRPCMethod
    ) async throws -> Bytes {
        let limit = method.needsRequestID ? Int.max : node.configuration.limits.frameBytes
        var answer: Bytes = []
        while let part = try await stream.next() {
            if answer.isEmpty { answer = part } else { answer += part }
            guard answer.count <= limit else { throw GRPCDoor.answerTooLarge(limit) }
        }
        return answer
    }

    /// One message there, the parts of the answer back.
    private func parts(
        _ call: Opening,
        _ writer: RPCWriter<Bytes>
    ) async throws(RPCError) -> Metadata {
        let message = try await call.message()
        return try await calling(call) { connection, header in
            let stream = await connection.follow(header, message)
            while let part = try await stream.next() { try await writer.write(part) }
        }.trailers
    }

    /// Messages there, one back.
    private func upload(_ call: Opening) async throws(RPCError) -> ServerResponse<Bytes> {
        let (answer, trailers) = try await calling(call) { connection, header in
            var upload: LocalUpload?
            for try await part in call.messages {
                defer { call.taken(part) }
                if let upload {
                    try await upload.send(UploadPart.content(part, of: UploadPart.chunks))
                } else {
                    let begin = try UploadPart.content(part, of: UploadPart.begin)
                    upload = await connection.send(header, begin)
                }
            }
            guard let upload else { throw GRPCDoor.oneMessage }
            return try await upload.finish().reduce([], +)
        }
        return ServerResponse(message: answer, trailingMetadata: trailers)
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
        do {
            let (connection, _) = try await LocalConnection.open(call.head.entrance, on: node)
            defer { connection.close() }
            var header = call.head.header
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
            if let reached = connection.reached, !reached.isEmpty {
                trailers.addBinary(reached, forKey: GRPCHead.Key.causal)
            }
            return (answer, trailers)
        } catch let error as RPCError {
            throw error
        } catch let error as ServiceError {
            throw GRPCRefusal.error(refusal(error, of: call), trailers)
        } catch {
            // Nobody reads it: the caller has gone.
            throw RPCError(code: .cancelled, message: "the caller takes no more")
        }
    }

    /// gRPC cancels what its caller no longer waits for; that is no wish of the caller.
    private func refusal(_ error: ServiceError, of call: Opening) -> ServiceError {
        guard error.code == .operationCancelled, call.head.header.timeout > 0,
            node.environment.now() >= call.end
        else { return error }
        return ServiceError(.serviceUnavailable, .deadline, "the call's time was up")
    }

    fileprivate static let oneMessage = ServiceError(
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

extension GRPCDoor {
    /// A call as it comes: what it says about itself is read, its messages are not.
    fileprivate struct Opening: Sendable {
        let method: GRPCMethod
        let head: GRPCHead
        let messages: RPCAsyncSequence<Bytes, any Error>
        /// When its caller stops waiting, if it named a time.
        let end: Instant
        private let room: GRPCRoom?
        private let stream: UInt64

        init(
            _ method: GRPCMethod,
            _ request: Request,
            from peer: String,
            of door: GRPCDoor
        ) throws(RPCError) {
            self.method = method
            messages = request.messages
            room = door.room
            let named = request.metadata[stringValues: GRPCStreamGuard.field].first { _ in true }
            stream = named.flatMap { UInt64($0) } ?? 0
            do throws(ServiceError) {
                head = try GRPCHead(
                    request.metadata,
                    method,
                    from: GRPCPeer(peer),
                    isEncrypted: door.isEncrypted
                )
            } catch {
                throw GRPCRefusal.error(error)
            }
            end = door.node.environment.now() + Int64(head.header.timeout)
        }

        /// A message was taken over: there is room for another one.
        func taken(_ message: Bytes) {
            room?.taken(message.count, of: stream)
        }

        /// The one message of the call.
        func message() async throws(RPCError) -> Bytes {
            var first: Bytes?
            do {
                for try await message in messages {
                    taken(message)
                    guard first == nil else { throw GRPCRefusal.error(GRPCDoor.oneMessage) }
                    first = message
                }
            } catch let error as RPCError {
                throw error
            } catch {
                throw RPCError(code: .cancelled, message: "the request ended early")
            }
            guard let first else { throw GRPCRefusal.error(GRPCDoor.oneMessage) }
            return first
        }
    }
}
