// The indexes that a node keeps: list, rebuild, verify.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// An index of the node that answers.
    package struct Index: Hashable, Sendable {
        package var recordType: String
        package var field: String
        /// "values", "elements", "words" or "cells".
        package var form: String
        package var type: String
        package var isReady: Bool
        /// Records that the build of this index has read so far.
        package var looked: UInt64
        package var records: UInt64
        /// Rows; in a list nil if there are many.
        package var rows: UInt64?
        /// The counts of a verification.
        package var missing: UInt64
        package var wrong: UInt64
        /// What the rows take in a list, about.
        package var bytes: UInt64
    }

    package enum IndexAction: Sendable {
        case list
        case rebuild
        case verify
    }

    /// Lists, rebuilds or verifies the indexes of one record type and one field, or of all.
    package func indexes(
        _ action: IndexAction,
        of container: String,
        _ environment: Environment,
        recordType: String = "",
        field: String = ""
    ) async throws -> [Index] {
        let method: Method =
            switch action {
            case .list: .indexesList
            case .rebuild: .indexesRebuild
            case .verify: .indexesVerify
            }
        let request = IndexesRequest(
            recordType: Bytes(recordType.utf8),
            field: Bytes(field.utf8)
        )
        return try await list(
            method,
            message: request.encoded(),
            container: container,
            environment
        ) { try IndexesResponse(wire: $0).elements.map(Index.init) }
    }
}

extension NodeOperator.Index {
    fileprivate init(_ wire: WireIndex) {
        let forms = ["values", "elements", "words", "cells"]
        recordType = wire.recordType
        field = wire.field
        form = (1...4).contains(wire.form) ? forms[Int(wire.form) - 1] : "unknown"
        type = wire.type
        isReady = wire.isReady
        looked = wire.looked
        records = wire.records
        rows = wire.rows == 0 && wire.bytes > 0 ? nil : wire.rows
        missing = wire.missing
        wrong = wire.wrong
        bytes = wire.bytes
    }
}
