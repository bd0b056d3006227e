// The records of a list as they arrive, a page at a time, with no more in memory than the consumer
// made room for.

public import CumulusModel
import CumulusWire

/// All records of a zone, in the order of their names.
///
/// The list is read from one moment of the zone. It ends with an error if the connection is lost;
/// start again then.
public struct RecordSequence: AsyncSequence, Sendable {
    /// A record of the zone.
    public typealias Element = Record
    /// A `ServiceError`.
    public typealias Failure = any Error

    let core: ClientCore
    let request: [UInt8]

    /// Starts the list; each iterator reads it anew.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self)
    }

    /// Reads the list page by page.
    public struct Iterator: AsyncIteratorProtocol {
        /// A record of the zone.
        public typealias Element = Record
        /// A `ServiceError`.
        public typealias Failure = any Error

        private let sequence: RecordSequence
        private var stream: RecordStream?
        private var page: ArraySlice<Record> = []

        init(sequence: RecordSequence) {
            self.sequence = sequence
        }

        /// The next record; nil at the end of the list.
        public mutating func next() async throws -> Record? {
            while true {
                if let record = page.popFirst() { return record }
                let stream: RecordStream
                if let open = self.stream {
                    stream = open
                } else {
                    stream = try await RecordStream.open(sequence)
                    self.stream = stream
                }
                guard let message = try await stream.next() else { return nil }
                page = try decoding { try ListRecordsResponse.records(wire: message) }[...]
            }
        }
    }
}

/// One list call.
///
/// Dropped before its end, it is cancelled.
private final class RecordStream: Sendable {
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

    static func open(_ sequence: RecordSequence) async throws -> RecordStream {
        // Bounded by the credit that `next` grants.
        let (messages, source) = AsyncThrowingStream<Bytes, any Error>.makeStream()
        let (call, connection) = try await sequence.core.stream(
            .recordsList,
            sequence.request,
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
        return RecordStream(call: call, connection: connection, messages: messages)
    }

    deinit {
        let (call, connection) = (call, connection)
        connection.link.loop.execute { connection.cancel(call) }
    }

    func next() async throws -> Bytes? {
        guard let message = try await messages.next() else { return nil }
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
        // Only `RecordStream.next` calls it, on behalf of one iterator.
        private var iterator: AsyncThrowingStream<Bytes, any Error>.Iterator

        init(_ stream: AsyncThrowingStream<Bytes, any Error>) {
            iterator = stream.makeAsyncIterator()
        }

        func next() async throws -> Bytes? {
            try await iterator.next()
        }
    }
}
