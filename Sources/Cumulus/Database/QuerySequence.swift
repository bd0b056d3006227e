// The records that a query finds, as one sequence over its pages.

public import CumulusModel

/// All records that a query finds, in their order.
///
/// A page is fetched when the records before it are taken. Pages are read at different moments: a
/// record that changes meanwhile may come twice or not at all, every other one comes once.
public struct QuerySequence: AsyncSequence, Sendable {
    /// A record that was found.
    public typealias Element = Record
    /// A `ServiceError`.
    public typealias Failure = any Error

    let database: Database
    let query: Query
    let zoneID: RecordZone.ID?
    let desiredKeys: [String]?
    let pageSize: Int

    /// Starts with the first page; each iterator asks anew.
    public func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self)
    }

    /// Fetches the pages.
    public struct Iterator: AsyncIteratorProtocol {
        /// A record that was found.
        public typealias Element = Record
        /// A `ServiceError`.
        public typealias Failure = any Error

        private enum Position {
            case start
            case behind(QueryCursor)
            case end
        }

        private let sequence: QuerySequence
        private var position = Position.start
        private var page: ArraySlice<Result<Record, any Error>> = []

        init(sequence: QuerySequence) {
            self.sequence = sequence
        }

        /// The next record; nil at the end.
        public mutating func next() async throws -> Record? {
            while true {
                if let result = page.popFirst() { return try result.get() }
                guard let next = try await nextPage() else { return nil }
                page = next.matchResults.map(\.1)[...]
                position = next.queryCursor.map { .behind($0) } ?? .end
            }
        }

        private func nextPage() async throws -> (
            matchResults: [(Record.ID, Result<Record, any Error>)],
            queryCursor: QueryCursor?
        )? {
            switch position {
            case .start:
                try await sequence.database.records(
                    matching: sequence.query,
                    inZoneWith: sequence.zoneID,
                    desiredKeys: sequence.desiredKeys,
                    resultsLimit: sequence.pageSize
                )
            case .behind(let cursor):
                try await sequence.database.records(
                    continuingMatchFrom: cursor,
                    desiredKeys: sequence.desiredKeys,
                    resultsLimit: sequence.pageSize
                )
            case .end: nil
            }
        }
    }
}
