// What a commit does to the rows. The only code that writes records, zones and registers: this
// node's own requests become commits first and are applied here, and replaying a log gives the same
// rows byte for byte.
//
// Called by operations through `perform`. Every step is a function of the commit and of replicated
// state, never of the node.

package import CumulusModel

extension WriteTransaction {
    /// Makes a commit of this node's, logs it and applies it.
    ///
    /// Returns the commit, and the rows that its puts left, in their order.
    package mutating func perform(
        _ operations: [Commit.Operation],
        in scope: ScopeNumber,
        zone: Commit.Zone?,
        author: Author
    ) throws(EngineError) -> (commit: Commit, rows: [RecordRow]) {
        let commit = try makeCommit(scope, author: author, zone: zone, operations: operations)
        let rows = try apply(commit, bytes: commit.encoded(), in: scope)
        if operations.contains(where: \.mayLeaveOrphans) { noteUncompensated(commit, in: scope) }
        return (commit, rows)
    }

    /// Logs a commit and applies its operations.
    ///
    /// What it depends on must have been applied.
    @discardableResult
    package mutating func apply(
        _ commit: Commit,
        bytes: Bytes,
        in scope: ScopeNumber
    ) throws(EngineError) -> [RecordRow] {
        let found = try find(commit.zone, in: scope)
        let cut = try log(commit, bytes: bytes, in: scope, isVisible: commit.zone != nil)
        var application = Application(
            commit: commit,
            cut: cut,
            scope: scope,
            broken: state.broken,
            found: found
        )
        for operation in commit.operations {
            switch operation {
            case .register(let register): try apply(register, commit, in: scope)
            case .zoneCreate: try applyZoneCreate(&application)
            case .zoneDelete(let reason): try applyZoneDelete(reason, &application)
            case .put(let put): try apply(put, &application)
            case .delete(let name, let births): try applyDelete(name, births, &application)
            }
        }
        if let zone = commit.zone {
            let known = application.place?.database
            let database = if let known { known } else { try makeDatabase(scope, zone.database) }
            touch(database, zone: zone.name, commit.stamp.dot)
        }
        try store(application.conflicts, of: commit, in: scope)
        try settleIndexes()
        if commit.stamp.dot.incarnation != state.incarnation { try noteRequest(of: commit, scope) }
        return application.rows
    }

    /// What stands here of a commit's zone; nil: it has none.
    ///
    /// A zone's last generation must not be ended by whoever only names it.
    private mutating func find(
        _ zone: Commit.Zone?,
        in scope: ScopeNumber
    ) throws(EngineError) -> Application.Found? {
        guard let zone else { return nil }
        guard let database = try database(scope, zone.database) else {
            try checkReach(of: zone, from: nil)
            return nil
        }
        let row = try self.zone(database, zone.name)
        try checkReach(of: zone, from: row)
        return Application.Found(database: database, row: row)
    }

    private borrowing func checkReach(
        of zone: Commit.Zone,
        from row: ZoneRow?
    ) throws(EngineError) {
        guard Zones.isReachable(zone.generation, from: row) else {
            throw .corrupt(
                "a commit names generation \(zone.generation) of \(zone.name), which nobody made"
            )
        }
    }

    /// Remembers which commits another node made for a request, so that its retry here is known.
    private mutating func noteRequest(
        of commit: Commit,
        _ scope: ScopeNumber
    ) throws(EngineError) {
        guard let requestID = RequestID(commit.requestID) else { return }
        let key = RowKey.request(requestID, scope, commit.user)
        var row = try row(key) ?? RequestRow(digest: [], dots: [], outcome: [])
        guard row.digest.isEmpty else { return }
        row.dots.append(commit.stamp.dot)
        put(key, row)
    }

