// How a migration saves and deletes records here: in the public database as their creators, else
// as the owner of their zone.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    /// Saves and deletes what a page says.
    ///
    /// - Returns: The names of records that have to wait for the end of the list.
    func apply(_ entries: [SourceEntry], of lane: MigrationLane) async throws -> [String] {
        var records: [SourceRecord] = []
        var deferred: [String] = []
        var gone: [String] = []
        for entry in entries {
            switch entry {
            case .record(let record) where record.share != nil: deferred.append(record.name)
            case .record(let record): records.append(record)
            case .deleted(let name), .missing(let name): gone.append(name)
            case .refused(let name, let refusal):
                fail(refusal.text, "record '\(name)' of \(lane.text)")
            }
        }
        deferred += try await save(records, of: lane)
        try await delete(gone, of: lane)
        return deferred
    }

    var mapping: RecordMapping {
        let users = state.users
        return RecordMapping(
            columns: schema?.columns ?? [:],
            keepsOrigin: options.keepsOrigin,
            mapped: { users[$0]?.recordName ?? $0 }
        )
    }

    /// - Returns: The names of records whose parent is not here yet, or whose files could not be
    ///   had: links to files end, and the end of the list gets new ones.
    private func save(
        _ records: [SourceRecord],
        of lane: MigrationLane
    ) async throws -> [String] {
        if records.isEmpty { return [] }
        try await needUsers(records.flatMap(\.users) + records.map { author(of: $0, lane) })
        let ordered = MigrationOrder.ownersFirst(records)
        let files = try await fetchAssets(of: ordered)
        defer { for path in files.paths { unlink(path) } }
        var waiting = Array(files.failed.keys)
        for (name, error) in files.failed { reasons[name] = "\(error)" }
        var mapped: [(user: String, record: Record)] = []
        for record in ordered where files.failed[record.name] == nil {
            let made = try mapping.record(
                record,
                in: lane.zoneID,
                assets: files.content[record.name] ?? [:]
            )
            mapped.append((state.users[author(of: record, lane)]?.name ?? "", made))
        }
        for user in Set(mapped.map(\.user)).sorted() {
            let own = mapped.filter { $0.user == user }.map(\.record)
            waiting += try await save(own, as: user, of: lane)
        }
        return waiting.sorted()
    }

    /// The user at the source as whom a record is saved.
    private func author(of record: SourceRecord, _ lane: MigrationLane) -> String {
        switch lane.database {
        case .private: return caller
        case .shared: return lane.zone.owner
        case .public:
            let user = record.created?.user ?? ""
            return user == Names.currentUser ? caller : user
        }
    }

    private func save(
        _ records: [Record],
        as user: String,
        of lane: MigrationLane
    ) async throws -> [String] {
        let database = try await database(of: lane, as: user)
        let results = try await target.persisting {
            let results = try await database.modifyRecords(
                saving: records,
                deleting: [],
                savePolicy: .allKeys,
                atomically: false
            ).saveResults
            // A batch went in parts, and one of them failed: all of it is saved once more.
            for case .failure(let error as ServiceError) in results.values where error.passes {
                throw error
            }
            return results
        }
        var waiting: [String] = []
        for record in records {
            switch results[record.recordID] {
            case .success(let saved)?:
                report.saved += 1
                count(assetsOf: saved)
            case .failure(let error as ServiceError)? where error.code == .referenceViolation:
                reasons[record.recordID.recordName] = error.message
                waiting.append(record.recordID.recordName)
            case .failure(let error)?:
                fail(
                    Migration.kind(error, of: record.recordType),
                    "record '\(record.recordID.recordName)' of \(lane.text)"
                )
            case nil: continue
            }
        }
        return waiting
    }

    /// The container's database for a user; `database(of:)` is for the owner of the zone.
    func database(of lane: MigrationLane, as user: String) async throws -> Database {
        let container = try await target.container(of: user) { try noteSession($0, of: user) }
        return container.database(with: lane.database == .public ? .public : .private)
    }

    private static func kind(_ error: any Error, of type: String) -> String {
        guard let error = error as? ServiceError else { return "\(error)" }
        guard error.code == .permissionFailure else { return "\(error)" }
        return "its creator may not save records of type \(type) here (\(error.code)): give that "
            + "user a role that may, with 'cumulus role give', and run the migration again"
    }

    private func count(assetsOf record: Record) {
        for key in record.allKeys() {
            guard let value = record[key] else { continue }
            for case .asset(let asset) in value.list ?? [value] {
                report.assets += 1
                report.assetBytes += asset.size
            }
        }
    }

    // MARK: Deleting

    func delete(_ names: [String], of lane: MigrationLane) async throws {
        // What a participant does not see any more may still be its owner's.
        if names.isEmpty || lane.database == .shared { return }
        guard lane.database != .public else { return try await deletePublic(names, of: lane) }
        let database = try await database(of: lane)
        try await delete(names, in: database, of: lane)
    }

    private func delete(
        _ names: [String],
        in database: Database,
        of lane: MigrationLane
    ) async throws {
        let ids = names.map { Record.ID(recordName: $0, zoneID: lane.zoneID) }
        let results = try await target.persisting {
            try await database.modifyRecords(saving: [], deleting: ids, atomically: false)
                .deleteResults
        }
        for (id, result) in results {
            switch result {
            case .success: report.deleted += 1
            case .failure(let error):
                fail("it can't be deleted: \(error)", "record '\(id.recordName)' of \(lane.text)")
            }
        }
    }

    /// A public record is deleted by its creator.
    private func deletePublic(_ names: [String], of lane: MigrationLane) async throws {
        let found = try await target.publicRecords(named: names)
        let users = Dictionary(state.users.values.map { ($0.recordName, $0.name) }) { one, _ in one
        }
        let byUser = Dictionary(grouping: found.values) {
            users[$0.creatorUserRecordName ?? ""] ?? ""
        }
        for (user, records) in byUser.sorted(by: { $0.key < $1.key }) {
            guard !user.isEmpty else {
                for record in records {
                    fail(
                        "the source has it no more, and here it is another user's",
                        "record '\(record.recordID.recordName)' of \(lane.text)"
                    )
                }
                continue
            }
            let database = try await database(of: lane, as: user)
            try await delete(records.map(\.recordID.recordName), in: database, of: lane)
        }
    }

    /// Deletes records that a migration brought and that the source does not have any more.
    ///
    /// Such records are known by the fields of their origin: what users saved here stays.
    func sweep(_ lane: MigrationLane) async throws {
        guard options.keepsOrigin, lane.database != .shared else { return }
        let key = OriginField.created.rawValue
        let names = try await names(of: lane, keys: [key]) { $0[key] != nil }
        var gone: [String] = []
        for part in names.parts(of: SourceRequest.most) {
            let entries = try await lookUp(Array(part), in: lane, keys: [])
            for case .missing(let name) in entries { gone.append(name) }
        }
        guard !Migration.isDoubtful(gone.count, of: names.count) else {
            return fail(
                "\(gone.count) of \(names.count) records are not at the source any more, and none "
                    + "was deleted here: see whether who asks may still read them there",
                lane.text
            )
        }
        for part in gone.parts(of: SourceRequest.most) { try await delete(Array(part), of: lane) }
    }

    /// Whether so many deletions are rather a right to read that was lost.
    static func isDoubtful(_ gone: Int, of all: Int) -> Bool { gone > 10 && gone * 2 > all }

    /// The names of those records here of a lane's zone that satisfy a condition.
    ///
    /// A list that was cut off begins again.
    ///
    /// - Parameter keys: The fields that the condition needs.
    func names(
        of lane: MigrationLane,
        keys: [String],
        where isMeant: (Record) -> Bool
    ) async throws -> [String] {
        let isPublic = lane.database == .public
        let database = try await isPublic ? nil : database(of: lane)
        return try await target.persisting {
            let all =
                database?.allRecords(inZoneWith: lane.zoneID, desiredKeys: keys)
                ?? target.publicRecords(keys: keys)
            var names: [String] = []
            for try await record in all where isMeant(record) {
                names.append(record.recordID.recordName)
            }
            return names
        }
    }
}
