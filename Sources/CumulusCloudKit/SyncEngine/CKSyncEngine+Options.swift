// The options of a sync engine's fetches and sends, and their reasons.

internal import Cumulus
internal import CumulusModel

extension CKSyncEngine {
    /// Why an engine syncs.
    public enum SyncReason: Int, Sendable {
        /// The engine decided to.
        case scheduled = 0
        /// The app called `fetchChanges` or `sendChanges`.
        case manual = 1

        init(_ reason: SyncEngine.SyncReason) {
            self = reason == .manual ? .manual : .scheduled
        }
    }

    /// The options of a fetch.
    public struct FetchChangesOptions: Sendable {
        /// Zones to fetch.
        public enum Scope: Equatable, Sendable {
            /// All zones that changed.
            case all
            /// All zones that changed, except these.
            case allExcluding([CKRecordZone.ID])
            /// These zones, if they changed.
            case zoneIDs([CKRecordZone.ID])

            /// Whether a zone is in this scope.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                model.contains(zoneID.model)
            }

            init(_ scope: SyncEngine.FetchChangesOptions.Scope) {
                switch scope {
                case .all: self = .all
                case .allExcluding(let ids):
                    self = .allExcluding(ids.map { CKRecordZone.ID($0) })
                case .zoneIDs(let ids): self = .zoneIDs(ids.map { CKRecordZone.ID($0) })
                }
            }

            var model: SyncEngine.FetchChangesOptions.Scope {
                switch self {
                case .all: .all
                case .allExcluding(let ids): .allExcluding(ids.map(\.model))
                case .zoneIDs(let ids): .zoneIDs(ids.map(\.model))
                }
            }
        }

        /// Zones to fetch; the others stay among those with unfetched changes.
        public var scope: Scope
        /// Zones to fetch before the others, in this order.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []
        /// Has no effect here.
        public var operationGroup: CKOperationGroup

        /// Options to fetch these zones.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        init(_ options: SyncEngine.FetchChangesOptions) {
            self.init(scope: Scope(options.scope))
            prioritizedZoneIDs = options.prioritizedZoneIDs.map { CKRecordZone.ID($0) }
        }

        var model: SyncEngine.FetchChangesOptions {
            SyncEngine.FetchChangesOptions(
                scope: scope.model,
                prioritizedZoneIDs: prioritizedZoneIDs.map(\.model)
            )
        }
    }

    /// The options of a send.
    public struct SendChangesOptions: Sendable {
        /// Pending changes to send.
        public enum Scope: Equatable, Sendable {
            /// All changes.
            case all
            /// All changes except those in these zones.
            case allExcluding([CKRecordZone.ID])
            /// The changes in these zones.
            case zoneIDs([CKRecordZone.ID])
            /// The changes of these records, and of their zones themselves.
            case recordIDs([CKRecord.ID])

            /// Whether changes of the record of that name are in this scope.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                contains(PendingRecordZoneChange.saveRecord(recordID))
            }

            /// Whether a change of a record is in this scope.
            public func contains(_ change: PendingRecordZoneChange) -> Bool {
                model.contains(change.model)
            }

            /// Whether a change of a zone is in this scope.
            public func contains(_ change: PendingDatabaseChange) -> Bool {
                model.contains(change.model)
            }

            init(_ scope: SyncEngine.SendChangesOptions.Scope) {
                switch scope {
                case .all: self = .all
                case .allExcluding(let ids):
                    self = .allExcluding(ids.map { CKRecordZone.ID($0) })
                case .zoneIDs(let ids): self = .zoneIDs(ids.map { CKRecordZone.ID($0) })
                case .recordIDs(let ids): self = .recordIDs(ids.map { CKRecord.ID($0) })
                }
            }

            var model: SyncEngine.SendChangesOptions.Scope {
                switch self {
                case .all: .all
                case .allExcluding(let ids): .allExcluding(ids.map(\.model))
                case .zoneIDs(let ids): .zoneIDs(ids.map(\.model))
                case .recordIDs(let ids): .recordIDs(ids.map(\.model))
                }
            }
        }

        /// Pending changes to send.
        public var scope: Scope
        /// Has no effect here.
        public var operationGroup: CKOperationGroup

        /// Options to send these changes.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup ?? CKOperationGroup()
        }

        var model: SyncEngine.SendChangesOptions {
            SyncEngine.SendChangesOptions(scope: scope.model)
        }
    }

    /// Why and what an engine fetches.
    public struct FetchChangesContext: Sendable {
        /// Why it fetches.
        public let reason: SyncReason
        /// The options of the fetch.
        public let options: FetchChangesOptions

        init(_ context: SyncEngine.FetchChangesContext) {
            reason = SyncReason(context.reason)
            options = FetchChangesOptions(context.options)
        }
    }

    /// Why and what an engine sends.
    public struct SendChangesContext: Sendable {
        /// Why it sends.
        public let reason: SyncReason
        /// The options of the send.
        public let options: SendChangesOptions

        init(_ context: SyncEngine.SendChangesContext) {
            reason = SyncReason(context.reason)
            options = SendChangesOptions(scope: .init(context.options.scope))
        }
    }

    /// Records to save and delete in one request.
    public struct RecordZoneChangeBatch: Sendable {
        /// New records, and changed ones.
        public var recordsToSave: [CKRecord]
        /// Names of records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether all changes of a zone succeed or none.
        public var atomicByZone: Bool

        /// A batch of these records.
        public init(
            recordsToSave: [CKRecord] = [],
            recordIDsToDelete: [CKRecord.ID] = [],
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
        ///   - pendingChanges: Changes to send: the ones of the state that are in the scope of the
        ///     send.
        ///   - recordProvider: Returns a record as it is to be saved. If it returns nil, the
        ///     change is left out and stays pending: remove it from the state if the record is
        ///     gone.
        @preconcurrency
        public init?(
            pendingChanges: [PendingRecordZoneChange],
            recordProvider: @concurrent @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            var objects: [Record.ID: CKRecord] = [:]
            let batch = await SyncEngine.RecordZoneChangeBatch(
                pendingChanges: pendingChanges.map(\.model)
            ) { id in
                guard let record = await recordProvider(CKRecord.ID(id)) else { return nil }
                objects[id] = record
                return record.read { $0 }
            }
            guard let batch else { return nil }
            self.init(
                recordsToSave: batch.recordsToSave.compactMap { objects[$0.recordID] },
                recordIDsToDelete: batch.recordIDsToDelete.map { CKRecord.ID($0) }
            )
        }
    }
}