    private mutating func store(
        _ conflicts: [Conflict],
        of commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        // Those beyond have no number: a commit would have to lose 65,535 fields at once.
        for (number, conflict) in conflicts.prefix(Int(UInt16.max)).enumerated() {
            let key = RowKey.conflict(scope, commit.stamp, UInt16(truncatingIfNeeded: number))
            put(key, conflict)
            let database = try makeDatabase(scope, conflict.zone.database)
            try noteAssetLosses(conflict, key, in: database)
        }
    }
}

/// A commit on its way into the rows.
private struct Application {
    let commit: Commit
    let cut: CausalCut
    let scope: ScopeNumber
    let broken: BrokenRules
    /// What stood here of its zone before it; nil: nothing, or the zone has changed since.
    var found: Found?
    /// Where its records stand; found with the first of them.
    var place: ZonePlace?
    /// What its puts left, in their order.
    var rows: [RecordRow] = []
    var conflicts: [Conflict] = []
    /// Records, and about so many bytes of them, that the deletion of a zone is charged with.
    static let lossLimit = 1_000
    static let lossBytes = 4 << 20

    struct Found {
        let database: DatabaseNumber
        let row: ZoneRow?
    }

    init(
        commit: Commit,
        cut: CausalCut,
        scope: ScopeNumber,
        broken: BrokenRules,
        found: Found?
    ) {
        self.commit = commit
        self.cut = cut
        self.scope = scope
        self.broken = broken
        self.found = found
    }

    mutating func note(_ clashes: [Clash], of name: String, _ type: String) {
        guard let zone = commit.zone else { return }
        for clash in clashes {
            conflicts.append(
                Conflict(
                    zone: zone,
                    recordName: name,
                    recordType: type,
                    field: clash.field,
                    winner: clash.winner,
                    loser: clash.loser,
                    lost: clash.lost
                )
            )
        }
    }

    /// Lives that the commit ends, and that somebody changed who didn't know.
    mutating func noteLoss(of ended: [RecordRow], named name: String) {
        for row in ended {
            if broken.contains(.losses), cut.covers(row.modified.dot) { continue }
            let told = broken.contains(.knownEnds) ? row.modified : nil
            guard let loser = row.newest(unknownTo: cut) ?? told else { continue }
            let clash = Clash(
                field: "",
                winner: commit.stamp,
                loser: loser,
                lost: row.body.bytes
            )
            note([clash], of: name, row.type)
        }
    }

    /// A record of a name under which others made one: the one that was made first is not shown.
    mutating func noteTwin(
        _ put: Commit.Put,
        of shown: RecordRow
    ) throws(EngineError) {
        let isLater = commit.stamp > shown.birth
        let clash = Clash(
            field: "",
            winner: max(commit.stamp, shown.birth),
            loser: min(commit.stamp, shown.birth),
            lost: isLater ? shown.body.bytes : try said(put).bytes
        )
        note([clash], of: put.recordName, isLater ? shown.type : put.type)
    }

    /// A change that comes too late for what it changes: all of it is lost.
    mutating func noteLoss(
        of put: Commit.Put,
        _ type: String,
        to winner: Stamp
    ) throws(EngineError) {
        let lost = try said(put).bytes
        let clash = Clash(field: "", winner: winner, loser: commit.stamp, lost: lost)
        note([clash], of: put.recordName, type)
    }

    private func said(_ put: Commit.Put) throws(EngineError) -> RecordBody {
        do throws(MalformedBytes) {
            return try put.saidFields
        } catch {
            throw .corrupt("a change of \(put.recordName) can't be read: \(error.reason)")
        }
    }
}

/// Where the records of a zone stand.
package struct ZonePlace: Sendable {
    package var scope: ScopeNumber
    package var database: DatabaseNumber
    package var number: ZoneNumber
    package var zone: Commit.Zone

    package init(
        scope: ScopeNumber,
        database: DatabaseNumber,
        number: ZoneNumber,
        zone: Commit.Zone
    ) {
        self.scope = scope
        self.database = database
        self.number = number
        self.zone = zone
    }

    func record(_ name: String) -> RecordRow.Place {
        RecordRow.Place(
            database: zone.database,
            zone: zone.name,
            generation: zone.generation,
            name: name
        )
    }
}

