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
        try log(commit, bytes: bytes, in: scope, isVisible: commit.zone != nil)
        var rows: [RecordRow] = []
        var place: ZonePlace?
        for operation in commit.operations {
            if case .register(let register) = operation {
                try apply(register, commit, in: scope)
                continue
            }
            let known: ZonePlace
            if let place {
                known = place
            } else {
                known = try zonePlace(of: commit, in: scope, for: operation)
                place = known
            }
            switch operation {
            case .put(let put): rows.append(try apply(put, commit, at: known))
            case .delete(let name, let births):
                try applyDelete(name, births, commit, at: known)
            case .zoneDelete(let reason): try applyZoneDelete(reason, commit, at: known)
            case .zoneCreate, .register: break
            }
        }
        if let place { touch(place.database, zone: place.zone.name, commit.stamp.dot) }
        return rows
    }
}

/// Where a commit's records stand.
struct ZonePlace {
    var database: DatabaseNumber
    var number: ZoneNumber
    var zone: Commit.Zone

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
    /// Finds the zone of a commit; a `zoneCreate` makes it.
    private mutating func zonePlace(
        of commit: Commit,
        in scope: ScopeNumber,
        for operation: Commit.Operation
    ) throws(EngineError) -> ZonePlace {
        guard let zone = commit.zone else {
            throw .corrupt("a commit changes records and names no zone")
        }
        let database = try makeDatabase(scope, zone.database)
        var row = try self.zone(database, zone.name)
        var created: Stamp?
        if case .zoneCreate = operation, row.map({ $0.generation < zone.generation }) ?? true {
            created = commit.stamp
        } else if row == nil, zone.name == Names.defaultZone {
            // A default zone has always been there; its row is made when something is written to
            // it.
            created = .zero
        }
        if let created {
            let made = makeZone(row, zone, created: created)
            put(.zone(database, zone.name), made)
            row = made
        }
        guard let row, row.exists, row.generation == zone.generation else {
            throw .corrupt("a commit changes zone '\(zone.name)', which doesn't exist")
        }
        return ZonePlace(database: database, number: row.number, zone: zone)
    }

    private mutating func makeZone(
        _ earlier: ZoneRow?,
        _ zone: Commit.Zone,
        created: Stamp
    ) -> ZoneRow {
        var row = ZoneRow(
            number: nextZoneNumber(),
            generation: zone.generation,
            capabilities: Zones.capabilities(of: zone.name, in: zone.database),
            created: created
        )
        row.deadThrough = earlier?.deadThrough ?? 0
        row.deleted = earlier?.deleted
        return row
    }

    private mutating func applyZoneDelete(
        _ reason: UInt8,
        _ commit: Commit,
        at place: ZonePlace
    ) throws(EngineError) {
        guard var row = try zone(place.database, place.zone.name) else { return }
        row.deadThrough = max(row.deadThrough, place.zone.generation)
        row.deleted = commit.stamp
        row.reason = reason
        put(.zone(place.database, place.zone.name), row)
        deleteRange(.records, .records(of: place.number))
        deleteRange(.index, .changes(of: place.number))
        deleteRange(.index, .backReferences(of: place.number))
        forgetZone(place.number)
    }

    private mutating func apply(
        _ register: Commit.Register,
        _ commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let current = try self.register(scope, register.namespace, register.key)
        if let current, current.stamp >= commit.stamp { return }
        let key = RowKey.register(scope, register.namespace, register.key)
        put(key, RegisterRow(stamp: commit.stamp, value: register.value))
        let isSchema = [Schema.typeNamespace, Schema.fieldNamespace].contains(register.namespace)
        if isSchema, let type = register.key.first {
            forgetSchema(scope, String(decoding: type, as: UTF8.self))
        }
    }
}

/// What is fixed about zones.
package enum Zones {
    /// Custom zones of private databases can do everything, default zones nothing beyond holding
    /// records.
    package static func capabilities(of name: String, in database: DatabaseID) -> UInt32 {
        let isCustom = database.kind == .private && name != Names.defaultZone
        return isCustom ? RecordZone.Capabilities.custom.rawValue : 0
    }
}

