// A sync engine's state as its app sees it.

internal import Cumulus
internal import CumulusModel

extension CKSyncEngine {
    /// A change of a record that waits to be sent; it names the record only.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// The record is to be saved.
        case saveRecord(CKRecord.ID)
        /// The record is to be deleted.
        case deleteRecord(CKRecord.ID)

        init(_ change: SyncEngine.PendingRecordZoneChange) {
            switch change {
            case .saveRecord(let id): self = .saveRecord(CKRecord.ID(id))
            case .deleteRecord(let id): self = .deleteRecord(CKRecord.ID(id))
            }
        }

        var model: SyncEngine.PendingRecordZoneChange {
            switch self {
            case .saveRecord(let id): .saveRecord(id.model)
            case .deleteRecord(let id): .deleteRecord(id.model)
            }
        }
    }

    /// A change of a zone that waits to be sent.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// The zone is to be made.
        case saveZone(CKRecordZone)
        /// The zone is to be deleted, with all its records.
        case deleteZone(CKRecordZone.ID)

        init(_ change: SyncEngine.PendingDatabaseChange) {
            switch change {
            case .saveZone(let zone): self = .saveZone(CKRecordZone(zone))
            case .deleteZone(let id): self = .deleteZone(CKRecordZone.ID(id))
            }
        }

        var model: SyncEngine.PendingDatabaseChange {
            switch self {
            case .saveZone(let zone): .saveZone(zone.model)
            case .deleteZone(let id): .deleteZone(id.model)
            }
        }
    }

    /// The work of a sync engine, and its progress.
    ///
    /// Pending changes are sets: a change that is added twice is sent once, and a later change
    /// of the same record or zone replaces the earlier one.
    public final class State: Sendable {
        /// The state that an engine needs to continue where an earlier one stopped.
        public struct Serialization: Codable, Sendable {
            let model: SyncEngine.State.Serialization

            init(_ model: SyncEngine.State.Serialization) {
                self.model = model
            }

            /// Reads a state; fails if a newer release wrote it.
            public init(from decoder: any Decoder) throws {
                model = try SyncEngine.State.Serialization(from: decoder)
            }

            /// Writes the state.
            public func encode(to encoder: any Encoder) throws {
                try model.encode(to: encoder)
            }
        }

        private let model: SyncEngine.State

        init(_ model: SyncEngine.State) {
            self.model = model
        }

        /// Records that wait to be saved or deleted, in the order in which they were added.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] {
            model.pendingRecordZoneChanges.map { PendingRecordZoneChange($0) }
        }

        /// Zones that wait to be saved or deleted, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] {
            model.pendingDatabaseChanges.map { PendingDatabaseChange($0) }
        }

        /// Whether the app has changes to send that are not among the pending changes.
        public var hasPendingUntrackedChanges: Bool {
            get { model.hasPendingUntrackedChanges }
            set { model.hasPendingUntrackedChanges = newValue }
        }

        /// Zones that changed on the server and were not fetched since.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] {
            model.zoneIDsWithUnfetchedServerChanges.map { CKRecordZone.ID($0) }
        }

        /// Adds records to save or delete.
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            model.add(pendingRecordZoneChanges: changes.map(\.model))
        }

        /// Removes records that need not be saved or deleted any more.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            model.remove(pendingRecordZoneChanges: changes.map(\.model))
        }

        /// Adds zones to save or delete.
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            model.add(pendingDatabaseChanges: changes.map(\.model))
        }

        /// Removes zones that need not be saved or deleted any more.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            model.remove(pendingDatabaseChanges: changes.map(\.model))
        }
    }
}