// MARK: - Zones and registers

extension WriteTransaction {
    /// Where the records of a commit stand; nil if their zone is gone: the commit has no effect.
    private mutating func place(
        of application: inout Application
    ) throws(EngineError) -> ZonePlace? {
        if let place = application.place { return place }
        guard let zone = application.commit.zone else {
            throw .corrupt("a commit changes records and names no zone")
        }
        let database: DatabaseNumber
        var row: ZoneRow?
        if let found = application.found {
            (database, row) = (found.database, found.row)
        } else {
            database = try makeDatabase(application.scope, zone.database)
            row = try self.zone(database, zone.name)
        }
        if zone.name == Names.defaultZone, row?.exists != true,
            zone.generation == Zones.nextGeneration(after: row)
        {
            // A default zone is always there, a new one after a reset; its row is made when
            // something is written to it.
            row = try makeZone(row, zone, in: database, created: .zero)
        }
        guard let row, row.exists, row.generation == zone.generation else { return nil }
        application.place = ZonePlace(
            scope: application.scope,
            database: database,
            number: row.number,
            zone: zone
        )
        return application.place
    }

    /// Makes a zone of a new generation; of several that are made concurrently, the first one's
    /// stamp stays.
    private mutating func applyZoneCreate(_ application: inout Application) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        application.found = nil
        let stamp = application.commit.stamp
        let database = try makeDatabase(application.scope, zone.database)
        guard var row = try self.zone(database, zone.name), row.generation >= zone.generation else {
            let earlier = try self.zone(database, zone.name)
            _ = try makeZone(earlier, zone, in: database, created: stamp)
            return
        }
        guard row.generation == zone.generation, stamp < row.created else { return }
        row.created = stamp
        put(.zone(database, zone.name), row)
    }

    private mutating func makeZone(
        _ earlier: ZoneRow?,
        _ zone: Commit.Zone,
        in database: DatabaseNumber,
        created: Stamp
    ) throws(EngineError) -> ZoneRow {
        if let earlier, earlier.exists { dropRows(of: earlier.number) }
        var row = ZoneRow(
            number: try takeZoneNumber(),
            generation: zone.generation,
            capabilities: Zones.capabilities(of: zone.name, in: zone.database.kind),
            created: created
        )
        row.deadThrough = earlier?.deadThrough ?? 0
        row.deleted = earlier?.deleted
        row.reason = earlier?.reason ?? 0
        put(.zone(database, zone.name), row)
        return row
    }

    /// Ends a generation; of several deletions, the first one's stamp and reason stay.
    private mutating func applyZoneDelete(
        _ reason: UInt8,
        _ application: inout Application
    ) throws(EngineError) {
        guard let zone = application.commit.zone else { return }
        application.found = nil
        let stamp = application.commit.stamp
        let database = try makeDatabase(application.scope, zone.database)
        guard var row = try self.zone(database, zone.name),
            zone.generation > row.deadThrough
                || (zone.generation == row.deadThrough && stamp < row.deleted ?? stamp)
        else { return }
        if row.exists, row.generation <= zone.generation {
            if row.generation == zone.generation {
                try noteLosses(in: row.number, &application)
            }
            dropRows(of: row.number)
        }
        row.deadThrough = zone.generation
        row.deleted = stamp
        row.reason = reason
        put(.zone(database, zone.name), row)
        application.place = nil
    }

    /// Living records of a zone that whoever deletes it didn't know as they are, the first of them.
    private mutating func noteLosses(
        in zone: ZoneNumber,
        _ application: inout Application
    ) throws(EngineError) {
        var (names, byteCount) = (Set<String>(), 0)
        for (run, row) in try loadScope(application.scope).runs.rows.sorted(by: { $0.key < $1.key })
        {
            let known = application.cut[run]
            if row.seq <= known { continue }
            let range = KeyRange.changes(of: zone, run, above: known)
            for (key, _) in try rows(.index, range, limit: Application.lossLimit) {
                let name = try RowKey.changedRecord(key)
                if names.count >= Application.lossLimit || byteCount >= Application.lossBytes {
                    return
                }
                guard names.insert(name).inserted else { continue }
                let living = try lives(zone, name).filter { !$0.isDead }
                byteCount += living.reduce(0) { $0 + $1.body.bytes.count }
                application.noteLoss(of: living, named: name)
            }
        }
    }

    /// When the zone of a commit that comes too late was deleted.
    private mutating func zoneEnd(of application: Application) throws(EngineError) -> Stamp {
        guard let zone = application.commit.zone else { return .zero }
        let database = try makeDatabase(application.scope, zone.database)
        return try self.zone(database, zone.name)?.deleted ?? .zero
    }

    /// Drops everything that stands under a zone's number.
    package mutating func dropRows(of zone: ZoneNumber) {
        deleteRange(.records, .records(of: zone))
        deleteRange(.records, .siblings(of: zone))
        deleteRange(.index, .changes(of: zone))
        deleteRange(.index, .backReferences(of: zone))
        deleteRange(.index, .indexRows(of: zone))
        deleteRange(.index, .assetUses(of: zone))
        forgetZone(zone)
    }

    private mutating func apply(
        _ register: Commit.Register,
        _ commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let row = RegisterRow(stamp: commit.stamp, value: register.value)
        try join(row, into: register.namespace, register.key, of: scope, isCommitted: true)
    }
}

