// The events that a sync engine tells its delegate, one after the other.

public import CumulusModel

extension SyncEngine {
    /// The events that an engine tells its delegate.
    ///
    /// The next event comes when the delegate has handled this one.
    public enum Event: Sendable {
        /// The engine's state changed: keep it with what the earlier events brought.
        case stateUpdate(StateUpdate)
        /// Another user is signed in, or nobody is.
        case accountChange(AccountChange)
        /// Zones changed on the server.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// Records changed on the server.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// Changes of zones were sent.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// Changes of records were sent.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(FetchChangesContext)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of a zone ended.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch ended.
        case didFetchChanges(FetchChangesContext)
        /// A send begins.
        case willSendChanges(SendChangesContext)
        /// A send ended.
        case didSendChanges(SendChangesContext)

        /// A new state of the engine.
        public struct StateUpdate: Sendable {
            /// The state that the next engine begins with.
            public var stateSerialization: State.Serialization
        }

        /// A change of the signed-in user, by user record names.
        ///
        /// If another account was there before, its pending changes were cleared.
        public enum AccountChange: Hashable, Sendable {
            /// A user signed in, and nobody was before. An engine without a state begins with this
            /// event: add what the app holds already to the pending changes.
            case signIn(currentUser: Record.ID)
            /// The user signed out.
            case signOut(previousUser: Record.ID)
            /// Another user is signed in.
            case switchAccounts(previousUser: Record.ID, currentUser: Record.ID)
        }

        /// Zones that changed on the server.
        public struct FetchedDatabaseChanges: Sendable {
            /// Zones that were made, or whose records changed.
            public var modifications: [Database.DatabaseChange.Modification]
            /// Zones that are gone.
            public var deletions: [Database.DatabaseChange.Deletion]
        }

        /// Records that changed on the server; own changes are among them.
        ///
        /// A record whose save is still pending may come as it was before the edit. Keep the edit,
        /// or merge the two.
        public struct FetchedRecordZoneChanges: Sendable {
            /// Records as they are now.
            public var modifications: [Database.RecordZoneChange.Modification]
            /// Records that are gone.
            public var deletions: [Database.RecordZoneChange.Deletion]
        }

        /// The results of changes of zones.
        public struct SentDatabaseChanges: Sendable {
            /// A zone that was not saved.
            public struct FailedZoneSave: Sendable {
                /// The zone.
                public var zone: RecordZone
                /// Why.
                public var error: ServiceError
            }

            /// Zones that were saved.
            public var savedZones: [RecordZone] = []
            /// Zones that were not saved.
            public var failedZoneSaves: [FailedZoneSave] = []
            /// Zones that were deleted, or did not exist any more.
            public var deletedZoneIDs: [RecordZone.ID] = []
            /// Zones that were not deleted, and why.
            public var failedZoneDeletes: [RecordZone.ID: ServiceError] = [:]
        }

        /// The results of changes of records.
        ///
        /// A change that failed stays pending if `ServiceError.isRetriedBySyncEngine` is true for
        /// its error. Any other change is no longer pending: add it again once its cause is mended.
        public struct SentRecordZoneChanges: Sendable {
            /// A record that was not saved.
            public struct FailedRecordSave: Sendable {
                /// The record as it was to be saved.
                public var record: Record
                /// Why; a `serverRecordChanged` error has the record to merge into.
                public var error: ServiceError
            }

            /// Records that were saved, with their new change tags.
            public var savedRecords: [Record] = []
            /// Records that were not saved.
            public var failedRecordSaves: [FailedRecordSave] = []
            /// Records that were deleted, or did not exist.
            public var deletedRecordIDs: [Record.ID] = []
            /// Records that were not deleted, and why.
            public var failedRecordDeletes: [Record.ID: ServiceError] = [:]
        }

        /// The begin of the fetch of a zone.
        public struct WillFetchRecordZoneChanges: Sendable {
            /// The zone.
            public var zoneID: RecordZone.ID
            /// Whether the zone is told from the beginning although the app may hold records of it.
            ///
            /// This happens if its change token expired, if the zone was deleted and made again, or
            /// if the device saved records before it fetched any. If the fetch ends without an
            /// error, the app's records of the zone that it did not bring were deleted. CloudKit
            /// does not have this.
            public var isRefetch: Bool
        }

        /// The end of the fetch of a zone.
        public struct DidFetchRecordZoneChanges: Sendable {
            /// The zone.
            public var zoneID: RecordZone.ID
            /// Why the zone was not fetched to its end; nil if it was.
            public var error: ServiceError?
        }
    }
}

extension ServiceError {
    /// Whether a sync engine waits and tries again by itself after this error.
    ///
    /// The change that failed stays pending then. After any other error the app must mend the
    /// change and add it again.
    public var isRetriedBySyncEngine: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure,
            .networkUnavailable, .requestRateLimited, .serviceUnavailable, .zoneBusy,
            .operationCancelled, .serverResponseLost, .changeTokenExpired:
            true
        default: false
        }
    }
}
