// How a migration saves and deletes records here: in the public database as their creators, else
// as the owner of their zone.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    /// Saves and deletes what a page says.
    ///
    /// - Returns: The names of records that have to wait for the end of the list: to be saved, or
    ///   deleted.
    func apply(_ entries: [SourceEntry], of lane: MigrationLane) async throws -> [String] {
        var records: [SourceRecord] = []
        var deferred: [String] = []
        var gone: [String] = []
        for entry in entries {
            switch entry {
            case .record(let record) where record.share != nil: deferred.append(record.name)
            case .record(let record): records.append(record)
            case .deleted(let name), .missing(let name): gone.append(name)
            case .refused(let name, let refusal): note(name, lane, refusal.text)
            }
        }
        deferred += try await save(records, of: lane)
        deferred += try await delete(gone, of: lane)
        return deferred
    }

    var mapping: RecordMapping {
        let users = state.users
        return RecordMapping(
            columns: schema?.columns ?? [:],
            keepsOrigin: options.keepsOrigin,
            container: container,
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
        // What does not fit the schema's file is found before anything of the page is here.
        for record in records { _ = try mapping.record(record, in: lane.zoneID) }
        try await needUsers(records.flatMap(\.users) + records.map { author(of: $0, lane) })
        var waiting: [String] = []
        for part in MigrationOrder.parts(MigrationOrder.ownersFirst(records)) {
            waiting += try await save(part: part, of: lane)
        }
        return waiting.sorted()
    }

    /// Saves records whose files may be on the disk at once.
    private func save(
        part: [SourceRecord],
        of lane: MigrationLane
    ) async throws -> [String] {
        let files = try await fetchAssets(of: part)
        defer { for path in files.paths { unlink(path) } }
        var waiting = Array(files.failed.keys)
        for (name, error) in files.failed { reasons[name] = "\(error)" }
        var mapped: [(user: String, record: Record)] = []
        for record in part where files.failed[record.name] == nil {
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
        return waiting
    }

    /// The user at the source as whom a record is saved.
    func author(of record: SourceRecord, _ lane: MigrationLane) -> String {
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
                let kind = Migration.kind(error, of: record.recordType)
                note(record.recordID.recordName, lane, kind)
            case nil:
                note(record.recordID.recordName, lane, "the node did not say what became of it")
            }
        }
        return waiting
    }

    /// The container's database for a user; `database(of:)` is for the owner of the zone.
    func database(of lane: MigrationLane, as user: String) async throws -> Database {
        try await container(of: user)
            .database(with: lane.database == .public ? .public : .private)
    }

    private static func kind(_ error: any Error, of type: String) -> String {
        guard let error = error as? ServiceError else { return "\(error)" }
        guard error.code == .permissionFailure else { return "\(error)" }
        return "its creator may not save records of type \(type) here (\(error.code)): give that "
            + "user a role that may, with 'cumulus role assign', and run the migration again"
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

    /// Deletes records here.
    ///
    /// - Returns: The names of those that others belong to, which have to go before.
    func delete(_ names: [String], of lane: MigrationLane) async throws -> [String] {
        // What a participant does not see any more may still be its owner's.
        if names.isEmpty || lane.database == .shared { return [] }
        guard lane.database != .public else { return try await deletePublic(names, of: lane) }
        let database = try await database(of: lane)
        return try await delete(names, in: database, of: lane)
    }

    private func delete(
        _ names: [String],
        in database: Database,
        of lane: MigrationLane
    ) async throws -> [String] {
        let ids = names.map { Record.ID(recordName: $0, zoneID: lane.zoneID) }
        let results = try await target.persisting {
            let results = try await database.modifyRecords(
                saving: [],
                deleting: ids,
                atomically: false
            ).deleteResults
            for case .failure(let error as ServiceError) in results.values where error.passes {
                throw error
            }
            return results
        }
        var waiting: [String] = []
        for id in ids {
            switch results[id] {
            case .success?: report.deleted += 1
            case .failure(let error as ServiceError)? where error.code == .referenceViolation:
                reasons[id.recordName] = "it can't be deleted: \(error)"
                waiting.append(id.recordName)
            case .failure(let error)?: note(id.recordName, lane, "it can't be deleted: \(error)")
            case nil: note(id.recordName, lane, "the node did not say what became of it")
            }
        }
        // Parents may have stood before their children.
        guard !waiting.isEmpty, waiting.count < names.count else { return waiting }
        return try await delete(waiting.reversed(), in: database, of: lane)
    }

    /// A public record is deleted by its creator.
    private func deletePublic(_ names: [String], of lane: MigrationLane) async throws -> [String] {
        let found = try await target.publicRecords(named: names)
        let users = Dictionary(state.users.values.map { ($0.recordName, $0.name) }) { one, _ in one
        }
        let byUser = Dictionary(grouping: found.values) {
            users[$0.creatorUserRecordName ?? ""] ?? ""
        }
        var waiting: [String] = []
        for (user, records) in byUser.sorted(by: { $0.key < $1.key }) {
            let names = records.map(\.recordID.recordName).sorted()
            guard !user.isEmpty else {
                for name in names {
                    note(name, lane, "the source has it no more, and here it is another user's")
                }
                continue
            }
            let database = try await database(of: lane, as: user)
            waiting += try await delete(names, in: database, of: lane)
        }
        return waiting
    }

    /// Deletes records that a migration brought from this source, which has them no more.
    ///
    /// Such records are known by the fields of their origin: what users saved here stays, and what
    /// comes from elsewhere.
    ///
    /// - Returns: false if it is doubtful that so many are gone: then nothing was deleted.
    func sweep(_ lane: MigrationLane) async throws -> Bool {
        guard lane.database != .shared else { return true }
        guard options.keepsOrigin else {
            if !hasToldOfSweeps {
                complain("with --no-origin, deletions that only a comparison tells stay here")
            }
            hasToldOfSweeps = true
            return true
        }
        let (key, container) = (OriginField.container.rawValue, container)
        let names = try await names(of: lane, keys: [key]) { $0[key] == .string(container) }
        var gone: [String] = []
        for part in names.parts(of: SourceRequest.most) {
            let entries = try await lookUp(Array(part), in: lane, keys: [])
            for case .missing(let name) in entries { gone.append(name) }
        }
        guard !Migration.isDoubtful(gone.count, of: names.count) else {
            tell(
                "\(gone.count) of \(names.count) records are not at the source any more, and none "
                    + "was deleted here: see whether who asks may still read them there",
                lane.text
            )
            return false
        }
        while !gone.isEmpty {
            var rest: [String] = []
            for part in gone.parts(of: SourceRequest.most) {
                rest += try await delete(Array(part), of: lane)
            }
            guard rest.count < gone.count else {
                for name in rest { note(name, lane, reasons[name] ?? "it can't be deleted") }
                break
            }
            gone = rest.reversed()
        }
        return true
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
