// Shares as their owners save and stop them, and participants leave them.

public import CumulusModel

extension Database {
    /// Saves a share of a zone, or a share that was saved before.
    ///
    /// The participants are set as they stand in the share: who is missing is removed. A share that
    /// somebody else changed meanwhile fails with `serverRecordChanged`.
    ///
    /// - Returns: The saved share, with its URL. Go on with this value.
    /// - Throws: `permissionFailure` unless the caller owns or administers the share;
    ///   `alreadyShared` if something that it would share is shared already;
    ///   `tooManyParticipants`; `invalidArguments` in a default zone, and for inviting by name
    ///   while the share is open to the public; `badDatabase` in the public database.
    @discardableResult
    public func save(_ share: Share) async throws -> Share {
        let results = try await modifyRecords(saving: [share.record], deleting: [])
        guard let saved = try Share(Database.record(share.recordID, of: results.saveResults)) else {
            throw Database.noShare
        }
        return saved
    }

    /// Saves a new share with the record that it shares, in one batch.
    ///
    /// - Throws: As ``save(_:)-(Share)``.
    @discardableResult
    public func save(
        _ share: Share,
        rootRecord: Record
    ) async throws -> (share: Share, rootRecord: Record) {
        let results = try await modifyRecords(saving: [share.record, rootRecord], deleting: [])
            .saveResults
        guard let saved = try Share(Database.record(share.recordID, of: results)) else {
            throw Database.noShare
        }
        var root = try Database.record(rootRecord.recordID, of: results)
        // The server said only that the root was saved.
        root.share = Record.Reference(recordName: share.recordID.recordName)
        return (saved, root)
    }

    /// The share of a zone; nil if the zone is not shared as a whole.
    ///
    /// - Throws: `zoneNotFound` if there is no such zone.
    public func share(ofZoneWith zoneID: RecordZone.ID) async throws -> Share? {
        try await share(Record.ID(recordName: Share.zoneWideRecordName, zoneID: zoneID))
    }

    /// The share of which a record is the root; nil if it is the root of none.
    public func share(of rootRecord: Record) async throws -> Share? {
        guard let name = rootRecord.share?.recordName else { return nil }
        return try await share(Record.ID(recordName: name, zoneID: rootRecord.recordID.zoneID))
    }

    /// Takes the caller out of a share, in the shared database; others stay in it.
    ///
    /// The owner stops sharing by deleting the share's record in the private database.
    ///
    /// - Throws: `badDatabase` in the other databases.
    public func leave(_ share: Share) async throws {
        guard databaseScope == .shared else {
            throw ServiceError(
                .badDatabase,
                "participants leave in the shared database; to stop sharing, delete the share's "
                    + "record in the private one"
            )
        }
        try await deleteRecord(withID: share.recordID)
    }

    private func share(_ id: Record.ID) async throws -> Share? {
        do {
            return Share(try await record(for: id))
        } catch let error as ServiceError where error.code == .unknownItem {
            return nil
        }
    }

    private static func record(
        _ id: Record.ID,
        of results: [Record.ID: Result<Record, any Error>]
    ) throws -> Record {
        guard let result = results[id] else { throw missingResult }
        return try result.get()
    }

    private static let noShare = ServiceError(
        .internalError,
        "the server's answer holds no share"
    )

    /// Fetches shares that were saved, since the server alone knows their URLs and participants.
    func fetchSavedShares(_ results: inout [Record.ID: Result<Record, any Error>]) async {
        let ids = results.compactMap { id, result -> Record.ID? in
            guard case .success(let record) = result, record.recordType == Share.recordType else {
                return nil
            }
            return id
        }
        // If that fails, the saved one is right but for what the server added.
        guard !ids.isEmpty, let found = try? await records(for: ids) else { return }
        for (id, result) in found {
            if case .success = result { results[id] = result }
        }
    }
}
