// The outcomes of the items of a modify request. They are kept by request id, so that a retry gets
// the same answer.
//
// Made by the operations, encoded by the node. The stored form holds tags and dates, never the
// fields that the caller sent.

package import CumulusModel
import CumulusStorage

package struct ModifyOutcome: Hashable, Sendable {
    /// What the server decided about a saved record.
    ///
    /// For a zone or a subscription it says only that it was saved.
    package struct Saved: Hashable, Sendable {
        package var changeTag: Bytes
        package var created: Int64
        package var createdBy: String
        package var modified: Int64
        package var modifiedBy: String
        /// The fields that were incremented, in canonical form.
        package var fields: Bytes

        package init(
            changeTag: Bytes = [],
            created: Int64 = 0,
            createdBy: String = "",
            modified: Int64 = 0,
            modifiedBy: String = "",
            fields: Bytes = []
        ) {
            self.changeTag = changeTag
            self.created = created
            self.createdBy = createdBy
            self.modified = modified
            self.modifiedBy = modifiedBy
            self.fields = fields
        }

        /// Whether it holds more than its caller knows from the save itself.
        func tellsMore(than caller: Caller) -> Bool {
            !fields.isEmpty || createdBy != caller.user
        }

        /// Leaves out what only a caller with the right to READ the record is told.
        mutating func hide(from caller: Caller) {
            fields = []
            if createdBy != caller.user { (created, createdBy) = (0, "") }
        }
    }

    package struct Failure: Error, Hashable, Sendable {
        package var code: ServiceError.Code
        package var reason: ServiceError.Reason
        package var message: String
        /// The record as it is stored now, for the error `serverRecordChanged`.
        ///
        /// It is not stored with the outcome.
        package var serverRecord: RecordView?

        package init(_ error: ServiceError, serverRecord: RecordView? = nil) {
            code = error.code
            reason = error.reason
            message = error.message
            self.serverRecord = serverRecord
        }

        package var error: ServiceError { ServiceError(code, reason, message) }
    }

    package typealias Item = Result<Saved, Failure>

    package var saves: [Item]
    package var deletes: [Item]
    /// The commits that the request made.
    package var dots: [Dot] = []
    /// A share that the request changed or ended, for the audit log.
    ///
    /// It is not stored with the outcome.
    package var share: RecordAddress?
    /// Whether the request was carried out before, and this is its first answer.
    package var isRepeated = false
    /// Whether some of what the request deletes is still there, and goes in later turns of the
    /// writer.
    package var owes = false
    /// Makes an outcome in which every item is done.
    package init(saves: Int, deletes: Int) {
        self.saves = Array(repeating: .success(Saved()), count: saves)
        self.deletes = Array(repeating: .success(Saved()), count: deletes)
    }

    /// Leaves out the server's records above a number of bytes; returns how many bytes stay.
    ///
    /// So a small request can't ask for more than one message of a fetch holds; its sender fetches
    /// what is left out. The first record always stays, unless there is no room at all.
    @discardableResult
    package mutating func limitServerRecords(to byteLimit: Int) -> Int {
        var byteCount = 0
        for index in saves.indices {
            guard case .failure(var failure) = saves[index], let record = failure.serverRecord
            else { continue }
            let isFirst = byteCount == 0 && byteLimit > 0
            if isFirst || byteCount + record.fields.count <= byteLimit {
                byteCount += record.fields.count
            } else {
                failure.serverRecord = nil
                saves[index] = .failure(failure)
            }
        }
        return byteCount
    }

    /// The bytes of the server's records in this outcome.
    package var shownBytes: Int {
        saves.reduce(0) { size, item in
            guard case .failure(let failure) = item else { return size }
            return size + (failure.serverRecord?.fields.count ?? 0)
        }
    }

    package static let atomicFailure = Failure(
        ServiceError(
            .batchRequestFailed,
            .atomicFailure,
            "Atomic failure: another item of this zone failed, so nothing was changed in it"
        )
    )
}

extension ModifyOutcome {
    /// Compares what a repetition is told: it gets equal items and commits.
    package static func == (left: ModifyOutcome, right: ModifyOutcome) -> Bool {
        left.saves == right.saves && left.deletes == right.deletes && left.dots == right.dots
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(saves)
        hasher.combine(deletes)
        hasher.combine(dots)
    }
}

// MARK: - Stored form

extension ModifyOutcome: RowValue {
    package func write(to writer: inout CanonicalWriter) {
        for items in [saves, deletes] {
            writer.varint(UInt64(items.count))
            for item in items { ModifyOutcome.write(item, to: &writer) }
        }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        saves = try reader.list(ModifyOutcome.readItem)
        deletes = try reader.list(ModifyOutcome.readItem)
    }

    private static func write(_ item: Item, to writer: inout CanonicalWriter) {
        switch item {
        case .success(let saved):
            writer.varint(0)
            writer.delimited(saved.changeTag)
            writer.varint(zigzag(saved.created))
            writer.delimited(saved.createdBy.utf8)
            writer.varint(zigzag(saved.modified))
            writer.delimited(saved.modifiedBy.utf8)
            writer.delimited(saved.fields)
        case .failure(let failure):
            writer.varint(UInt64(failure.code.rawValue))
            writer.varint(UInt64(failure.reason.rawValue))
            writer.delimited(failure.message.utf8)
        }
    }

    private static func readItem(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Item {
        let number = UInt32(try reader.count(limit: Int(UInt32.max)))
        guard number > 0 else {
            return .success(
                Saved(
                    changeTag: try reader.delimitedBytes(),
                    created: try reader.signed(),
                    createdBy: try reader.text(),
                    modified: try reader.signed(),
                    modifiedBy: try reader.text(),
                    fields: try reader.delimitedBytes()
                )
            )
        }
        let reason = UInt32(try reader.count(limit: Int(UInt32.max)))
        guard let code = ServiceError.Code(rawValue: number),
            let reason = ServiceError.Reason(rawValue: reason)
        else { throw MalformedBytes("an outcome has an unknown code") }
        return .failure(Failure(ServiceError(code, reason, try reader.text())))
    }
}

extension ModifyOutcome.Saved {
    /// The outcome of a save; the item has stored names.
    init(_ row: RecordRow, of item: SaveItem) {
        var incremented: [String] = []
        if case .success(let content) = item.content {
            // Another node may have stored a text that won over the counter, see `MixedFields`.
            incremented = content.increments.map(\.field).filter { name in
                row.body.entry(named: name)?.type == .one(.int64)
            }
        }
        self.init(
            changeTag: row.tag,
            created: row.birth.time.milliseconds,
            createdBy: row.createdBy,
            modified: row.modified.time.milliseconds,
            modifiedBy: row.modifiedBy,
            fields: incremented.isEmpty
                ? [] : row.body.selecting(incremented).renaming(StoredName.shown).bytes
        )
    }
}