extension RegisterRow {
    /// The highest stamp stands; but the first to give a field its type keeps it, so that what is
    /// stored fits, of counts the greatest stands, and a member that was taken off stays off,
    /// whoever enters it meanwhile.
    func replaces(_ current: RegisterRow, in namespace: String) -> Bool {
        let isRemoval = value == nil
        if namespace == MemberRegister.namespace, isRemoval != (current.value == nil) {
            return isRemoval
        }
        if SchemaRegister.isCount(namespace), value != current.value {
            return (current.value ?? []).lexicographicallyPrecedes(value ?? [])
        }
        let isFirst = SchemaRegister.isFixed(namespace) && current.value != nil && value != nil
        return isFirst ? stamp < current.stamp : stamp > current.stamp
    }
}

/// What is fixed about zones.
package enum Zones {
    /// Custom zones of private databases can do everything, default zones nothing beyond holding
    /// records.
    package static func capabilities(of name: String, in database: DatabaseScope) -> UInt32 {
        let isCustom = database == .private && name != Names.defaultZone
        return isCustom ? RecordZone.Capabilities.custom.rawValue : 0
    }

    /// No zone is deleted so often, whatever a peer says: one more always fits.
    package static let lastGeneration: UInt64 = (1 << 48) - 1

    /// Whether a commit may name a generation where `row` stands, or nothing: the zone was made
    /// before, as far as its origin knew, or is made by it.
    package static func isReachable(_ generation: UInt64, from row: ZoneRow?) -> Bool {
        generation <= max(row?.generation ?? 0, nextGeneration(after: row) ?? 0)
    }

    /// The generation of a zone that is made where `row` stands, or nothing; nil: no more can be.
    package static func nextGeneration(after row: ZoneRow?) -> UInt64? {
        let dead = row?.deadThrough ?? 0
        return dead < lastGeneration ? dead + 1 : nil
    }
}

// MARK: - Records

