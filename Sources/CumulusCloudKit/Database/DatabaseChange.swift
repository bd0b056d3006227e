// The results of fetches of changes.
//
// Made by `CKDatabase+Changes`, and by the sync engine.

internal import Cumulus

extension CKDatabase {
    /// One change of a database.
    public enum DatabaseChange {
        /// A zone that was made, or whose records changed.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID

            init(_ change: Database.DatabaseChange.Modification) {
                zoneID = CKRecordZone.ID(change.zoneID)
            }
        }

        /// A zone that is gone, with all its records.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone.
            public enum Reason: Int, Hashable, Sendable {
                /// It was deleted.
                case deleted = 0
                /// Its user removed the app's data.
                case purged = 1
                /// Its user's keys were reset, and the data can't be read any more.
                case encryptedDataReset = 2
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// Why it is gone.
            public let reason: Reason

            /// Whether its user removed the app's data.
            public var purged: Bool { reason == .purged }

            init(_ change: Database.DatabaseChange.Deletion) {
                zoneID = CKRecordZone.ID(change.zoneID)
                reason = Reason(rawValue: Int(change.reason.rawValue)) ?? .deleted
            }
        }
    }

    /// One change of a zone.
    public enum RecordZoneChange {
        /// A record that was saved.
        public struct Modification: Hashable, Sendable {
            /// The record as it is now.
            public let record: CKRecord
        }

        /// A record that is gone.
        public struct Deletion: Hashable, Sendable {
            /// The record's name.
            public let recordID: CKRecord.ID
            /// The type that it had.
            public let recordType: CKRecord.RecordType

            init(_ change: Database.RecordZoneChange.Deletion) {
                recordID = CKRecord.ID(change.recordID)
                recordType = change.recordType
            }
        }
    }
}