// MARK: - Records

extension WriteTransaction {
    private mutating func apply(
        _ put: Commit.Put,
        _ commit: Commit,
        at place: ZonePlace
    ) throws(EngineError) -> RecordRow {
        let key = RowKey.record(place.number, put.recordName)
        let old = try load(place.number, put.recordName)
        var new: RecordRow
        if put.birth == nil, old?.row.isDead ?? true {
            new = RecordRow(type: put.type, birth: commit.stamp, createdBy: commit.user)
            new.frontier = old?.row.frontier ?? []
        } else if let row = old?.row, !row.isDead, row.birth.dot == put.birth {
            new = row
        } else {
            throw .corrupt("a commit writes a life of '\(put.recordName)' that isn't there")
        }
        let deltas = try decoding(key.bytes) { () throws(MalformedBytes) in
            try new.apply(put, commit)
        }
        if let request = RequestID(commit.requestID) {
            for delta in deltas {
                let row = IncrementRow(stamp: commit.stamp, delta: delta.delta)
                self.put(.increment(request, new.birth.dot, delta.field), row)
            }
        }
        try store(&new, named: put.recordName, replacing: old, commit, at: place)
        return new
    }

    private mutating func applyDelete(
        _ name: String,
        _ births: [Dot],
        _ commit: Commit,
        at place: ZonePlace
    ) throws(EngineError) {
        guard let old = try load(place.number, name), !old.row.isDead,
            births.contains(old.row.birth.dot)
        else { return }
        var new = RecordRow(
            type: old.row.type,
            birth: old.row.birth,
            createdBy: old.row.createdBy
        )
        new.isDead = true
        new.frontier = old.row.frontier
        new.modified = commit.stamp
        new.modifiedBy = commit.user
        try store(&new, named: name, replacing: old, commit, at: place)
    }