extension WriteTransaction {
    private mutating func apply(
        _ put: Commit.Put,
        _ application: inout Application
    ) throws(EngineError) {
        let commit = application.commit
        guard let place = try place(of: &application) else {
            return try application.noteLoss(
                of: put,
                put.type,
                to: try zoneEnd(of: application)
            )
        }
        var record = try record(place, put.recordName)
        var merge = PutMerge(put, commit, application.cut, state.broken)
        merge.doubled = try enterIncrements(of: put, commit, in: application.scope)
        let born = put.birth ?? commit.stamp.dot
        let isLatest = application.cut.covers(record.frontier)
        if put.birth == nil {
            if let shown = record.shown, !application.cut.covers(shown.birth.dot) {
                try application.noteTwin(put, of: shown)
            }
            record.add(RecordRow(type: put.type, birth: commit.stamp, createdBy: commit.user))
        }
        let absorbed = record.end(put.absorbed.filter { $0 != born }, by: commit)
        application.noteLoss(of: absorbed, named: put.recordName)
        let isThere = try decoding(RowKey.record(place.number, put.recordName).bytes) {
            () throws(MalformedBytes) in
            try record.change(born) { (row) throws(MalformedBytes) in
                try merge.run(on: &row, isLatest: isLatest)
            }
        }
        let type = record.type(of: born) ?? put.type
        application.note(merge.clashes, of: put.recordName, type)
        if !isThere {
            let winner = record.frontier.last ?? .zero
            try application.noteLoss(of: put, type, to: winner)
        }
        if isThere || !state.broken.contains(.frontier) { record.enter(commit, application.cut) }
        application.rows.append(try store(record, commit, at: place))
    }

    private mutating func applyDelete(
        _ name: String,
        _ births: [Dot],
        _ application: inout Application
    ) throws(EngineError) {
        guard let place = try place(of: &application) else { return }
        var record = try record(place, name)
        let ended = record.end(births, by: application.commit)
        application.noteLoss(of: ended, named: name)
        if !ended.isEmpty || !state.broken.contains(.frontier) {
            record.enter(application.commit, application.cut)
        }
        _ = try store(record, application.commit, at: place)
    }

    /// Remembers the increments of a request.
    ///
    /// Returns those that were made twice: of two commits that say the same for one request, the
    /// later one doesn't count.
    private mutating func enterIncrements(
        of put: Commit.Put,
        _ commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) -> [DoubledIncrement] {
        guard let request = RequestID(commit.requestID) else { return [] }
        var doubled: [DoubledIncrement] = []
        for increment in put.increments {
            let birth = put.birth ?? commit.stamp.dot
            let key = RowKey.increment(
                scope,
                request,
                birth,
                put.recordName,
                increment.field
            )
            let row = IncrementRow(stamp: commit.stamp, delta: increment.delta)
            guard let known: IncrementRow = try self.row(key) else {
                self.put(key, row)
                continue
            }
            if let second = known.second(beside: row) {
                doubled.append(
                    DoubledIncrement(
                        birth: birth,
                        field: increment.field,
                        dot: second.stamp.dot,
                        delta: second.delta
                    )
                )
            }
            if row.stamp < known.stamp { self.put(key, row) }
        }
        return doubled
    }

    private mutating func record(
        _ place: ZonePlace,
        _ name: String
    ) throws(EngineError) -> RecordLives {
        RecordLives(name: name, stored: try lives(place.number, name))
    }

    /// A record's rows, the shown one first; none if it is not known.
    package mutating func lives(
        _ zone: ZoneNumber,
        _ name: String
    ) throws(EngineError) -> [RecordRow] {
        guard let shown = try load(zone, name) else { return [] }
        var lives = [shown]
        guard shown.hasSiblings else { return lives }
        for (key, value) in try rows(.records, .siblings(of: zone, name)) {
            lives.append(try decoding(key) { () throws(MalformedBytes) in try RecordRow(value) })
        }
        return lives
    }

    private mutating func store(
        _ record: consuming RecordLives,
        _ commit: Commit,
        at place: ZonePlace
    ) throws(EngineError) -> RecordRow {
        let (name, stored) = (record.name, record.stored)
        let rows = record.rows(commit)
        return try replace(stored, with: rows, of: name, at: place)
    }

