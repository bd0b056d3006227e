// Rebuilds every derived row of a store from what it is derived from, and reports each difference.
//
// Derived rows are: change index, back references, indexes, asset uses and zone states (from record
// rows), zone heads and vectors (from the log), and the counts of assets (from their lists and
// chunks). Record rows are sealed anew too, so that a wrong tag or digest shows. It checks that the
// required rows for finding shares exist. It skips index rows of a record whose rows are owed.

import CumulusAssets
import CumulusModel
package import CumulusStorage

package struct DerivedRows {
    private let reader: ReadTransaction
    private var expected: [Subspace: [Bytes: Bytes]] = [:]
    private var ends: [RowKey: VectorRow] = [:]
    /// Rows whose making is no longer in the log.
    private var unknown: Set<Bytes> = []
    private var floors: [ScopeNumber: VersionVector] = [:]
    /// The indexes in use, by scope and type.
    private var indexes: [ScopeNumber: [String: [NumberedIndex]]] = [:]
    /// Indexes whose rows may or may not be there: they are being built, or are dropped.
    private var unfinished: Set<IndexNumber> = []
    /// Names of records whose rows in indexes are owed, by zone.
    private var owed: [ZoneNumber: Set<String>] = [:]
    private var differences: [String] = []

    private init(_ engine: any EngineReader) {
        reader = ReadTransaction(engine, reach: .disk)
    }

    /// The differences; empty if every derived row is right.
    package static func differences(in engine: any EngineReader) throws -> [String] {
        var check = DerivedRows(engine)
        try check.noteIndexes()
        for (key, value) in try check.rows(.database) { try check.addDatabase(key, value) }
        try check.noteFloors()
        for (key, bytes) in try check.rows(.commit) { try check.addCommit(key, bytes) }
        try check.addAssets()
        for subspace in [
            Subspace.change, .backReference, .zoneState, .zoneHead, .vector, .assetUse, .chunkUse,
            .packed, .pack, .assetUsage,
        ] {
            try check.compare(subspace)
        }
        try check.compareIndexes()
        return check.differences
    }

    private func rows(_ subspace: Subspace) throws -> [(key: Bytes, value: Bytes)] {
        try reader.rows(subspace.family, .all(subspace))
    }

    private mutating func expect(_ key: RowKey, _ value: Bytes, _ subspace: Subspace) {
        expected[subspace, default: [:]][key.bytes] = value
    }

    // MARK: From records

    private mutating func addDatabase(_ key: Bytes, _ value: Bytes) throws {
        var parts = KeyReader(key)
        let scope: ScopeNumber = try parts.number()
        guard let kind = DatabaseScope(rawValue: try parts.number(UInt8.self)) else {
            return differences.append("a database of an unknown kind: \(key.hex)")
        }
        let database = DatabaseID(kind: kind, owner: try parts.text())
        let number = try NumberRow(row: value).number
        for (key, value) in try reader.rows(.meta, .zones(of: number)) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let name = try parts.text()
            let zone = try ZoneRow(row: value)
            owed[zone.number] = Set(try reader.owedRecords(in: zone.number, of: scope))
            try addZone(zone, named: name, of: database, scope)
        }
    }

    private mutating func addZone(
        _ zone: ZoneRow,
        named zoneName: String,
        of database: DatabaseID,
        _ scope: ScopeNumber
    ) throws {
        let records = try reader.rows(.records, .records(of: zone.number))
        guard zone.exists else {
            if records.isEmpty { return }
            return differences.append("zone '\(zoneName)' is gone, its records are not")
        }
        var state = ZoneState()
        let siblings = try reader.rows(.records, .siblings(of: zone.number))
        for (key, value) in records + siblings {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            let isShown = parts.isAtEnd
            var row = try RecordRow(value)
            try state.count(row, sign: 1, isShown: isShown)
            for asset in try row.body.assets() {
                expect(.assetUse(zone.number, asset, name), [], .assetUse)
                try checkWanted(asset, of: database, scope)
            }
            for stamp in row.frontier {
                expect(.change(zone.number, stamp.dot, name), [], .change)
            }
            if isShown {
                try addReferences(of: row, named: name, in: zone.number)
                try addIndexRows(of: row, named: name, in: zone.number, scope)
            }
            let life = Commit.Zone(
                database: database,
                name: zoneName,
                generation: zone.generation
            )
            try checkShare(row, named: name, in: life, scope)
            let place = RecordRow.Place(
                database: database,
                zone: zoneName,
                generation: zone.generation,
                name: name
            )
            if try row.seal(at: place) == value { continue }
            differences.append("record '\(name)' is not what its digest says")
        }
        expect(.zoneState(zone.number), state.rowBytes, .zoneState)
    }

    /// The rows by which a share is found may lead nowhere, and must not be missing.
    private mutating func checkShare(
        _ row: RecordRow,
        named name: String,
        in zone: Commit.Zone,
        _ scope: ScopeNumber
    ) throws {
        guard let root = row.access.root, zone.database.kind == .private else { return }
        let ids = try reader.shareIDRow(ShareID(root, in: zone), in: scope)
        if ids?.recordNames.contains(name) != true {
            differences.append("share '\(name)' is not found by its URL")
        }
        let owner = zone.database.owner
        for user in row.access.users {
            let visible = try reader.visibleZone(zone.name, of: owner, to: user, in: scope)
            if visible?.shares.contains(name) == true { continue }
            differences.append("share '\(name)' is not found by user '\(user)'")
        }
    }

    private mutating func addReferences(
        of row: RecordRow,
        named child: String,
        in zone: ZoneNumber
    ) throws {
        var births: [Slot: Dot] = [:]
        for target in row.targets {
            births[Slot(field: target.field, element: target.element)] = target.birth
        }
        for entry in row.body.entries where entry.type?.holdsReferences == true {
            let field = row.body.name(of: entry)
            // If a field has several references to one record, the first one counts.
            for (element, reference) in try row.body.references(entry).enumerated().reversed()
            where reference.action == .deleteSelf {
                let birth = births[Slot(field: field, element: element)]
                addReference(to: reference.recordName, .deleteSelf, child, field, birth, zone)
            }
        }
        if let parent = row.parent, let name = parent.name {
            addReference(to: name, .parent, child, "", parent.birth, zone)
        }
    }

    // MARK: Indexes

    private mutating func noteIndexes() throws {
        for (scope, number) in try ScopeDirectory.all(in: reader) {
            for (type, index, row) in try reader.indexRows(of: number) {
                if row.state != .ready { unfinished.insert(index) }
                if row.state == .dropped { continue }
                indexes[number, default: [:]][type, default: []].append(
                    NumberedIndex(number: index, definition: row.definition, isReady: true)
                )
            }
            for (key, _) in try reader.registers(number, SchemaRegister.typeNamespace) {
                let type = String(decoding: key.first ?? [], as: UTF8.self)
                let schema = try reader.typeSchema(number, StoredName.shown(type))
                let wanted =
                    schema.name == type ? schema.indexDefinitions(in: scope.environment) : []
                let kept = indexes[number]?[type]?.map(\.definition) ?? []
                if kept.count == wanted.count, Set(kept) == wanted { continue }
                differences.append("\(type) has the indexes \(kept), not \(wanted)")
            }
        }
    }

    private mutating func addIndexRows(
        of row: RecordRow,
        named name: String,
        in zone: ZoneNumber,
        _ scope: ScopeNumber
    ) throws {
        guard !row.isDead, owed[zone]?.contains(name) != true else { return }
        for index in indexes[scope]?[row.type] ?? [] {
            for (key, value) in try Candidate(row, named: name).rows(in: zone, index) {
                expect(key, value, .indexRow)
            }
        }
    }

    /// An index that is being built lacks rows but has no wrong ones; a dropped index may have any.
    private mutating func compareIndexes() throws {
        let kept = Set(indexes.values.flatMap(\.values).joined().map(\.number))
        var missing = expected[.indexRow] ?? [:]
        for (key, value) in try rows(.indexRow) {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let number: IndexNumber = try parts.number()
            let wanted = missing.removeValue(forKey: key)
            if try isOwed(key, value) { continue }
            if wanted == value || unfinished.contains(number) && !kept.contains(number) { continue }
            differences.append("index row \(key.hex) should not be there")
        }
        for key in missing.keys {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            if unfinished.contains(try parts.number()) { continue }
            differences.append("index row \(key.hex) is missing")
        }
    }

    /// Whether a row of an index is of a record whose rows are owed.
    private func isOwed(_ key: Bytes, _ value: Bytes) throws -> Bool {
        var parts = KeyReader(key)
        guard let names = owed[try parts.number()], !names.isEmpty else { return false }
        let number: IndexNumber = try parts.number()
        let kept = indexes.values.flatMap(\.values).joined().first { $0.number == number }
        guard let kept else { return false }
        return names.contains(try IndexEntry(kept.definition, key: key, value: value).name)
    }

    /// One reference of a record.
    private struct Slot: Hashable {
        var field: String
        var element: Int
    }

    private mutating func addReference(
        to target: String,
        _ kind: BackReferenceKind,
        _ child: String,
        _ field: String,
        _ birth: Dot?,
        _ zone: ZoneNumber
    ) {
        var value = CanonicalWriter()
        if let birth { value.dot(birth) }
        let key = RowKey.backReference(zone, target: target, kind, child: child, field: field)
        expect(key, value.bytes, .backReference)
    }

    // MARK: Assets

    /// An asset that a record names is whole, or on the list of assets to fetch.
    private mutating func checkWanted(
        _ asset: Bytes,
        of database: DatabaseID,
        _ scope: ScopeNumber
    ) throws {
        guard let number = try reader.database(scope, database) else { return }
        if try reader.asset(asset, in: number)?.isComplete == true { return }
        if try reader.get(.wantedAsset(number, asset)) != nil { return }
        differences.append("asset \(asset.hex) is not whole, and nobody fetches it")
    }

    private mutating func addAssets() throws {
        var usage: [RowKey: UInt64] = [:]
        for (key, value) in try rows(.asset) {
            let (database, asset) = try DerivedRows.split(key)
            let row = try AssetRow(row: value)
            guard let list = try reader.chunkList(of: asset, in: database) else {
                differences.append("asset \(asset.hex) has no list")
                continue
            }
            var missing = 0
            for entry in list.distinct {
                let use = ChunkUseRow(size: entry.size).rowBytes
                expect(.chunkUse(database, entry.digest, asset), use, .chunkUse)
                let size = try reader.chunk(entry.digest, in: database)?.size
                if size != entry.size { missing += 1 }
            }
            if row.isComplete, missing > 0 {
                differences.append("asset \(asset.hex) lacks \(missing) chunks, and seems whole")
            }
            usage[.assetUsage(database, row.user), default: 0] += list.size
        }
        for (key, value) in try rows(.lease) {
            let row = try LeaseRow(row: value)
            guard row.isCharged else { continue }
            var parts = KeyReader(key)
            let (database, user) = (try parts.number(DatabaseNumber.self), try parts.text())
            usage[.assetUsage(database, user), default: 0] += row.size
        }
        for (key, bytes) in usage where bytes > 0 {
            expect(key, AssetUsageRow(bytes: bytes).rowBytes, .assetUsage)
        }
        try addChunks()
    }

    private mutating func addChunks() throws {
        let packs = Dictionary(uniqueKeysWithValues: try rows(.pack).map { ($0.key, $0.value) })
        for (key, value) in try rows(.chunk) {
            let (database, chunk) = try DerivedRows.split(key)
            let row = try ChunkRow(row: value)
            let packed = PackedRow(database: database, digest: chunk)
            expect(.packed(row.pack, row.offset), packed.rowBytes, .packed)
            let pack = RowKey.pack(row.pack)
            expect(pack, packs[pack.bytes] ?? PackRow(length: row.length).rowBytes, .pack)
        }
    }

    private static func split(_ key: Bytes) throws -> (DatabaseNumber, Bytes) {
        var parts = KeyReader(key)
        return (try parts.number(), try parts.bytes(32))
    }

    // MARK: From the log

    /// If a log doesn't begin with an incarnation's first commit, the incarnation's end and its
    /// zones can't be computed from it.
    private mutating func noteFloors() throws {
        for (key, value) in try rows(.logFloor) {
            var parts = KeyReader(key)
            let scope: ScopeNumber = try parts.number()
            let incarnation = Incarnation(try parts.number())
            floors[scope, default: VersionVector()][incarnation] = try SeqRow(row: value).seq
            unknown.insert(RowKey.vector(scope, incarnation).bytes)
            for (key, _) in try rows(.zoneHead) {
                var parts = KeyReader(key)
                _ = try parts.number(DatabaseNumber.self)
                if Incarnation(try parts.number()) == incarnation { unknown.insert(key) }
            }
        }
    }

    private mutating func addCommit(_ key: Bytes, _ bytes: Bytes) throws {
        var parts = KeyReader(key)
        let scope: ScopeNumber = try parts.number()
        let dot = try parts.dot()
        if floors[scope]?.covers(dot) == true { return }
        let commit = try Commit(bytes)
        let vector = RowKey.vector(scope, dot.incarnation)
        let row = (ends[vector] ?? .none).next(commit, bytes)
        ends[vector] = row
        expect(vector, row.rowBytes, .vector)
        guard let zone = commit.zone else { return }
        guard let database = try reader.database(scope, zone.database) else {
            return differences.append("commit \(dot) changes a database that has no number")
        }
        let head = RowKey.zoneHead(database, dot.incarnation, zone.name)
        expect(head, SeqRow(seq: dot.seq).rowBytes, .zoneHead)
    }

    // MARK: Comparison

    private mutating func compare(_ subspace: Subspace) throws {
        var missing = (expected[subspace] ?? [:]).filter { !unknown.contains($0.key) }
        for (key, value) in try rows(subspace) where !unknown.contains(key) {
            guard let wanted = missing.removeValue(forKey: key) else {
                differences.append("\(subspace) \(key.hex) should not be there")
                continue
            }
            // The position in the row of a run follows from nothing that is kept.
            let found = subspace == .vector ? try RunRow(row: value).end.rowBytes : value
            if wanted != found { differences.append("\(subspace) \(key.hex) is \(value.hex)") }
        }
        // A zone that nothing was written to has no state yet.
        let empty = ZoneState().rowBytes
        for (key, value) in missing where subspace != .zoneState || value != empty {
            differences.append("\(subspace) \(key.hex) is missing")
        }
    }
}
