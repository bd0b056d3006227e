// A node's state of a scope for a peer whose position its log no longer reaches: everything, or the
// changes, from one snapshot.
//
// The donor of a state sync reads it page by page; `StateSync` is the other side. It contains none
// of this node's numbers.

package import CumulusModel
package import CumulusStorage

/// The donor's description of its state, sent before the state itself.
package struct StateOffer: Sendable {
    package struct Zone: Sendable {
        package var database: DatabaseID
        package var name: String
        /// Its number is the donor's own and means nothing elsewhere.
        package var row: ZoneRow
        /// The last commit of each incarnation that touched the zone.
        package var heads: VersionVector
        /// How much of it is handed over.
        package var extent = Extent.nothing

        package init(
            database: DatabaseID,
            name: String,
            row: ZoneRow,
            heads: VersionVector
        ) {
            self.database = database
            self.name = name
            self.row = row
            self.heads = heads
        }

        /// The zone as commits name it.
        package var commitZone: Commit.Zone {
            Commit.Zone(database: database, name: name, generation: row.generation)
        }
    }

    /// The part of a zone that is handed over.
    package enum Extent: UInt8, Sendable {
        /// It is gone.
        case nothing = 0
        /// Records that changed since the receiver's vector.
        case delta = 1
        case full = 2
    }

    package struct Register: Sendable {
        package var namespace: String
        package var key: [Bytes]
        package var row: RegisterRow

        package init(namespace: String, key: [Bytes], row: RegisterRow) {
            self.namespace = namespace
            self.key = key
            self.row = row
        }
    }

    package struct Increment: Sendable {
        package var request: RequestID
        /// Identity of the life, see `RecordRow.identity`.
        package var identity: Dot
        package var recordName: String
        package var field: String
        package var row: IncrementRow

        package init(
            request: RequestID,
            identity: Dot,
            recordName: String,
            field: String,
            row: IncrementRow
        ) {
            self.request = request
            self.identity = identity
            self.recordName = recordName
            self.field = field
            self.row = row
        }
    }

    /// How far the receiver had read when it asked.
    package var base = VersionVector()
    package var vectors: [Incarnation: VectorRow] = [:]
    package var zones: [Zone] = []
    package var registers: [Register] = []
    /// The increments that the receiver's vector doesn't cover.
    package var increments: [Increment] = []
    /// About how much memory all that takes, where it came from another node.
    package var heldBytes = 0

    package var vector: VersionVector { VersionVector(vectors.mapValues(\.seq)) }

    package init() {}
}

