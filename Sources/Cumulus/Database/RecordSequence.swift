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
    /// An operator's call names the container in it.
    var header = CallHeader(.recordsList)

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
        private var stream: PageStream?
        private var page: ArraySlice<Record> = []

        init(sequence: RecordSequence) {
            self.sequence = sequence
        }

        /// The next record; nil at the end of the list.
        public mutating func next() async throws -> Record? {
            while true {
                if let record = page.popFirst() { return record }
                let stream: PageStream
                if let open = self.stream {
                    stream = open
                } else {
                    stream = try await PageStream.open(
                        sequence.core,
                        sequence.header,
                        sequence.request
                    )
                    self.stream = stream
                }
                guard let message = try await stream.next() else { return nil }
                let records = try decoding { try ListRecordsResponse(wire: message).records }
                page = records.map(sequence.core.keyring.opening)[...]
            }
        }
    }
}

// MARK: - As an operator

// A migration compares by these, and finds what its source does not have any more.
extension NodeOperator {
    /// All records of a container's public database, in the order of their names.
    ///
    /// - Parameter keys: The fields to fetch; nil means all; empty: system fields only.
    package func publicRecords(
        of container: String,
        _ environment: Environment,
        keys: [String]? = nil
    ) -> RecordSequence {
        let request = ListRecordsRequest(
            database: .public,
            zone: nil,
            keys: keys?.map { Bytes($0.utf8) }
        )
        var header = CallHeader(.recordsList)
        header.container = Bytes(container.utf8)
        header.environment = UInt32(environment.rawValue)
        return RecordSequence(core: core, request: request.encoded(), header: header)
    }

    /// Records of a container's public database; those that are not there are left out.
    ///
    /// - Parameter names: At most as many as a request may name, each once.
    package func publicRecords(
        named names: [String],
        of container: String,
        _ environment: Environment
    ) async throws -> [String: Record] {
        let request = FetchRecordsRequest(
            database: .public,
            ids: names.map { WireRecordID(Record.ID(recordName: $0)) },
            keys: nil
        )
        let results = try await list(
            .recordsFetch,
            message: request.encoded(),
            container: container,
            environment
        ) { try FetchRecordsResponse(wire: $0).results }
        var found: [String: Record] = [:]
        for result in results {
            switch result {
            case .success(let record): found[record.recordID.recordName] = record
            case .failure(let error) where error.code == .unknownItem: continue
            case .failure(let error): throw error
            }
        }
        return found
    }
}
