// What records/modify takes for granted, so that most requests are carried out with no look-up
// before.
//
// Called by `WebContext` once per request. The node saves and deletes only where the assumption is
// right, by the caller's tags or over whatever the caller may read. What it refuses is planned
// again by what is stored, and so has the same outcome as with a look-up.

package import CumulusModel

extension WebModify {
    /// The stored records as a request describes them.
    package struct Assumption: Sendable {
        package var stored: [Record.ID: Result<Record, ServiceError>] = [:]
        /// Whether the saves go over whatever is stored.
        package var isForced: Bool
    }

    /// What all operations together assume; nil if one of them needs a look-up.
    ///
    /// - Parameter columns: The fields of types in the schema.
    package func assumption(_ columns: [String: [String: FieldType]]) -> Assumption? {
        guard operations.contains(where: \.kind.needsStored) else { return nil }
        let isForced = operations.contains { $0.kind.isForced && !$0.kind.isDeleting }
        var assumption = Assumption(isForced: isForced)
        for operation in operations where operation.kind != .forceDelete {
            guard operation.kind.isForced == isForced else { return nil }
            guard let stored = assumed(operation, columns) else { return nil }
            if operation.kind.needsStored { assumption.stored[operation.id] = stored }
        }
        return assumption
    }

    /// The record as an operation describes it; a forced one describes none.
    private func assumed(
        _ operation: WebOperation,
        _ columns: [String: [String: FieldType]]
    ) -> Result<Record, ServiceError>? {
        let record = operation.record
        if !operation.kind.isDeleting {
            guard let type = record.type, type != Names.shareType, record.share == nil else {
                return nil
            }
            // Only fields that are not named would have to be looked up and cleared.
            if operation.kind.isReplacing, record.fields.count != columns[type]?.count {
                return nil
            }
        }
        if operation.kind.isForced || operation.kind == .create {
            return .failure(ServiceError(.unknownItem, "not looked up"))
        }
        // Tags are compared as texts, and the node has them as bytes.
        guard let tag = record.changeTag, let bytes = Bytes(hex: tag), !bytes.isEmpty,
            bytes.hex == tag
        else { return nil }
        var stored = Record(recordType: record.type ?? "", recordID: operation.id)
        stored.recordChangeTag = tag
        return .success(stored)
    }
}
