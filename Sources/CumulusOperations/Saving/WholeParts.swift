// Adds to a save what must change together with it: the rest of a group of fields, or of the
// record.
//
// Called by `SavePlanner`. The values are taken as this node shows them. They are written again
// with the save's stamp, so every node keeps all of them or none. An increment adds nothing: it
// counts in any case.

import CumulusModel
import CumulusStorage

extension Commit.Put {
    /// Completes a put to an existing life; the put's own fields are in their final form.
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
            // If a counter were left out, it would show again the value that its removal hid.
            let names = row.body.entries.map(row.body.name) + row.counters.map(\.field)
            try take(names, from: row)
            keepParent(of: row)
        }
    }

    /// Adds these fields to the put, and removals of the ones that aren't stored.
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

    /// A field as the row holds it; for a counter the base, which leaves its value as it is.
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
            // This counter starts at zero.
            part.append(name, int64: 0 &- (counter?.total ?? 0))
        } else {
            part.append(removalOf: name)
            if let zero { resetCounters.append(zero) }
        }
        return part
    }

    /// Keeps the parent, which belongs to the whole record.
    private mutating func keepParent(of row: RecordRow) {
        guard parent == nil, let known = row.parent, let name = known.name else { return }
        parent = Commit.ParentChange(recordName: name, birth: known.birth)
    }
}
