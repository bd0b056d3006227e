// Looks up the targets of the deleteSelf references of a large save, and its parents, before the
// writer's turn; the writer then looks again only at what changed since. References without an
// action need no look-up: their targets may be missing. A save is large by the number of its
// references, or by the size of the records that they name.
//
// Begun when `ModifyRecords` says that it needs one; runs on reader threads, a few records at a
// time, each time over the newest state. Changes since its begin are found by the rows of changes,
// as for a client that follows the zone: see `ZoneTargets.follow`. Used by `ZoneBatch`.

import CumulusModel
package import CumulusStorage

package struct TargetSurvey: Sendable {
    /// The most deleteSelf references that the writer itself looks up: one for each record of a
    /// full request, which takes about 8 ms.
    package static let fewReferences = 400

    private let scope: ScopeNumber
    private var zones: [ZoneAddress: ZoneTargets] = [:]
    /// Targets that are still to be looked up.
    private var pending: [(zone: ZoneAddress, name: String)] = []

    package init(
        _ request: ModifyRecords,
        of scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws {
        self.scope = scope
        let database = try Authorisation.database(request.database, for: caller)
        let vector = try reader.vector(of: scope)
        for address in request.zones {
            guard let found = try reader.locate(address, in: database, of: scope, by: caller),
                let zone = found.number,
                let number = try reader.database(scope, found.zone.database)
            else { continue }
            zones[address] = ZoneTargets(
                zone: zone,
                named: address.name,
                in: number,
                as: vector,
                ownerLimit: request.limits.ownersPerRecord
            )
            let names = Set(request.targetNames(in: address)).sorted()
            pending += names.map { (zone: address, name: $0) }
        }
    }

    /// Looks up some targets, and at the end again changed ones; returns whether little is left for
    /// the writer.
    package mutating func advance(
        _ reader: ReadTransaction,
        steps: Int
    ) throws(EngineError) -> Bool {
        guard !pending.isEmpty else { return try follow(reader) <= steps }
        var reader = reader
        let next = pending.suffix(steps)
        try reader.readAhead(next.compactMap { zones[$0.zone]?.key(of: $0.name) })
        for (zone, name) in next {
            try zones[zone]?.look(at: name, reader)
        }
        pending.removeLast(min(steps, pending.count))
        return false
    }

    /// Looks at changed records again, and returns how many there were.
    private mutating func follow(_ reader: ReadTransaction) throws(EngineError) -> Int {
        let runs = try reader.runs(of: scope)
        var count = 0
        for (address, known) in zones {
            var targets = known
            let changes = try targets.follow(runs, reader)
            zones[address] = changes == nil ? nil : targets
            count += changes ?? 0
        }
        return count
    }

    /// The targets in a zone, as they are now; nil if the writer must look up all of them.
    func targets(
        in address: ZoneAddress,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ZoneTargets? {
        guard var targets = zones[address] else { return nil }
        let runs = try transaction.loadScope(scope).runs
        // Looking at more changes than there are targets would take longer than looking at the
        // targets.
        let changes = try targets.follow(
            runs,
            limit: max(targets.count, TargetSurvey.fewReferences),
            byteLimit: transaction.state.storedBytesPerTurn,
            transaction
        )
        return changes == nil ? nil : targets
    }
}

/// The records of one zone that a request refers to, in one state.
struct ZoneTargets: Sendable {
    /// The life of a record that a reference names.
    struct Life: Sendable {
        let birth: Dot
        /// The stored name of the record's type.
        let type: String

        /// Returns nil if the record is deleted or never existed.
        init?(_ row: RecordRow?) {
            guard let row, !row.isDead else { return nil }
            birth = row.birth.dot
            type = row.type
        }
    }

    struct Target: Sendable {
        var life: Life?
        /// The number of deleteSelf references to the record, or a larger number.
        var owners: Int
    }

    private let zone: ZoneNumber
    private let name: String
    private let database: DatabaseNumber
    private let ownerLimit: Int
    /// The state in which the targets are known.
    private var vector: VersionVector
    private var targets: [String: Target] = [:]

    init(
        zone: ZoneNumber,
        named name: String,
        in database: DatabaseNumber,
        as vector: VersionVector,
        ownerLimit: Int
    ) {
        (self.zone, self.name, self.database) = (zone, name, database)
        (self.vector, self.ownerLimit) = (vector, ownerLimit)
    }

    var count: Int { targets.count }

    /// The target with this name; nil if it was not looked up.
    subscript(target: String) -> Target? { targets[target] }

    func key(of target: String) -> RowKey { .record(zone, target) }

    mutating func look<Reader: RowReader & ~Copyable>(
        at target: String,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        targets[target] = Target(
            life: Life(try reader.record(zone, target)),
            owners: try reader.countOwned(by: target, in: zone, limit: ownerLimit)
        )
    }

    /// Looks again at records that changed, and returns how many did.
    ///
    /// Returns nil if the changes can't be found any more, since the zone was deleted or has
    /// forgotten records, or if they are more than `limit` or `byteLimit` allow.
    mutating func follow<Reader: RowReader & ~Copyable>(
        _ runs: Runs,
        limit: Int = .max,
        byteLimit: Int = .max,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Int? {
        guard let row = try reader.zone(database, name), row.exists, row.number == zone,
            vector.covers(row.horizon)
        else { return nil }
        guard
            let changed = try reader.changedRecords(
                of: zone,
                since: vector,
                runs,
                limit: limit
            )
        else { return nil }
        var room = byteLimit
        for name in changed {
            room -= try follow(name, reader)
            if room < 0 { return nil }
        }
        vector = runs.vector
        return changed.count
    }

    /// Updates what is known after a change of a record, which may be a target and may refer to
    /// targets.
    ///
    /// Returns the bytes of the record's fields.
    private mutating func follow<Reader: RowReader & ~Copyable>(
        _ name: String,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Int {
        let row = try reader.record(zone, name)
        if targets[name] != nil { targets[name]?.life = Life(row) }
        guard let row else { return 0 }
        let references = try reader.decoding(RowKey.record(zone, name).bytes) {
            () throws(MalformedBytes) in
            try row.backReferences()
        }
        // Some references were counted before: at the limit `SavePlanner.addOwner` counts exactly.
        for reference in references where reference.kind == .deleteSelf {
            targets[reference.target]?.owners += 1
        }
        return row.body.bytes.count
    }
}

extension RowReader where Self: ~Copyable {
    /// The names of a zone's records that changed since a vector; nil if more than `limit` did.
    borrowing func changedRecords(
        of zone: ZoneNumber,
        since vector: VersionVector,
        _ runs: Runs,
        limit: Int = .max
    ) throws(EngineError) -> Set<String>? {
        var changed: Set<String> = []
        var room = limit
        for (run, row) in runs.rows where row.seq > vector[run] {
            let range = KeyRange.changes(of: zone, run, above: vector[run])
            let rows = try rows(.index, range, limit: room == .max ? room : room + 1)
            if rows.count > room { return nil }
            room -= rows.count
            for (key, _) in rows { changed.insert(try RowKey.changedRecord(key)) }
        }
        return changed
    }
}