    /// Writes a record row with all rows that are derived from it.
    private mutating func store(
        _ new: inout RecordRow,
        named name: String,
        replacing old: StoredRecord?,
        _ commit: Commit,
        at place: ZonePlace
    ) throws(EngineError) {
        new.enter(commit)
        var sealed = new
        let key = RowKey.record(place.number, name)
        let bytes = try decoding(key.bytes) { () throws(MalformedBytes) in
            try sealed.seal(at: place.record(name))
        }
        new = sealed
        put(key, bytes)
        for stamp in old?.row.frontier ?? [] where !new.frontier.contains(stamp) {
            put(.change(place.number, stamp.dot, name), nil)
        }
        put(.change(place.number, commit.stamp.dot, name), Bytes())
        try storeBackReferences(of: name, old?.row, new, at: place)
        var state = try zoneState(place.number)
        if let old { state.count(old.row, byteCount: old.byteCount, sign: -1) }
        state.count(new, byteCount: bytes.count, sign: 1)
        setZoneState(place.number, state)
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

extension RecordRow {
    /// Merges a put into this life.
    ///
    /// Returns the increments that it made.
    fileprivate mutating func apply(
        _ put: Commit.Put,
        _ commit: Commit
    ) throws(MalformedBytes) -> [Commit.Increment] {
        try merge(put.fields, targets: put.targets, commit.stamp)
        for reset in put.resetCounters {
            guard let index = counters.firstIndex(where: { $0.field == reset.field }) else {
                continue
            }
            counters[index].base = reset.delta
        }
        if let change = put.parent, commit.stamp > parent?.stamp ?? .zero {
            parent = NamedTarget(
                name: change.recordName.isEmpty ? nil : change.recordName,
                birth: change.birth,
                stamp: commit.stamp
            )
        }
        for increment in put.increments { try add(increment, commit.stamp) }
        if commit.stamp >= modified {
            modified = commit.stamp
            modifiedBy = commit.user
            device = commit.device
        }
        return put.increments
    }

    /// The frontier after a commit that names this record: what the commit has seen is no longer in
    /// it.
    fileprivate mutating func enter(_ commit: Commit) {
        // Everything this node applied before one of its own commits is in that commit's `dep`.
        frontier = [commit.stamp]
    }

    private mutating func add(
        _ increment: Commit.Increment,
        _ stamp: Stamp
    ) throws(MalformedBytes) {
        let entry = body.entry(named: increment.field)
        let index: Int
        if let known = counters.firstIndex(where: { $0.field == increment.field }) {
            index = known
        } else {
            let base = try entry.map { (entry) throws(MalformedBytes) in try body.int64(entry) }
            counters.append(Counter(field: increment.field, base: base ?? 0))
            counters.sort { $0.field.utf8.lexicographicallyPrecedes($1.field.utf8) }
            index = counters.firstIndex { $0.field == increment.field } ?? 0
        }
        guard counters[index].add(increment.delta, at: stamp.dot), let value = counters[index].value
        else { throw MalformedBytes("counter '\(increment.field)' overflows") }
        let set = entry.flatMap { body.entries.firstIndex(of: $0) }.map { fieldStamps[$0] }
        let absence = absent.first { $0.name == increment.field }?.stamp
        show(increment.field, int64: value, stamp: set ?? absence ?? birth)
    }

    /// Puts a counter's value into the body without touching its set stamp.
    private mutating func show(_ field: String, int64 value: Int64, stamp: Stamp) {
        var shown = RecordBody()
        shown.append(field, int64: value)
        merge(shown, absent: []) { _ in stamp }
        absent.removeAll { $0.name == field }
    }

    /// Merges fields by stamp: the newer one stands; one without a value leaves an absence.
    private mutating func merge(
        _ fields: RecordBody,
        targets newTargets: [ReferenceTarget],
        _ stamp: Stamp
    ) throws(MalformedBytes) {
        let effective = counters.isEmpty ? fields : try setCounters(fields)
        absent.removeAll { effective.entry(named: $0.name) != nil }
        targets.removeAll { effective.entry(named: $0.field) != nil }
        targets += newTargets
        targets.sort { ($0.field, $0.element) < ($1.field, $1.element) }
        merge(effective, absent: absent) { _ in stamp }
    }

    /// What sets a counter becomes its base; the field shows the base and what was added.
    private mutating func setCounters(
        _ fields: RecordBody
    ) throws(MalformedBytes) -> RecordBody {
        var effective = RecordBody()
        for entry in fields.entries {
            let name = fields.name(of: entry)
            if let index = counters.firstIndex(where: { $0.field == name }), entry.type != nil {
                counters[index].base = try fields.int64(entry)
                guard let value = counters[index].value else {
                    throw MalformedBytes("counter '\(name)' overflows")
                }
                effective.append(name, int64: value)
            } else {
                effective.append(entry, of: fields)
            }
        }
        return effective
    }

    private mutating func merge(
        _ fields: RecordBody,
        absent kept: [Absence],
        stamp: (RecordBody.Entry) -> Stamp
    ) {
        var merged = RecordBody()
        merged.reserveCapacity(for: body, fields)
        var stamps: [Stamp] = []
        stamps.reserveCapacity(body.entries.count + fields.entries.count)
        var absences = kept
        var oldIndex = 0
        func keepOld(before entry: RecordBody.Entry?) -> Bool {
            while oldIndex < body.entries.count {
                let old = body.entries[oldIndex]
                let order = entry.map { RecordBody.order(body, old, fields, $0) } ?? -1
                if order > 0 { return false }
                oldIndex += 1
                if order == 0 { return true }
                merged.append(old, of: body)
                stamps.append(fieldStamps[oldIndex - 1])
            }
            return false
        }
        for entry in fields.entries {
            _ = keepOld(before: entry)
            if entry.type == nil {
                absences.append(Absence(name: fields.name(of: entry), stamp: stamp(entry)))
            } else {
                merged.append(entry, of: fields)
                stamps.append(stamp(entry))
            }
        }
        _ = keepOld(before: nil)
        absences.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        body = merged
        fieldStamps = stamps
        absent = absences
    }
}
