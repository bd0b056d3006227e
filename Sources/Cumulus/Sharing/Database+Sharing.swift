// Shares as their owners save and stop them, and participants leave them.

public import CumulusModel

extension Database {
    /// Saves a share of a zone, or a share that was saved before.
    ///
    /// The participants are set as they stand in the share: a missing one is removed. If another
    /// client changed the share meanwhile, the save fails with `serverRecordChanged`.
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
    /// - Throws: The errors of ``save(_:)-(Share)``.
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
        return (saved, try Database.record(rootRecord.recordID, of: results))
    }

    /// The share of a zone; nil if the zone is not shared as a whole.
    ///
    /// - Throws: `zoneNotFound` if there is no such zone.
    public func share(ofZoneWith zoneID: RecordZone.ID) async throws -> Share? {
        try await share(Record.ID(recordName: Share.zoneWideRecordName, zoneID: zoneID))
    }

    /// The share whose root is the record; nil if it is no root.
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

    /// Completes the results of a request that saved or deleted shares.
    ///
    /// The server alone knows the URLs and participants of shares; of their roots it says only that
    /// they were saved.
    func completeShares(
        _ results: inout [Record.ID: Result<Record, any Error>],
        _ deletes: [Record.ID: Result<Void, any Error>]
    ) async {
        let saved = results.compactMap { id, result in try? (id, result.get()) }
        for (id, record) in saved {
            guard let share = record.share else { continue }
            let shareID = Record.ID(recordName: share.recordName, zoneID: id.zoneID)
            guard case .success? = deletes[shareID] else { continue }
            results[id] = result(of: record, in: nil)
        }
        let shares = saved.filter { $0.1.recordType == Share.recordType }
        guard !shares.isEmpty else { return }
        for (id, share) in shares {
            guard let root = share.shareDetails?.root, !root.isEmpty else { continue }
            let rootID = Record.ID(recordName: root, zoneID: id.zoneID)
            guard case .success(let record)? = results[rootID] else { continue }
            results[rootID] = result(of: record, in: id.recordName)
        }
        // If that fails, the saved share is right except for the parts that the server adds.
        guard let found = try? await records(for: shares.map(\.0)) else { return }
        for (id, result) in found {
            if case .success = result { results[id] = result }
        }
    }

    /// The root of a share of that name, or of none.
    private func result(of root: Record, in share: String?) -> Result<Record, any Error> {
        var root = root
        root.share = share.map { Record.Reference(recordName: $0) }
        return .success(root)
    }
}