/// One snapshot of a scope.
package struct StateSource: Sendable {
    let reader: ReadTransaction
    private let scope: ScopeNumber

    package init(_ reader: ReadTransaction, scope: ScopeNumber) {
        self.reader = reader
        self.scope = scope
    }

    /// Whether the log holds all that a reader at `vector` lacks.
    package func logReaches(_ vector: VersionVector) throws(EngineError) -> Bool {
        try vector.covers(reader.logFloors(of: scope))
    }

    /// The offer for a reader at `base`.
    package func offer(to base: VersionVector) throws(EngineError) -> StateOffer {
        var room = StateSource.deltaBytes
        return try offer(to: base) { (zone) throws(EngineError) in
            let size = try deltaSize(of: zone, above: base, limit: room)
            guard size <= room else { return true }
            room -= size
            return false
        }
    }

    /// - Parameter isLarge: Whether a zone goes in full though what changed of it would do.
    package func offer(
        to base: VersionVector,
        broken: BrokenRules = [],
        isLarge: (StateOffer.Zone) throws(EngineError) -> Bool
    ) throws(EngineError) -> StateOffer {
        var offer = StateOffer()
        offer.base = base
        offer.vectors = try reader.runs(of: scope).rows
        offer.zones = try zones()
        offer.registers = try registers()
        offer.increments = try increments(above: base)
        for (index, zone) in offer.zones.enumerated() where zone.row.exists {
            let isBehind = !base.covers(zone.row.horizon) && !broken.contains(.peerHorizon)
            var isFull = isBehind
            if !isFull { isFull = try isLarge(zone) }
            offer.zones[index].extent = isFull ? .full : .delta
        }
        return offer
    }

    /// Changes since the receiver's vector wait in its memory until the end; the bound is for all
    /// zones together.
    private static let deltaBytes = 32 << 20

    /// The offer for a peer that only compares: the ends of all logs, and zones without their
    /// heads; nothing is left out.
    ///
    /// - Parameter stretches: Only the zones that they are in; nil means all.
    package func outline(of stretches: [Stretch]? = nil) throws(EngineError) -> StateOffer {
        var offer = StateOffer()
        offer.vectors = try reader.runs(of: scope).rows
        if let stretches {
            offer.zones = try zones(of: stretches)
        } else {
            for (database, number) in try reader.databases(of: scope) {
                for (name, row) in try reader.zoneRows(of: number) {
                    offer.zones.append(
                        .init(database: database, name: name, row: row, heads: VersionVector())
                    )
                }
            }
        }
        for index in offer.zones.indices where offer.zones[index].row.exists {
            offer.zones[index].extent = .full
        }
        return offer
    }

    private func zones(of stretches: [Stretch]) throws(EngineError) -> [StateOffer.Zone] {
        var zones: [StateOffer.Zone] = []
        var named: Set<Stretch> = []
        for stretch in stretches {
            let (database, name) = (stretch.database, stretch.zone)
            guard named.insert(Stretch(database: database, zone: name)).inserted,
                let row = try zone(database, name)
            else { continue }
            zones.append(.init(database: database, name: name, row: row, heads: VersionVector()))
        }
        return zones
    }

    /// How many bytes the records have that changed of a zone; more than `limit` if it is more, or
    /// if half of the zone changed.
    private func deltaSize(
        of zone: StateOffer.Zone,
        above base: VersionVector,
        limit: Int
    ) throws(EngineError) -> Int {
        let state = try reader.row(.zoneState(zone.row.number)) ?? ZoneState()
        // No record is smaller than 50 bytes, and few records are nothing to think about.
        let most = min(limit / 50, max(1_000, Int(clamping: state.records / 2)))
        var changes = 0
        for range in changeRanges(of: zone, above: base) {
            changes += try keys(.index, range, limit: most + 1 - changes).count
            if changes > most { return limit + 1 }
        }
        var size = 0
        for name in try names(in: zone, above: base) {
            size += try record(name, in: zone)?.byteCount ?? 0
            if size > limit { return size }
        }
        return size
    }

    /// The ranges of a zone's change index that hold commits which `base` doesn't cover.
    private func changeRanges(
        of zone: StateOffer.Zone,
        above base: VersionVector
    ) -> [KeyRange] {
        zone.heads.dots.filter { !base.covers($0) }.map {
            .changes(of: zone.row.number, $0.incarnation, above: base[$0.incarnation])
        }
    }

    /// All zones of the scope, including deleted ones.
    package func zones() throws(EngineError) -> [StateOffer.Zone] {
        var zones: [StateOffer.Zone] = []
        for (database, number) in try reader.databases(of: scope) {
            zones += try self.zones(of: database, number)
        }
        return zones
    }

    /// A zone, also one that is gone.
    func zone(_ database: DatabaseID, _ name: String) throws(EngineError) -> ZoneRow? {
        guard let number = try reader.database(scope, database) else { return nil }
        return try reader.zone(number, name)
    }

    private func zones(
        of database: DatabaseID,
        _ number: DatabaseNumber
    ) throws(EngineError) -> [StateOffer.Zone] {
        var heads: [String: VersionVector] = [:]
        for (key, value) in try reader.rows(.meta, .zoneHeads(of: number)) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let incarnation = Incarnation(try parts.number())
            let seq = try reader.decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value).seq
            }
            heads[try parts.text(), default: VersionVector()][incarnation] = seq
        }
        return try reader.zoneRows(of: number).map { name, row in
            .init(database: database, name: name, row: row, heads: heads[name] ?? VersionVector())
        }
    }

    private func registers() throws(EngineError) -> [StateOffer.Register] {
        var registers: [StateOffer.Register] = []
        for (key, value) in try reader.rows(.meta, .registers(of: scope)) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let namespace = try parts.text()
            var rest: [Bytes] = []
            while !parts.isAtEnd { rest.append(try parts.content()) }
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try RegisterRow(row: value)
            }
            registers.append(.init(namespace: namespace, key: rest, row: row))
        }
        return registers
    }

    private func increments(
        above vector: VersionVector
    ) throws(EngineError) -> [StateOffer.Increment] {
        var increments: [StateOffer.Increment] = []
        var failure: EngineError?
        try reader.scan(.log, .increments(of: scope), backwards: false) { key, value in
            do throws(EngineError) {
                let row = try reader.decoding(key) { () throws(MalformedBytes) in
                    try IncrementRow(row: value)
                }
                if vector.covers(row.stamp.dot) { return true }
                if let increment = try increment(key, row) { increments.append(increment) }
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        return increments
    }

    private func increment(
        _ key: Bytes,
        _ row: IncrementRow
    ) throws(EngineError) -> StateOffer.Increment? {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        guard let request = RequestID(try parts.bytes(16)) else { return nil }
        return StateOffer.Increment(
            request: request,
            identity: Dot(Incarnation(try parts.number()), try parts.number()),
            recordName: try parts.text(),
            field: try parts.text(),
            row: row
        )
    }

    // MARK: Records

    /// Names of a zone's records with a commit that `vector` doesn't cover, ascending.
    func names(
        in zone: StateOffer.Zone,
        above vector: VersionVector
    ) throws(EngineError) -> [String] {
        var names: Set<String> = []
        for range in changeRanges(of: zone, above: vector) {
            for key in try keys(.index, range, limit: .max) {
                names.insert(try RowKey.changedRecord(key))
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func keys(
        _ family: Family,
        _ range: KeyRange,
        limit: Int
    ) throws(EngineError) -> [Bytes] {
        var keys: [Bytes] = []
        try reader.scan(family, range, backwards: false) { key, _ in
            keys.append(key)
            return keys.count < limit
        }
        return keys
    }

    /// Some records of a zone, ascending by name.
    struct Run {
        var records: [(name: String, record: StagedRecord)] = []
        /// Bytes of all records, including tombstones.
        var byteCount = 0
        /// Nothing follows them of what was asked for.
        var isLast = true
    }

    /// A zone's records from behind one of them, until they have that many bytes.
    ///
    /// - Parameter end: The last name that is wanted; nil means to the end of the zone.
    func records(
        in number: ZoneNumber,
        after name: String?,
        through end: String? = nil,
        byteLimit: Int
    ) throws(EngineError) -> Run {
        let range = KeyRange.records(of: number, after: name, through: end)
        var found: [(key: Bytes, row: Bytes)] = []
        var (byteCount, run) = (0, Run())
        try reader.scan(.records, range, backwards: false) { key, row in
            found.append((key, row))
            byteCount += key.count + row.count
            run.isLast = byteCount < byteLimit
            return run.isLast
        }
        // Hidden rows behind a shown one may be many times as large.
        for (key, row) in found {
            guard run.byteCount < byteLimit else {
                run.isLast = false
                break
            }
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let name = try parts.text()
            let record = try whole(row, named: name, in: number)
            run.byteCount += key.count + record.byteCount
            run.records.append((name, record))
        }
        return run
    }

    /// A record's rows, the shown one first; nil if it isn't there.
    func record(
        _ name: String,
        in zone: StateOffer.Zone
    ) throws(EngineError) -> StagedRecord? {
        let number = zone.row.number
        guard let shown = try reader.get(.record(number, name)) else { return nil }
        return try whole(shown, named: name, in: number)
    }

    /// The shown row and those behind it.
    private func whole(
        _ shown: Bytes,
        named name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> StagedRecord {
        let row = try reader.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try RecordRow(shown)
        }
        guard row.hasSiblings else { return StagedRecord(rows: [shown]) }
        let siblings = try reader.rows(.records, .siblings(of: zone, name))
        return StagedRecord(rows: [shown] + siblings.map(\.value))
    }
}
