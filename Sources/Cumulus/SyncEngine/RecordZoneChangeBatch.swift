// The records of one request of a sync engine, cut to the server's limits.

public import CumulusModel

extension SyncEngine {
    /// How much one batch may hold.
    public struct BatchLimits: Hashable, Sendable {
        /// Records to save and delete.
        public var itemCount: Int
        /// Bytes of the records to save, without their assets.
        public var byteCount: Int

        /// Limits for a number of records and bytes.
        public init(itemCount: Int, byteCount: Int) {
            self.itemCount = itemCount
            self.byteCount = byteCount
        }

        init(_ limits: Limits) {
            // Sizes are estimates.
            self.init(
                itemCount: limits.itemsPerRequest,
                byteCount: limits.requestBytes / 8 * 7
            )
        }

        /// The limits of a server with standard settings.
        public static let standard = BatchLimits(Limits.standard)
    }

    /// Records to save and delete in one request.
    public struct RecordZoneChangeBatch: Sendable {
        /// New records, and changed ones.
        public var recordsToSave: [Record]
        /// Names of records to delete.
        public var recordIDsToDelete: [Record.ID]
        /// Whether all changes of a zone succeed or none.
        ///
        /// A batch that is too much for one request is sent in halves. An atomic one is divided
        /// between zones only: if one zone's changes are too much, each fails with `limitExceeded`.
        public var atomicByZone: Bool
        /// Records that can't be sent as they are, and why; the delegate is told of them.
        package var unsendable: [(record: Record, error: ServiceError)] = []

        /// A batch of these records.
        public init(
            recordsToSave: [Record] = [],
            recordIDsToDelete: [Record.ID] = [],
            atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// A batch of the first of these changes, with as many as fit in one request.
        ///
        /// Fails if there is nothing to send.
        ///
        /// - Parameters:
        ///   - pendingChanges: Changes to send: the ones of ``State/pendingRecordZoneChanges`` that
        ///     are in the scope of the send.
        ///   - limits: The server's limits: ``SendChangesContext/limits``.
        ///   - recordProvider: Returns a record as it is to be saved. If it returns nil, the change
        ///     is left out and stays pending: remove it from the state if the record is gone.
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            limits: BatchLimits = .standard,
            recordProvider: (Record.ID) async -> Record?
        ) async {
            self.init()
            var bytes = 0
            for change in pendingChanges where count < limits.itemCount {
                switch change {
                case .deleteRecord(let id): recordIDsToDelete.append(id)
                case .saveRecord(let id):
                    guard let record = await recordProvider(id) else { continue }
                    bytes += record.estimatedSaveBytes
                    // A single record that is too large is sent, so that the server refuses it.
                    if bytes > limits.byteCount, count > 0 { return }
                    recordsToSave.append(record)
                }
            }
            if count == 0 { return nil }
        }

        var count: Int { recordsToSave.count + recordIDsToDelete.count }

        /// The batch without these records; an atomic one without all of their zones.
        func without(_ records: Set<Record.ID>) -> RecordZoneChangeBatch {
            let zones = Set(records.map(\.zoneID))
            func isOpen(_ id: Record.ID) -> Bool {
                atomicByZone ? !zones.contains(id.zoneID) : !records.contains(id)
            }
            var open = self
            open.recordsToSave.removeAll { !isOpen($0.recordID) }
            open.recordIDsToDelete.removeAll { !isOpen($0) }
            return open
        }

        /// Two smaller batches that do the same; nil if the batch can't be divided.
        ///
        /// An atomic batch is divided between zones only.
        var halves: (RecordZoneChangeBatch, RecordZoneChangeBatch)? {
            guard count > 1 else { return nil }
            guard atomicByZone else {
                return parts(
                    saves: recordsToSave.count / 2 + recordsToSave.count % 2,
                    deletes: recordIDsToDelete.count / 2
                )
            }
            let ids = recordsToSave.map(\.recordID) + recordIDsToDelete
            var zones: [RecordZone.ID] = []
            for id in ids where !zones.contains(id.zoneID) { zones.append(id.zoneID) }
            guard zones.count > 1 else { return nil }
            let first = Set(zones.prefix(zones.count / 2))
            return (within { first.contains($0) }, within { !first.contains($0) })
        }

        private func parts(saves: Int, deletes: Int) -> (Self, Self) {
            (
                RecordZoneChangeBatch(
                    recordsToSave: Array(recordsToSave.prefix(saves)),
                    recordIDsToDelete: Array(recordIDsToDelete.prefix(deletes))
                ),
                RecordZoneChangeBatch(
                    recordsToSave: Array(recordsToSave.dropFirst(saves)),
                    recordIDsToDelete: Array(recordIDsToDelete.dropFirst(deletes))
                )
            )
        }

        private func within(_ isWanted: (RecordZone.ID) -> Bool) -> Self {
            RecordZoneChangeBatch(
                recordsToSave: recordsToSave.filter { isWanted($0.recordID.zoneID) },
                recordIDsToDelete: recordIDsToDelete.filter { isWanted($0.zoneID) },
                atomicByZone: true
            )
        }
    }
}

extension Record {
    /// The approximate bytes of a save of this record, without the content of its assets.
    fileprivate var estimatedSaveBytes: Int {
        let names = recordID.recordName.utf8.count + recordID.zoneID.zoneName.utf8.count
        return changedKeys().reduce(names + recordType.utf8.count + 96) { sum, key in
            let value = self[key] ?? encryptedValues[key]
            return sum + key.utf8.count + 48 + (value?.estimatedBytes ?? 0)
        }
    }
}

extension FieldValue {
    /// The approximate bytes of the value in a request.
    fileprivate var estimatedBytes: Int {
        switch self {
        case .string(let text): text.utf8.count + 16
        case .bytes(let bytes): bytes.count + 16
        case .reference(let reference): reference.recordName.utf8.count + 16
        case .asset: 512
        case .list(let elements): elements.reduce(16) { $0 + $1.estimatedBytes }
        case .int64, .double, .timestamp, .location: 16
        }
    }
}
