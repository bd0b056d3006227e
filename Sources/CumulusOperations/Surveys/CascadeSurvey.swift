// Reads all records that a long cascade deletes, before the writer's turn, to find whether one of
// them is the parent of a record that stays, which forbids the deletion.
//
// Begun when `ModifyRecords` says that it needs one; runs on reader threads, a few records at a
// time, over one snapshot. What is saved after the snapshot counts as concurrent: a child that is
// saved then keeps a parent that is gone, like a child that another node saves at the same time.
// The survey keeps 8 bytes of each name instead of the names. Two names with the same bytes would
// hide one of them from the check; that happens once in 10^7 cascades of a million records.
//
// Folder: what a large request needs to know before the writer's turn. Read `CascadeSurvey`, then
// `TargetSurvey` and `ShareSurvey`.

package import CumulusModel
package import CumulusStorage

package struct CascadeSurvey: Sendable {
    /// The items that must not be deleted, and why.
    package struct Findings: Sendable {
        package internal(set) var failures: [Int: ModifyOutcome.Failure] = [:]
    }

    private let request: ModifyRecords
    private let scope: ScopeNumber
    private let caller: Caller
    private let database: DatabaseID
    private var findings = Findings()
    /// Zones that are still to be read.
    private var zones: ArraySlice<ZoneAddress>
    private var walk: Walk?

    /// The state of the search in one zone.
    private struct Walk {
        let items: ZoneItems
        let found: FoundZone
        let zone: ZoneNumber
        let lens: RecordLens
        /// The items whose deletion reaches records, by the hashes of the records' names.
        var reached: [Int: Int] = [:]
        /// Records that were reached, but not looked at yet.
        var pending: [(name: String, births: [Dot], item: Int)] = []
        /// Children by parent of reached records that were not reached themselves, by their hashes.
        var waiting: [Int: (child: String, parent: String, item: Int)] = [:]
    }

    package init(
        _ request: ModifyRecords,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(ServiceError) {
        self.request = request
        self.scope = scope
        self.caller = caller
        database = try Authorisation.database(request.database, for: caller)
        zones = request.zones[...]
    }

    /// Looks at some records; returns the findings once it has seen all.
    package mutating func advance(
        _ reader: ReadTransaction,
        steps: Int
    ) throws -> Findings? {
        for _ in 0..<steps {
            if walk == nil {
                guard let zone = zones.popFirst() else { return findings }
                try begin(zone, reader)
            } else if let next = walk?.pending.popLast() {
                try look(at: next, reader)
            } else {
                try end(reader)
            }
        }
        return nil
    }

    private mutating func begin(_ address: ZoneAddress, _ reader: ReadTransaction) throws {
        guard let found = try reader.find(address, in: database, of: scope, by: caller),
            let zone = found.number
        else { return }
        let items = ZoneItems(request, in: address)
        var walk = Walk(items: items, found: found, zone: zone, lens: found.lens)
        let access = try AccessReader(to: found, of: scope, by: caller, SchemaDirectory(), reader)
        for item in items.deletes where findings.failures[item] == nil {
            let name = request.deletes[item].address.name
            guard request.deletes[item].fault == nil, let row = try reader.record(zone, name),
                !row.isDead, !found.lens.hides(row.type)
            else { continue }
            // A participant deletes only what it sees; deleting a share means leaving it.
            if found.rights.view != nil,
                try row.type == Names.shareType || !access.allows(row, named: name, reader)
            {
                continue
            }
            if walk.reached.updateValue(item, forKey: name.hashValue) == nil {
                walk.pending.append((name, row.births, item))
            }
        }
        self.walk = walk
    }

    private mutating func look(
        at owner: (name: String, births: [Dot], item: Int),
        _ reader: ReadTransaction
    ) throws {
        guard var walk else { return }
        self.walk = nil
        defer { self.walk = walk }
        let (name, births, item) = owner
        let zone = walk.zone
        var reader = reader
        let children = try reader.referrers(to: name, born: births, .deleteSelf, in: zone)
        for (index, child) in children.enumerated() {
            if index % ReadTransaction.stretch == 0 {
                let next = children[index...].prefix(ReadTransaction.stretch)
                try reader.readAhead(next.map { .record(zone, $0.name) })
            }
            let hash = child.name.hashValue
            guard walk.reached[hash] == nil, try walk.items.goes(child, with: name),
                let row = try reader.record(zone, child.name), !row.isDead,
                !walk.lens.hides(child.field, of: row.type)
            else { continue }
            // A participant's cascade must not reach the root of a share.
            if walk.found.rights.view != nil, row.share?.name != nil {
                let refusal = Authorisation.ownersOnly(.delete, "root of a share")
                findings.failures[item] = ModifyOutcome.Failure(refusal)
            }
            walk.reached[hash] = item
            walk.waiting[hash] = nil
            walk.pending.append((child.name, row.births, item))
        }
        if walk.lens.hasDrops, try !isShown(name, in: walk, reader) { return }
        for child in try reader.referrers(to: name, born: births, .parent, in: zone) {
            let hash = child.name.hashValue
            guard walk.reached[hash] == nil, walk.waiting[hash] == nil,
                !walk.items.moves(child.name, awayFrom: name),
                try isShown(child.name, in: walk, reader)
            else { continue }
            walk.waiting[hash] = (child.name, name, item)
        }
        if walk.reached.count + walk.waiting.count > request.limits.recordsPerCascade {
            refuse(walk.items.deletes)
            (walk.pending, walk.waiting) = ([], [:])
        }
    }

    /// Fails items because of children that were not reached: they stay, and so must their parents.
    ///
    /// Without these items other records may stay, too, so the zone is searched again.
    private mutating func end(_ reader: ReadTransaction) throws {
        guard let walk else { return }
        self.walk = nil
        let staying = walk.waiting.values.sorted { ($0.child, $0.parent) < ($1.child, $1.parent) }
        if staying.isEmpty { return }
        for (child, parent, item) in staying where findings.failures[item] == nil {
            let refusal = ZoneBatch.orphan(
                try readable(child, in: walk, reader),
                of: try readable(parent, in: walk, reader)
            )
            findings.failures[item] = ModifyOutcome.Failure(refusal)
        }
        guard let item = walk.items.deletes.first else { return }
        zones.insert(request.deletes[item].address.zone, at: zones.startIndex)
    }

    private mutating func refuse(_ items: [Int]) {
        let failure = ModifyOutcome.Failure(
            ServiceError(
                .limitExceeded,
                """
                the deletion would take more than \(request.limits.recordsPerCascade) records \
                along; delete some of what the record owns first
                """
            )
        )
        for item in items { findings.failures[item] = failure }
    }

    /// The name of a record; nil if the caller may not read the record.
    private func readable(
        _ name: String,
        in walk: Walk,
        _ reader: ReadTransaction
    ) throws -> String? {
        guard walk.found.rights != .own, let row = try reader.record(walk.zone, name) else {
            return name
        }
        let schemas = SchemaDirectory()
        let access = try AccessReader(to: walk.found, of: scope, by: caller, schemas, reader)
        return try access.allows(row, named: name, reader) ? name : nil
    }

    private func isShown(
        _ name: String,
        in walk: Walk,
        _ reader: ReadTransaction
    ) throws -> Bool {
        guard walk.lens.hasDrops, let row = try reader.record(walk.zone, name) else { return true }
        return !walk.lens.hides(row.type)
    }
}
