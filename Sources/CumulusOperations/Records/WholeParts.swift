// What a save takes along because it changes as one with what it changes: the rest of a group of
// fields, or of the record.
//
// Called by `SavePlanner`. Everything taken along is as this node shows it; written again with the
// save's stamp, it stands or falls with it on every node.

import CumulusModel
import CumulusStorage

extension Commit.Put {
    /// Completes a put to a life that is there.
    mutating func complete(by policy: MergePolicy, from row: RecordRow) {
        switch policy {
        case .fields: return
        case .groups(let groups):
            let touched = groups.filter { group in
                group.fields.contains { fields.entry(named: $0) != nil }
            }
            let names = touched.flatMap(\.fields).sorted()
            take(row.body.selecting(names), removing: names, from: row)
        case .record:
            isFull = true
            // A counter that is left out would start again from nothing with the next increment.
            take(row.body, removing: row.counters.map(\.field), from: row)
        }
    }

    /// Takes fields along, and removals of those that aren't there: what is incremented starts from
    /// 0 then.
    private mutating func take(_ others: RecordBody, removing names: [String], from row: RecordRow)
    {
        let own = fields
        fields = fields.completed(by: others)
        let incremented = Set(increments.map(\.field))
        for name in names where fields.entry(named: name) == nil {
            var rest = RecordBody()
            if incremented.contains(name) {
                rest.append(name, int64: 0)
            } else {
                rest.append(removalOf: name)
            }
            fields = fields.completed(by: rest)
        }
        targets += row.targets.filter { target in
            own.entry(named: target.field) == nil && others.entry(named: target.field) != nil
        }
        targets.sort { ($0.field, $0.element) < ($1.field, $1.element) }
    }

    /// The parent belongs to the whole record.
    mutating func keepParent(of row: RecordRow) {
        guard isFull, parent == nil, let known = row.parent, let name = known.name else { return }
        parent = Commit.ParentChange(recordName: name, birth: known.birth)
    }
}
