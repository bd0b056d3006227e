// Deletes that a node owes: children whose owner was deleted by somebody who didn't know of them.
//
// The node whose run wrote the child's reference deletes it, or its heir, so that one node does and
// not all.
// Called after each commit that a node applies; what it deletes may itself have owned records, and
// is looked at again. A life that waits behind another is looked at when it is shown.

package import CumulusModel
package import CumulusStorage

package enum CascadeCompensation {
    /// Deletes what this request's own commits left without an owner: they ended lives that nobody
    /// was shown.
    package static func run(_ transaction: inout WriteTransaction) throws(EngineError) {
        for (scope, commit) in transaction.takeUncompensated() {
            try run(after: commit, in: scope, &transaction)
        }
    }

    /// Deletes what a commit left without its owner.
    package static func run(
        after commit: Commit,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let zone = commit.zone, mayLeaveOrphans(commit, transaction.state) else {
            return
        }
        try run(after: names(in: commit), of: zone, in: scope, &transaction)
    }

    /// Whether a commit ends lives, or brings back references that this node wrote in a run that it
    /// forgot.
    private static func mayLeaveOrphans(_ commit: Commit, _ state: WriterState) -> Bool {
        if state.owes(for: commit.stamp.dot.incarnation) { return true }
        return commit.operations.contains { operation in
            switch operation {
            case .put(let put): !put.absorbed.isEmpty
            case .delete: true
            case .zoneCreate, .zoneDelete, .register: false
            }
        }
    }

    /// Deletes what changes of these records left without an owner, and what that one owned.
    package static func run(
        after names: [String],
        of zone: Commit.Zone,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if transaction.state.broken.contains(.compensation) { return }
        guard let number = try transaction.number(of: zone, in: scope) else { return }
        var names = names
        while true {
            names = try orphans(around: names, in: number, of: scope, &transaction)
            if names.isEmpty { return }
            try delete(names, in: scope, zone, number, &transaction)
        }
    }

    /// Children of a zone whose owner is not there, of all nodes, and the key to go on from,
    /// nil at the zone's end; looks at some references.
    ///
    /// Read from a snapshot: `run` looks again, and at who owes them. For what nobody deleted when
    /// it was due: the node that owed it was gone. An owner without a row died only if
    /// the zone forgets; else its row was lost, and is not to take others along.
    package static func findOrphans(
        in zone: ZoneRow,
        after key: Bytes?,
        limit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> (names: [String], last: Bytes?) {
        let number = zone.number
        var range = KeyRange.backReferences(of: number)
        if let key { range.start = key + [0] }
        let rows = try reader.rows(.index, range, limit: limit)
        var names: Set<String> = []
        for (key, value) in rows where !value.isEmpty {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            let target = try parts.text()
            guard try parts.number(UInt8.self) == BackReferenceKind.deleteSelf.rawValue else {
                continue
            }
            let birth = try reader.decoding(key) { () throws(MalformedBytes) in
                var reader = CanonicalReader(value)
                return try reader.dot()
            }
            let owner = try reader.record(number, target)
            if owner == nil, zone.horizon.isEmpty { continue }
            let others = try reader.siblings(of: owner, named: target, in: number)
            let isThere = owner.map { !$0.isDead && $0.birth.dot == birth } ?? false
            if !isThere && !others.contains(birth) { names.insert(try parts.text()) }
        }
        return (names.sorted(), rows.count < limit ? nil : rows.last?.key)
    }

    /// In commits of bounded size: each has to fit into a frame.
    private static func delete(
        _ orphans: [String],
        in scope: ScopeNumber,
        _ zone: Commit.Zone,
        _ number: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        var rest = orphans[...]
        while !rest.isEmpty {
            var deletes: [Commit.Operation] = []
            for name in rest.prefix(Limits.standard.cascadeRecords) {
                guard let row = try transaction.load(number, name) else { continue }
                deletes.append(.delete(recordName: name, births: [row.birth.dot]))
            }
            rest = rest.dropFirst(Limits.standard.cascadeRecords)
            _ = try transaction.perform(deletes, in: scope, zone: zone, author: Author())
        }
    }

    /// The records that a commit names.
    static func names(in commit: Commit) -> [String] {
        commit.operations.compactMap { operation in
            switch operation {
            case .put(let put): put.recordName
            case .delete(let name, _): name
            case .zoneCreate, .zoneDelete, .register: nil
            }
        }
    }

    /// Names of records among `named` and those that refer to them whose shown life refers, by our
    /// doing, to a life that is not there; ascending.
    private static func orphans(
        around named: [String],
        in zone: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        var names = Set(named)
        for name in named {
            for referrer in try transaction.referrers(to: name, born: nil, .deleteSelf, in: zone) {
                names.insert(referrer.name)
            }
        }
        var orphans: [String] = []
        for name in names.sorted() {
            if try isOrphan(name, in: zone, of: scope, &transaction) { orphans.append(name) }
        }
        return orphans
    }

    /// Whether this node may have to delete that record, or records that go with it.
    package static func isOwed(
        around name: String,
        in zone: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if try isOrphan(name, in: zone, of: scope, &transaction) { return true }
        return try !transaction.referrers(to: name, born: nil, .deleteSelf, in: zone).isEmpty
    }

    private static func isOrphan(
        _ name: String,
        in zone: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let row = try transaction.load(zone, name), !row.isDead else { return false }
        let owners = try transaction.decoding([]) { () throws(MalformedBytes) in
            try row.backReferences().filter { $0.kind == .deleteSelf }
        }
        for owner in owners {
            guard let birth = owner.birth, let stamp = row.stamp(of: owner.field),
                transaction.state.owes(for: stamp.dot.incarnation),
                // Nobody sees the reference.
                try !transaction.lens(of: scope).hides(owner.field, of: row.type)
            else { continue }
            if try !isAlive(owner.target, birth, in: zone, &transaction) { return true }
        }
        return false
    }

    private static func isAlive(
        _ name: String,
        _ birth: Dot,
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard let row = try transaction.load(zone, name), !row.isDead else { return false }
        if row.birth.dot == birth { return true }
        return try transaction.siblings(of: row, named: name, in: zone).contains(birth)
    }
}
