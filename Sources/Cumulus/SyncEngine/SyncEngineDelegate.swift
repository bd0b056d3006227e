// The questions of a sync engine to its app, and the options of fetches and sends.

public import CumulusModel

/// The app's side of a sync engine.
///
/// The engine calls one method at a time and waits until it returns. Do not await the engine's
/// `fetchChanges` or `sendChanges` in these methods: both would wait for each other.
public protocol SyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event.
    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async

    /// The next records to save and delete; nil ends the send.
    ///
    /// The engine asks again until the answer is nil or nothing is pending any more.
    func nextRecordZoneChangeBatch(
        _ context: SyncEngine.SendChangesContext,
        syncEngine: SyncEngine
    ) async -> SyncEngine.RecordZoneChangeBatch?

    /// The options for the next fetch; by default the ones that `context` proposes.
    func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext,
        syncEngine: SyncEngine
    ) async -> SyncEngine.FetchChangesOptions
}

extension SyncEngineDelegate {
    /// The options that the engine proposes.
    public func nextFetchChangesOptions(
        _ context: SyncEngine.FetchChangesContext,
        syncEngine: SyncEngine
    ) async -> SyncEngine.FetchChangesOptions {
        context.options
    }
}

extension SyncEngine {
    /// Why an engine syncs.
    public enum SyncReason: Sendable {
        /// The engine decided to.
        case scheduled
        /// The app called `fetchChanges` or `sendChanges`.
        case manual
    }

    /// The options of a fetch.
    public struct FetchChangesOptions: Sendable {
        /// Zones to fetch.
        public enum Scope: Sendable {
            /// All zones that changed.
            case all
            /// All zones that changed, except these.
            case allExcluding([RecordZone.ID])
            /// These zones, if they changed.
            case zoneIDs([RecordZone.ID])

            /// Whether a zone is in this scope.
            public func contains(_ zoneID: RecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                }
            }
        }

        /// Zones to fetch; the others stay among those with unfetched changes.
        public var scope: Scope
        /// Zones to fetch before the others, in this order.
        public var prioritizedZoneIDs: [RecordZone.ID]

        /// Options to fetch these zones.
        public init(scope: Scope = .all, prioritizedZoneIDs: [RecordZone.ID] = []) {
            self.scope = scope
            self.prioritizedZoneIDs = prioritizedZoneIDs
        }
    }

    /// The options of a send.
    public struct SendChangesOptions: Sendable {
        /// Pending changes to send.
        public enum Scope: Sendable {
            /// All changes.
            case all
            /// All changes except those in these zones.
            case allExcluding([RecordZone.ID])
            /// The changes in these zones.
            case zoneIDs([RecordZone.ID])
            /// The changes of these records, and of their zones themselves.
            case recordIDs([Record.ID])

            /// Whether a change of a record is in this scope.
            public func contains(_ change: PendingRecordZoneChange) -> Bool {
                if case .recordIDs(let ids) = self { return ids.contains(change.item) }
                return contains(change.item.zoneID)
            }

            /// Whether a change of a zone is in this scope.
            public func contains(_ change: PendingDatabaseChange) -> Bool {
                contains(change.item)
            }

            private func contains(_ zoneID: RecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                case .recordIDs(let ids): ids.contains { $0.zoneID == zoneID }
                }
            }
        }

        /// Pending changes to send.
        public var scope: Scope

        /// Options to send these changes.
        public init(scope: Scope = .all) {
            self.scope = scope
        }
    }

    /// Why and what an engine fetches.
    public struct FetchChangesContext: Sendable {
        /// Why it fetches.
        public internal(set) var reason: SyncReason
        /// The options of the fetch.
        public internal(set) var options: FetchChangesOptions
    }

    /// Why and what an engine sends.
    public struct SendChangesContext: Sendable {
        /// Why it sends.
        public internal(set) var reason: SyncReason
        /// The options of the send.
        public internal(set) var options: SendChangesOptions
        /// How much the server takes in one request.
        public internal(set) var limits: BatchLimits
    }
}
