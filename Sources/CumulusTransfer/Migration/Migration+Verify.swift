// Compares both sides, record by record, and says what differs; it changes nothing but tokens.

import Crypto
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    /// Compares everything that the caller reaches at the source with what is here, both ways.
    ///
    /// Files are compared by digest where the source is a node, else byte for byte.
    package func verify() async throws -> MigrationReport {
        schema = try MigrationSchema(
            options.schema,
            into: try await target.schema(),
            keepsOrigin: options.keepsOrigin
        )
        if options.isOfUser {
            caller = try await askCaller()
            guard state.users[caller] != nil else {
                throw InputProblem(
                    "the state file knows no migration of this user: run it without --verify first"
                )
            }
        }
        let lanes = try await allLanes()
        for (index, lane) in lanes.enumerated() {
            show(lane, left: lanes.count - index)
            try await compare(lane)
        }
        // A participant sees a part of others' zones.
        for lane in Set(lanes.map(\.whole)) where lane.database != .shared {
            try await findOthers(lane)
        }
        return try await ending()
    }

    private func allLanes() async throws -> [MigrationLane] {
        let database = options.isOfUser ? DatabaseScope.private : .public
        var lanes = (schema?.types ?? []).map {
            MigrationLane(caller: caller, database: database, zone: .standard, type: $0)
        }
        guard options.isOfUser else { return lanes }
        for database in [DatabaseScope.private, .shared] {
            var token: String?
            var isMore = true
            while isMore {
                let request = SourceRequest.databaseChanges(of: database, token: token)
                let page = try await source.ask(request) { try SourceDatabaseChanges($0) }
                lanes += page.changed.map { zone in
                    let isOwn = database == .private
                    let named = isOwn ? SourceZone(name: zone.name) : zone
                    return MigrationLane(caller: caller, database: database, zone: named)
                }
                (token, isMore) = (page.token, page.moreComing)
            }
        }
        return lanes
    }

    // MARK: There, and here

    private func compare(_ lane: MigrationLane) async throws {
        var progress = MigrationProgress()
        while !progress.isDone {
            let page: MigrationPage
            do {
                let request = progress.request(of: lane)
                page = try MigrationPage(try await source.ask(request), of: lane)
            } catch let error as SourceRefusalError {
                let code = error.refusal.code
                let isNone = code == "NOT_FOUND" && lane.type != nil
                let isUnlisted = code == "BAD_REQUEST" && lane.database == .private
                if isNone || isUnlisted && lane.type != nil { return }
                throw error.refusal.error(of: lane.text)
            } catch let problem as SourceProblem {
                throw InputProblem("the source's answer about \(lane.text): \(problem.description)")
            }
            try await compare(page.entries.compactMap(\.record), of: lane)
            progress.take(page, deferring: [])
            draw()
        }
    }

    private func compare(_ records: [SourceRecord], of lane: MigrationLane) async throws {
        let found = try await here(records.map(\.name), of: lane)
        for record in records {
            report.compared += 1
            guard let other = found[record.name] else {
                differ(record.name, lane, "is missing here")
                continue
            }
            if let share = record.share {
                compare(share, other, record.name, lane)
                continue
            }
            let wanted = try mapping.record(record, in: lane.zoneID)
            let fields = RecordComparison.differences(wanted, other)
            guard fields.isEmpty else {
                differ(record.name, lane, "differs in \(fields.joined(separator: ", "))")
                continue
            }
            for field in RecordComparison.unclearAssets(wanted) {
                if try await hasSameFiles(record, field, other, lane) { continue }
                differ(record.name, lane, "has other bytes in \(field)")
            }
        }
    }

    private func compare(
        _ share: SourceShare,
        _ other: Record,
        _ name: String,
        _ lane: MigrationLane
    ) {
        guard let made = Share(other) else { return differ(name, lane, "is no share here") }
        let root = made.rootRecordID?.recordName ?? ""
        if !share.root.isEmpty, root != share.root {
            differ(name, lane, "shares another record here")
        }
        if made.publicPermission != share.publicPermission {
            differ(name, lane, "is open to others than at the source")
        }
        let joined = made.participants.filter {
            $0.role != .owner && $0.acceptanceStatus == .accepted
        }.count
        let wanted = share.participants.filter(\.hasAccepted).count
        if joined != wanted {
            differ(name, lane, "has \(joined) participants who accepted, and \(wanted) there")
        }
    }

    /// The records here with these names.
    private func here(_ names: [String], of lane: MigrationLane) async throws -> [String: Record] {
        if names.isEmpty { return [:] }
        if lane.database == .public { return try await target.publicRecords(named: names) }
        let database = try await database(of: lane)
        let ids = names.map { Record.ID(recordName: $0, zoneID: lane.zoneID) }
        let results = try await target.persisting { try await database.records(for: ids) }
        var found: [String: Record] = [:]
        for (id, result) in results {
            switch result {
            case .success(let record): found[id.recordName] = record
            case .failure(let error as ServiceError)
            where error.code == .unknownItem || error.code == .zoneNotFound:
                continue
            case .failure(let error): throw error
            }
        }
        return found
    }

    private func differ(_ name: String, _ lane: MigrationLane, _ what: String) {
        report.different += 1
        progress.clear()
        complain("record '\(name)' of \(lane.text) \(what)")
    }

    // MARK: Files

    private func hasSameFiles(
        _ record: SourceRecord,
        _ field: String,
        _ other: Record,
        _ lane: MigrationLane
    ) async throws -> Bool {
        guard let value = other[field], let files = record.assets[field] else { return false }
        let creators = state.users.values.filter { $0.recordName == other.creatorUserRecordName }
        let user = lane.database == .public ? creators.first?.name : nil
        let database =
            if let user { try await database(of: lane, as: user) } else {
                try await database(of: lane)
            }
        for (number, element) in (value.list ?? [value]).enumerated() {
            guard case .asset(let asset) = element, number < files.count else { return false }
            let path = "\(folder)/verify"
            defer { unlink(path) }
            let wanted = try await source.download(files[number], to: path)
            let local = try await target.persisting { try await database.download(asset) }
            guard let file = local.fileURL, try Migration.digest(of: file) == wanted else {
                return false
            }
        }
        return true
    }

    private static func digest(of url: URL) throws -> Bytes {
        let path = url.path(percentEncoded: false)
        guard let file = try? OpenFile(reading: path) else {
            throw InputProblem("\(path) can't be read")
        }
        var (hash, bytes) = (SHA256(), [UInt8]())
        while try file.take(upTo: 1 << 20, into: &bytes) > 0 {
            hash.update(data: bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        return Bytes(hash.finalize())
    }

    // MARK: Here, and not there

    private func findOthers(_ lane: MigrationLane) async throws {
        let types = Set(schema?.types ?? [])
        let names = try await names(of: lane, keys: []) { types.contains($0.recordType) }
        for part in names.parts(of: SourceRequest.most) {
            for case .missing(let name) in try await lookUp(Array(part), in: lane, keys: []) {
                differ(name, lane, "is not at the source")
            }
        }
    }
}

extension MigrationLane {
    /// The lane of all records of its zone.
    fileprivate var whole: MigrationLane {
        MigrationLane(caller: caller, database: database, zone: zone)
    }
}