    /// Writes the rows of a record, the shown one first, with all rows that are derived from them.
    ///
    /// `before`: what stands there now. Returns the row that is shown.
    package mutating func replace(
        _ before: [RecordRow],
        with rows: consuming [RecordRow],
        of name: String,
        at place: ZonePlace
    ) throws(EngineError) -> RecordRow {
        var state = try zoneState(place.number)
        // By index and in place: a row has many parts, each of which a copy would count.
        for index in before.indices {
            state.count(before[index], sign: -1, isShown: index == 0)
        }
        for index in rows.indices {
            let key =
                index == 0
                ? RowKey.record(place.number, name)
                : RowKey.sibling(place.number, name, rows[index].birth.dot)
            let bytes: Bytes
            do throws(MalformedBytes) {
                bytes = try rows[index].seal(at: place.record(name))
            } catch {
                throw .corrupt("the row \(key.bytes.hex) can't be written: \(error.reason)")
            }
            put(key, bytes)
            state.count(rows[index], sign: 1, isShown: index == 0)
        }
        setZoneState(place.number, state)
        let births = Set(rows[1...].map(\.birth.dot))
        for old in before.dropFirst() where !births.contains(old.birth.dot) {
            put(.sibling(place.number, name, old.birth.dot), nil)
        }
        storeChanges(of: name, before.first?.frontier ?? [], rows[0].frontier, at: place)
        try storeBackReferences(of: name, before.first, rows[0], at: place)
        try storeIndexRows(of: name, before.first, rows[0], at: place)
        try storeAssetUses(of: name, before, rows, at: place)
        return rows[0]
    }

    /// Drops a record with all rows that are derived from it, as if it had never been.
    ///
    /// Whoever does so raises the zone's horizon by what the record's frontier named.
    package mutating func erase(
        _ stored: [RecordRow],
        of name: String,
        at place: ZonePlace
    ) throws(EngineError) {
        guard let shown = stored.first else { return }
        var state = try zoneState(place.number)
        for (index, old) in stored.enumerated() {
            state.count(old, sign: -1, isShown: index == 0)
            put(
                index == 0
                    ? .record(place.number, name)
                    : .sibling(place.number, name, old.birth.dot),
                nil
            )
        }
        setZoneState(place.number, state)
        storeChanges(of: name, shown.frontier, [], at: place)
        for gone in try backReferences(of: shown) {
            put(gone.key(in: place.number, child: name), nil)
        }
        try storeIndexRows(of: name, shown, nil, at: place)
        try storeAssetUses(of: name, stored, [], at: place)
    }

    private mutating func storeChanges(
        of name: String,
        _ old: [Stamp],
        _ new: [Stamp],
        at place: ZonePlace
    ) {
        for stamp in old where !new.contains(stamp) {
            put(.change(place.number, stamp.dot, name), nil)
        }
        for stamp in new where !old.contains(stamp) {
            put(.change(place.number, stamp.dot, name), Bytes())
        }
    }

    private mutating func storeBackReferences(
        of name: String,
        _ old: RecordRow?,
        _ new: RecordRow,
        at place: ZonePlace
    ) throws(EngineError) {
        var before: Set<BackReference> = []
        if let old { before = try backReferences(of: old) }
        let after = try backReferences(of: new)
        for gone in before.subtracting(after) {
            put(gone.key(in: place.number, child: name), nil)
        }
        for added in after.subtracting(before) {
            put(added.key(in: place.number, child: name), added.value)
        }
    }

    private borrowing func backReferences(
        of row: RecordRow
    ) throws(EngineError) -> Set<BackReference> {
        try decoding([]) { () throws(MalformedBytes) in try row.backReferences() }
    }
}

extension Commit.Operation {
    /// Whether lives end that nobody was shown, or references are written again whose targets may
    /// have died meanwhile.
    ///
    /// A deletion takes along only what the shown life owned.
    fileprivate var mayLeaveOrphans: Bool {
        switch self {
        case .put(let put): !put.absorbed.isEmpty || put.birth != nil && !put.targets.isEmpty
        case .delete(_, let births): births.count > 1
        case .zoneCreate, .zoneDelete, .register: false
        }
    }
}
