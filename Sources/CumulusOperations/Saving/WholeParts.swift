// What a save takes along because it changes as one with what it changes: the rest of a group of
// fields, or of the record.
//
// Called by `SavePlanner`. Everything taken along is as this node shows it; written again with the
// save's stamp, it stands or falls with it on every node. An increment takes nothing along: it
// counts wherever it comes.

import CumulusModel
import CumulusStorage

extension Commit.Put {
    /// Completes a put to a life that is there; its own fields are as they will be applied.
    mutating func complete(
        by policy: MergePolicy,
        from row: RecordRow
    ) throws(MalformedBytes) {
        switch policy {
        case .fields: return
        case .groups(let groups):
            let touched = groups.filter { group in
                group.fields.contains { fields.entry(named: $0) != nil }
            }
            try take(touched.flatMap(\.fields), from: row)
        case .record:
            if fields.entries.isEmpty, parent == nil, !increments.isEmpty { return }
            isFull = true
            // A counter that is left out would show again what its removal hid.
            let names = row.body.entries.map(row.body.name) + row.counters.map(\.field)
            try take(names, from: row)
            keepParent(of: row)
        }
    }

    /// Takes fields along, and removals of those that aren't there.
    private mutating func take(
        _ names: [String],
        from row: RecordRow
    ) throws(MalformedBytes) {
        let others = Set(names).filter { fields.entry(named: $0) == nil }
        for name in others.sorted() {
            let part = try part(name, of: row)
            fields = fields.completed(by: part)
        }
        targets += row.targets.filter { others.contains($0.field) }
        targets.sort { ($0.field, $0.element) < ($1.field, $1.element) }
        resetCounters.sort { $0.field < $1.field }
    }

    /// A field as the row holds it; of a counter its base, which leaves its value as it is.
    private mutating func part(
        _ name: String,
        of row: RecordRow
    ) throws(MalformedBytes) -> RecordBody {
        var part = RecordBody()
        let counter = row.counters.first { $0.field == name }
        let zero = counter.map { Commit.Increment(field: name, delta: 0 &- $0.total) }
        if let entry = row.body.entry(named: name) {
            if let counter, let zero, entry.type == .one(.int64) {
                part.append(name, int64: counter.base)
                resetCounters.append(zero)
            } else {
                part.append(entry, of: row.body)
            }
        } else if increments.contains(where: { $0.field == name }) {
            // It starts from nothing.
            part.append(name, int64: 0 &- (counter?.total ?? 0))
        } else {
            part.append(removalOf: name)
            if let zero { resetCounters.append(zero) }
        }
        return part
    }

    /// The parent belongs to the whole record.
    private mutating func keepParent(of row: RecordRow) {
        guard parent == nil, let known = row.parent, let name = known.name else { return }
        parent = Commit.ParentChange(recordName: name, birth: known.birth)
    }
}
