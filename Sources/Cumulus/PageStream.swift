// The messages of an answer that is a stream, as they arrive, with no more in memory than the
// consumer made room for.
//
// Made by the lists of the client.

import CumulusModel
import CumulusWire

/// One list call.
///
/// Dropped before its end, it is cancelled.
final class PageStream: Sendable {
    private let call: ClientCall
    private let connection: ClientConnection
    private let messages: AsyncThrowingStream<Bytes, any Error>.AsyncIteratorBox

    private init(
        call: ClientCall,
        connection: ClientConnection,
        messages: AsyncThrowingStream<Bytes, any Error>
    ) {
        self.call = call
        self.connection = connection
        self.messages = .init(messages)
    }

    /// - Parameter window: Bytes that may be on their way, beyond what the protocol begins with.
    static func open(
        _ core: ClientCore,
        _ header: CallHeader,
        _ request: Bytes,
        window: Int = 0
    ) async throws -> PageStream {
        // Bounded by the credit that `next` grants.
        let (messages, source) = AsyncThrowingStream<Bytes, any Error>.makeStream()
        let (call, connection) = try await core.stream(
            header,
            request,
            onMessage: { source.yield($0) },
            onEnd: { ending in
                switch ending {
                case .answer(let last):
                    for message in last { source.yield(message) }
                    source.finish()
                case .refused(let error): source.finish(throwing: error)
                case .lost:
                    source.finish(
                        throwing: ServiceError(
                            .networkFailure,
                            "the connection was lost while the list was read; start it again"
                        )
                    )
                }
            }
        )
        if window > 0 {
            connection.link.loop.execute { connection.grant(window, to: call) }
        }
        return PageStream(call: call, connection: connection, messages: messages)
    }

    deinit {
        let (call, connection) = (call, connection)
        connection.link.loop.execute { connection.cancel(call) }
    }

    /// nil at the end of the answer.
    func next() async throws -> Bytes? {
        guard let message = try await messages.next() else {
            // For a cancelled task the messages end too, and whoever reads must not take that for
            // all of them.
            try ClientCore.checkCancellation()
            return nil
        }
        let (call, connection, count) = (call, connection, message.count)
        connection.link.loop.execute { connection.grant(count, to: call) }
        return message
    }
}

extension AsyncThrowingStream<Bytes, any Error> {
    /// An iterator that a class can hold.
    ///
    /// One consumer at a time.
    fileprivate final class AsyncIteratorBox: @unchecked Sendable {
        // Only `PageStream.next` calls it, on behalf of one iterator.
        private var iterator: AsyncThrowingStream<Bytes, any Error>.Iterator

        init(_ stream: AsyncThrowingStream<Bytes, any Error>) {
            iterator = stream.makeAsyncIterator()
        }

        func next() async throws -> Bytes? {
            try await iterator.next()
        }
    }
}
