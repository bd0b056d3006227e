// The messages of an answer that is a stream, as they arrive, with no more in memory than the
// consumer made room for.
//
// Made by the lists of the client, and by `FollowedStream`.

import CumulusModel
import CumulusWire

/// One list call whose answer has begun.
///
/// Dropped before its end, it is cancelled.
final class PageStream: @unchecked Sendable {
    // Only its one consumer calls `next`.
    private let call: StreamedCall
    private var messages: Messages.Iterator
    /// The first one, until it is asked for.
    private var first: Bytes?

    /// Messages as they arrive, bounded by the credit that `next` grants.
    private typealias Messages = AsyncThrowingStream<Bytes, any Error>

    /// - Parameters:
    ///   - window: Bytes that may be on their way, beyond what the protocol begins with.
    ///   - patience: For a stream without an end: how long the server may be silent,
    ///     in milliseconds; nil: the whole answer has the longest time of a call.
    static func open(
        _ core: ClientCore,
        _ header: CallHeader,
        _ request: Bytes,
        window: Int = 0,
        patience: Int64? = nil
    ) async throws -> PageStream {
        try await core.open(isFollowed: patience != nil) { loan throws(CallFailure) in
            let (messages, source) = Messages.makeStream()
            let call = core.start(
                header,
                request,
                on: loan,
                patience: patience,
                onMessage: { source.yield($0) },
                onEnd: { ending in
                    do throws(CallFailure) {
                        for message in try ending.get() { source.yield(message) }
                        source.finish()
                    } catch {
                        source.finish(throwing: error)
                    }
                }
            )
            if window > 0 { call.grant(window) }
            let stream = PageStream(call, messages)
            try await stream.begin()
            return stream
        }
    }

    private init(_ call: StreamedCall, _ messages: Messages) {
        self.call = call
        self.messages = messages.makeAsyncIterator()
    }

    deinit { call.cancel() }

    private func begin() async throws(CallFailure) {
        do {
            first = try await messages.next()
        } catch let failure as CallFailure {
            throw failure
        } catch {
            throw .refused(ClientCore.cancelled)
        }
    }

    /// nil at the end of the answer.
    func next() async throws -> Bytes? {
        guard let message = try await take() else {
            // The messages also end for a cancelled task: the reader must not take that for the end
            // of the list.
            try ClientCore.checkCancellation()
            return nil
        }
        call.grant(message.count)
        return message
    }

    private func take() async throws -> Bytes? {
        if let first {
            self.first = nil
            return first
        }
        do {
            return try await messages.next()
        } catch CallFailure.refused(let error) {
            throw error
        } catch CallFailure.lost {
            throw ServiceError(
                .networkFailure,
                "the connection was lost while the list was read; start it again"
            )
        }
    }
}
