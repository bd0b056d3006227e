// The events that a sync engine tells its delegate, and the delegate.

/// The app's side of a sync engine.
///
/// The engine calls one method at a time and waits until it returns. Do not await the engine's
/// `fetchChanges` or `sendChanges` in these methods: both would wait for each other.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// The next records to save and delete; nil ends the send.
    ///
    /// The engine asks again until the answer is nil or nothing is pending any more.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// The options for the next fetch; by default the ones that `context` proposes.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// The options that the engine proposes.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

extension CKSyncEngine {
    /// The events that an engine tells its delegate; the next event comes when this one is handled.
    public enum Event: Sendable {
        /// The engine's state changed: keep it with what the earlier events brought.
        case stateUpdate(StateUpdate)
        /// Another user is signed in, or no user is.
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
        case willFetchChanges(WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of a zone ended.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch ended.
        case didFetchChanges(DidFetchChanges)
        /// A send begins.
        case willSendChanges(WillSendChanges)
        /// A send ended.
        case didSendChanges(DidSendChanges)

        /// A new state of the engine.
        public struct StateUpdate: Sendable {
            /// The state that the next engine begins with.
            public let stateSerialization: State.Serialization
        }

        /// A change of the signed-in user.
        public struct AccountChange: Sendable {
            /// The change of the account, by user record names.
            public enum ChangeType: Equatable, Sendable {
                /// A user signed in, and none was before; also the first event of an engine
                /// without a state.
                case signIn(currentUser: CKRecord.ID)
                /// The user signed out.
                case signOut(previousUser: CKRecord.ID)
                /// Another user is signed in.
                case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
            }

            /// The change of the account.
            public let changeType: ChangeType
        }

        /// Zones that changed on the server.
        public struct FetchedDatabaseChanges: Sendable {
            /// Zones that were made, or whose records changed.
            public let modifications: [CKDatabase.DatabaseChange.Modification]
            /// Zones that are gone.
            public let deletions: [CKDatabase.DatabaseChange.Deletion]
        }

        /// Records that changed on the server; own changes are among them.
        public struct FetchedRecordZoneChanges: Sendable {
            /// Records as they are now.
            public let modifications: [CKDatabase.RecordZoneChange.Modification]
            /// Records that are gone.
            public let deletions: [CKDatabase.RecordZoneChange.Deletion]
        }

        /// The results of changes of zones.
        public struct SentDatabaseChanges: Sendable {
            /// A zone that was not saved.
            public struct FailedZoneSave: Sendable {
                /// The zone.
                public let zone: CKRecordZone
                /// Why.
                public let error: CKError
            }

            /// Zones that were saved.
            public let savedZones: [CKRecordZone]
            /// Zones that were not saved.
            public let failedZoneSaves: [FailedZoneSave]
            /// Zones that were deleted, or did not exist any more.
            public let deletedZoneIDs: [CKRecordZone.ID]
            /// Zones that were not deleted, and why.
            public let failedZoneDeletes: [CKRecordZone.ID: CKError]
        }

        /// The results of changes of records.
        ///
        /// The engine retries by itself after errors that pass. After any other error the
        /// change is no longer pending: add it again once its cause is mended.
        public struct SentRecordZoneChanges: Sendable {
            /// A record that was not saved.
            public struct FailedRecordSave: Sendable {
                /// The record as it was to be saved.
                public let record: CKRecord
                /// Why; a `serverRecordChanged` error has the record to merge into.
                public let error: CKError
            }

            /// Records that were saved: the objects of the batch, with their new change tags.
            public let savedRecords: [CKRecord]
            /// Records that were not saved.
            public let failedRecordSaves: [FailedRecordSave]
            /// Records that were deleted, or did not exist.
            public let deletedRecordIDs: [CKRecord.ID]
            /// Records that were not deleted, and why.
            public let failedRecordDeletes: [CKRecord.ID: CKError]
        }

        /// The begin of a fetch.
        public struct WillFetchChanges: Sendable {
            /// Why and what the engine fetches.
            public let context: FetchChangesContext
        }

        /// The end of a fetch.
        public struct DidFetchChanges: Sendable {
            /// Why and what the engine fetched.
            public let context: FetchChangesContext
        }

        /// The begin of the fetch of a zone.
        public struct WillFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Whether the zone is told from the beginning although the app may hold records
            /// of it.
            ///
            /// If the fetch ends without an error, the app's records of the zone that it did
            /// not bring were deleted. Beyond CloudKit.
            public let isRefetch: Bool
        }

        /// The end of the fetch of a zone.
        public struct DidFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why the zone was not fetched to its end; nil if it was.
            public let error: CKError?
        }

        /// The begin of a send.
        public struct WillSendChanges: Sendable {
            /// Why and what the engine sends.
            public let context: SendChangesContext
        }

        /// The end of a send.
        public struct DidSendChanges: Sendable {
            /// Why and what the engine sent.
            public let context: SendChangesContext
        }
    }
}
