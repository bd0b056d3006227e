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
        isVerifying = true
        let schema = try MigrationSchema(
            options.schema,
            into: try await target.schema(),
            keepsOrigin: options.keepsOrigin
        )
        self.schema = schema
        tellOfHidden(schema)
        if options.isOfUser {
            caller = try await askCaller()
            guard state.users[caller] != nil else {
                throw InputProblem(
                    "the state file knows no migration of this user: run it without --verify first"
                )
            }
        }
        return try await ending(await Result { try await compareAll(schema) })
    }

    private func compareAll(_ schema: MigrationSchema) async throws {
        var lanes = lists(of: schema)
        if options.isOfUser {
            for database in [DatabaseScope.private, .shared] {
                lanes += try await compareZones(of: database)
            }
        }
        for (index, lane) in lanes.enumerated() {
            show(lane, left: lanes.count - index)
            try await compare(lane)
        }
        // A participant sees a part of others' zones.
        for lane in Set(lanes.map(\.whole)).sorted(by: { $0.text < $1.text })
        where lane.database != .shared {
            try await findOthers(lane)
        }
        guard options.isOfUser else { return }
        try await compareUser()
        try await compareSubscriptions()
    }

    // MARK: Zones

    /// Compares which zones there are; the lists of those that are on both sides.
    private func compareZones(of database: DatabaseScope) async throws -> [MigrationLane] {
        let lanes = try await zones(of: database)
        let container = try await container(of: state.users[caller]?.name ?? "")
        let place = container.database(with: database)
        let found = try await target.persisting { try await place.allRecordZones() }
        let isOwn = database == .private
        var here = Set(
            found.map(\.zoneID).filter { $0.zoneName != Names.defaultZone }.map { id in
                SourceZone(name: id.zoneName, owner: isOwn ? "" : id.ownerName)
            }
        )
        var both: [MigrationLane] = []
        for lane in lanes {
            let owner = isOwn ? "" : state.mapped(lane.zone.owner)
            if here.remove(SourceZone(name: lane.zone.name, owner: owner)) != nil {
                both.append(lane)
            } else {
                differ(lane.text, "is missing here")
            }
        }
        for zone in here.sorted() {
            differ("zone \(zone.text) of the \(database.name) database", "is not at the source")
        }
        return both
    }

    private func zones(of database: DatabaseScope) async throws -> [MigrationLane] {
        var lanes: [MigrationLane] = []
        var token: String?
        var isMore = true
        while isMore {
            let request = SourceRequest.databaseChanges(of: database, token: token)
            let page = try await source.ask(request) { try SourceDatabaseChanges($0) }
            lanes += page.changed.map { zone in
                let named = database == .private ? SourceZone(name: zone.name) : zone
                return MigrationLane(caller: caller, database: database, zone: named)
            }
            (token, isMore) = (page.token, page.moreComing)
        }
        return lanes
    }

    // MARK: There, and here

    private func compare(_ lane: MigrationLane) async throws {
        var progress = MigrationProgress()
        while !progress.isDone {
            var page: MigrationPage
            do {
                page = try await self.page(progress.request(of: lane), of: lane).page
            } catch let error as SourceRefusalError {
                let refusal = error.refusal
                guard progress.token == nil, lane.type != nil, lane.isOptional(refusal) else {
                    throw refusal.error(of: lane.text)
                }
                if lane.isUnlisted(refusal) {
                    differ(lane.text, "can't be listed at the source: \(refusal.reason)")
                }
                return
            }
            page.entries = try await waited(page.entries, in: lane)
            for case .refused(let name, let refusal) in page.entries {
                differ(name, lane, "can't be read at the source: \(refusal.text)")
            }
            progress.take(page, deferring: [], at: 0)
            let roots = progress.waiting.roots
            try await compare(page.entries.compactMap(\.record), of: lane, roots)
            draw()
        }
    }

    private func compare(
        _ records: [SourceRecord],
        of lane: MigrationLane,
        _ roots: [String: String]
    ) async throws {
        let found = try await here(records.map(\.name), of: lane)
        for record in records {
            report.compared += 1
            guard let other = found[record.name] else {
                differ(record.name, lane, "is missing here")
                continue
            }
            if let share = share(of: record, lane) {
                compare(share, record, other, roots, lane)
                continue
            }
            if lane.database == .public,
                other.creatorUserRecordName != state.users[author(of: record, lane)]?.recordName
            {
                differ(record.name, lane, "has another creator here")
            }
            try await compare(record, other, lane)
        }
    }

    private func compare(
        _ record: SourceRecord,
        _ other: Record,
        _ lane: MigrationLane
    ) async throws {
        let wanted = try mapping.record(record, in: lane.zoneID)
        let fields = RecordComparison.differences(wanted, other)
        guard fields.isEmpty else {
            return differ(record.name, lane, "differs in \(fields.joined(separator: ", "))")
        }
        for field in RecordComparison.unclearAssets(wanted) {
            do {
                if try await hasSameFiles(record, field, other, lane) { continue }
                differ(record.name, lane, "has other bytes in \(field)")
            } catch let error as ServiceError where !error.passes {
                differ(record.name, lane, "can't be compared in \(field): \(error)")
            }
        }
    }

    private func compare(
        _ share: SourceShare,
        _ record: SourceRecord,
        _ other: Record,
        _ roots: [String: String],
        _ lane: MigrationLane
    ) {
        guard let made = other.shareDetails else {
            return differ(record.name, lane, "is no share here")
        }
        var wanted = share
        if wanted.root.isEmpty, record.name != Names.zoneShare {
            // In some answers the root alone says it, which may come later.
            wanted.root = roots[record.name] ?? made.root
        }
        let texts = ShareComparison.differences(
            wanted,
            made,
            seesAll: lane.database == .private,
            mapped: state.mapped
        )
        for text in texts { differ(record.name, lane, text) }
        for key in Set(record.fields.keys).union(other.allKeys()).sorted() {
            let value = record.plain(key)
            if value == nil || value != other[key] {
                differ(record.name, lane, "differs in \(key)")
            }
        }
    }

    private func compareUser() async throws {
        guard let user = state.users[caller], let (record, lane) = try await userRecord() else {
            return
        }
        report.compared += 1
        let place = try await database(of: lane, as: user.name)
        let id = Record.ID(recordName: user.recordName)
        let other = try await target.persisting { try await place.record(for: id) }
        try await compare(record, other, lane)
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

    func differ(_ place: String, _ what: String) {
        let text = "\(place) \(what)"
        report.differ(text)
        progress.clear()
        complain(text)
    }

    private func differ(_ name: String, _ lane: MigrationLane, _ what: String) {
        differ("record '\(name)' of \(lane.text)", what)
    }

    // MARK: Files

    private func hasSameFiles(
        _ record: SourceRecord,
        _ field: String,
        _ other: Record,
        _ lane: MigrationLane
    ) async throws -> Bool {
        guard let value = other[field], let files = record.assets[field] else { return false }
        let database: Database
        if lane.database == .public {
            let isUser = other.recordType == "Users"
            let creator = isUser ? other.recordID.recordName : other.creatorUserRecordName
            guard let user = state.users.values.first(where: { $0.recordName == creator }) else {
                return false
            }
            database = try await self.database(of: lane, as: user.name)
        } else {
            database = try await self.database(of: lane)
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

    /// Records that came from another source are not looked for.
    private func findOthers(_ lane: MigrationLane) async throws {
        let types = Set(schema?.types ?? []).union([Names.shareType])
        let (key, own) = (OriginField.container.rawValue, FieldValue.string(container))
        let names = try await names(of: lane, keys: options.keepsOrigin ? [key] : []) { record in
            types.contains(record.recordType) && record[key] ?? own == own
        }
        for part in names.parts(of: SourceRequest.most) {
            for entry in try await lookUp(Array(part), in: lane, keys: []) {
                switch entry {
                case .record: continue
                case .missing(let name), .deleted(let name):
                    differ(name, lane, "is not at the source")
                case .refused(let name, let refusal):
                    differ(name, lane, "can't be looked up at the source: \(refusal.text)")
                }
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
