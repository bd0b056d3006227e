// Changes: which zones changed since a token, and what changed in a zone. `ChangeSequences` follows
// them.

public import CumulusModel
import CumulusWire

extension Database {
    /// One change of a database.
    public enum DatabaseChange {
        /// A zone that was made, or whose records changed.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public var zoneID: RecordZone.ID
        }

        /// A zone that is gone, with all its records.
        public struct Deletion: Hashable, Sendable {
            /// Why a zone is gone.
            public enum Reason: UInt32, Sendable {
                /// It was deleted.
                case deleted = 0
                /// Its user removed the application's data.
                case purged = 1
                /// Its user's keys were reset, and the data can't be read any more.
                case encryptedDataReset = 2
            }

            /// The zone.
            public var zoneID: RecordZone.ID
            /// Why it is gone.
            public var reason: Reason
        }
    }

    /// One change of a zone.
    public enum RecordZoneChange {
        /// A record that was saved.
        public struct Modification: Sendable {
            /// The record as it is now.
            public var record: Record
        }

        /// A record that is gone.
        public struct Deletion: Hashable, Sendable {
            /// The record's name.
            public var recordID: Record.ID
            /// The type that it had.
            public var recordType: String
        }
    }

    /// The zones that changed since a token; the default zone is never among them.
    ///
    /// Fails with `changeTokenExpired` if the token can't be used any more: forget what was fetched
    /// and begin without one.
    ///
    /// - Parameters:
    ///   - changeToken: The token of the last fetch of this database's changes; nil means from the
    ///     beginning.
    ///   - resultsLimit: Most zones to tell; nil means the server decides.
    /// - Returns: The changes, and the token for the next fetch. If `moreComing`, fetch on at once.
    public func databaseChanges(
        since changeToken: ServerChangeToken?,
        resultsLimit: Int? = nil
    ) async throws -> (
        modifications: [DatabaseChange.Modification],
        deletions: [DatabaseChange.Deletion],
        changeToken: ServerChangeToken,
        moreComing: Bool
    ) {
        let request = FetchDatabaseChangesRequest(
            database: databaseScope,
            token: changeToken?.bytes ?? [],
            limit: try Database.wireLimit(resultsLimit)
        )
        let messages = try await core.read(.changesDatabase, request.encoded())
        let page = try decoding { try DatabaseChange.Page(wire: Database.only(messages)) }
        return (page.modifications, page.deletions, page.changeToken, !page.isUpToDate)
    }

    /// The changes in a zone since a token: records as they are now, each once, and deletions.
    ///
    /// There is no promised order: a record may come before one that it refers to. The caller's own
    /// changes come too. It fails with `changeTokenExpired` if the token can't be used any more:
    /// drop the fetched records of the zone and begin without a token.
    ///
    /// - Parameters:
    ///   - zoneID: A custom zone; the default zone keeps no changes.
    ///   - changeToken: The token of the last fetch of this zone's changes; nil: from the
    ///     beginning, without
    ///     deletions that are over.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    ///   - resultsLimit: Most records and deletions to tell; nil means the server decides.
    /// - Returns: The changes, and the token for the next fetch. If `moreComing`, fetch on at once.
    public func recordZoneChanges(
        inZoneWith zoneID: RecordZone.ID,
        since changeToken: ServerChangeToken?,
        desiredKeys: [String]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [Record.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion],
        changeToken: ServerChangeToken,
        moreComing: Bool
    ) {
        let request = FetchZoneChangesRequest(
            database: databaseScope,
            zone: WireZoneID(zoneID),
            token: changeToken?.bytes ?? [],
            limit: try Database.wireLimit(resultsLimit),
            keys: desiredKeys.map { $0.map { Bytes($0.utf8) } }
        )
        let messages = try await core.read(.changesZone, request.encoded())
        let page = try decoding {
            try RecordZoneChange.Page(wire: Database.only(messages), core.keyring)
        }
        var records: [Record.ID: Result<RecordZoneChange.Modification, any Error>] = [:]
        for change in page.modifications { records[change.record.recordID] = .success(change) }
        return (records, page.deletions, page.changeToken, !page.isUpToDate)
    }

    static func wireLimit(_ limit: Int?) throws(ServiceError) -> UInt32 {
        guard let limit else { return 0 }
        guard limit >= 0 else {
            throw ServiceError(.invalidArguments, "resultsLimit must not be below 0")
        }
        return UInt32(clamping: limit)
    }

    /// The message of an answer that has one.
    static func only(_ messages: [Bytes]) throws -> Bytes {
        guard messages.count == 1 else {
            throw ServiceError(.internalError, "the server's answer should be one message")
        }
        return messages[0]
    }
}
