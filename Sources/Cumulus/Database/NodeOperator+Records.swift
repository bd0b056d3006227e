// The public database as an operator reads it: all records, also those that only their creators may
// read.
//
// A migration compares by it, and finds what its source does not have any more.

package import CumulusModel
import CumulusWire

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
