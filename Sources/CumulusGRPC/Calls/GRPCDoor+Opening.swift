// A call as it comes: what it says about itself is read, its messages are not; and what it holds.
//
// Made by `GRPCDoor` for each call, before the node is asked.

import CumulusModel
import CumulusNode
import CumulusWire
import GRPCCore

extension GRPCDoor {
    struct Opening: Sendable {
        let method: GRPCMethod
        let head: GRPCHead
        let entrance: LocalEntrance
        let messages: RPCAsyncSequence<Bytes, any Error>
        /// When its caller stops waiting, if it named a time.
        let end: Instant
        private let room: GRPCRoom?
        private let stream: UInt64
        private let cancellation: ServerContext.RPCCancellationHandle?

        init(
            _ method: GRPCMethod,
            _ request: Request,
            from peer: String,
            _ cancellation: ServerContext.RPCCancellationHandle?,
            of door: GRPCDoor
        ) throws(RPCError) {
            self.method = method
            self.cancellation = cancellation
            messages = request.messages
            room = door.room
            stream = GRPCStreamGuard.number(in: request.metadata)
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
            var entrance = head.entrance
            entrance.restraint = room?.restraint(of: stream)
            self.entrance = entrance
            end = door.node.environment.now() + Int64(head.header.timeout)
        }

        /// Whether its time is up, or its caller has gone.
        var isCancelled: Bool { cancellation?.isCancelled ?? false }

        // MARK: Room

        /// A message was taken over: there is room for another one.
        func taken(_ message: Bytes) {
            room?.taken(message.count, of: stream)
        }

        /// Whether more of an answer may be made.
        var hasRoom: Bool { room?.mayGather(for: stream) ?? true }

        /// A part of an answer is kept until the others have come.
        func gathered(_ part: Bytes) {
            room?.gathered(part.count, for: stream)
        }

        // MARK: Messages

        /// The one message of the call, which counts as held until the call ends.
        ///
        /// A caller that doesn't end its request is told so by `GRPCStreamGuard`, or here when its
        /// own time is up.
        func message() async throws(RPCError) -> Bytes {
            do {
                if head.header.timeout == 0 { return try await onlyMessage() }
                return try await untilCallEnds { try await onlyMessage() }
            } catch let error as RPCError where !isCancelled {
                throw error
            } catch {
                throw isCancelled && head.header.timeout > 0
                    ? GRPCRefusal.error(.requestTooSlow)
                    : RPCError(code: .cancelled, message: "the request ended early")
            }
        }

        private func onlyMessage() async throws -> Bytes {
            var first: Bytes?
            for try await message in messages {
                guard first == nil else { throw GRPCRefusal.error(GRPCDoor.oneMessage) }
                first = message
            }
            guard let first else { throw GRPCRefusal.error(GRPCDoor.oneMessage) }
            return first
        }
    }
}

extension ServiceError {
    /// Nobody waits for the answer.
    static let callEnded = ServiceError(.operationCancelled, "the call has ended")

    fileprivate static let requestTooSlow = ServiceError(
        .serviceUnavailable,
        .deadline,
        "the call's time was up before its request was whole"
    )
}
