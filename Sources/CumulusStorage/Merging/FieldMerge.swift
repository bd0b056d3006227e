// Merges a commit's put into one life of a record: fields, references, parent and counters, each on
// its own, by stamp.
//
// `ApplyCommit` calls it. The outcome depends on which commits were applied, not on their order:
// every part is a register that keeps its highest stamp, or a sum. A put of a whole record raises
// the life's floor: registers with older stamps are dropped, whenever they arrive. If a value loses
// and neither writer knew of the other, a `Clash` reports it. hot: once per saved record, by a
// short path without comparisons.
//
// Folder: how concurrent changes of one record become one row. Read `FieldMerge`, then
// `Counter`, `MixedFields` and `Conflict`; `RecordRow+Join` merges whole rows.

package import CumulusModel

/// A value that lost against one that its writer didn't know.
package struct Clash: Hashable, Sendable {
    /// Empty means the record as a whole.
    package var field: String
    package var winner: Stamp
    package var loser: Stamp
    /// The losing fields, in the form of a record's body.
    package var lost: Bytes
}

extension Clash {
    /// Where whole records met, the losses of a commit to another are reported as one.
    fileprivate static func ofWholes(_ clashes: [Clash]) -> [Clash] {
        let sorted = clashes.sorted { $0.field.utf8.lexicographicallyPrecedes($1.field.utf8) }
        var wholes: [Clash] = []
        for clash in sorted {
            let known = wholes.firstIndex {
                $0.winner == clash.winner && $0.loser == clash.loser
            }
            if let known {
                wholes[known].lost += clash.lost
            } else {
                var whole = clash
                whole.field = ""
                wholes.append(whole)
            }
        }
        return wholes
    }
}

/// An increment that a retry at another node repeated, and that no longer counts.
package struct DoubledIncrement: Hashable, Sendable {
    /// Birth of the life that holds the counter.
    package var birth: Dot
    package var field: String
    package var dot: Dot
    package var delta: Int64

    package init(birth: Dot, field: String, dot: Dot, delta: Int64) {
        self.birth = birth
        self.field = field
        self.dot = dot
        self.delta = delta
    }
}

/// The effect of a put on the life that it names.
package struct FieldMerge {
    let put: Commit.Put
    let commit: Commit
    let cut: CausalCut
    /// Other births of the life that the put also creates.
    var twins: [Stamp] = []
    /// Increments that turned out to be repeated, here or in an earlier commit.
    var doubled: [DoubledIncrement] = []
    private(set) var clashes: [Clash] = []
    private let broken: BrokenRules

    init(_ put: Commit.Put, _ commit: Commit, _ cut: CausalCut, _ broken: BrokenRules) {
        self.put = put
        self.commit = commit
        self.cut = cut
        self.broken = broken
    }

    private var stamp: Stamp { commit.stamp }

    /// Changes the row.
    ///
    /// `isLatest`: the put's origin knew every commit that the record names, so all its values win.
    mutating func run(on row: inout RecordRow, isLatest: Bool) throws(MalformedBytes) {
        if try counts(in: &row) { try set(in: &row, isLatest: isLatest) }
        for increment in put.increments { try row.add(increment, stamp) }
        try row.void(doubled)
        if put.isFull { clashes = Clash.ofWholes(clashes) }
        if stamp >= row.modified {
            row.modified = stamp
            row.modifiedBy = commit.user
            row.device = commit.device
        }
    }

    private mutating func set(
        in row: inout RecordRow,
        isLatest: Bool
    ) throws(MalformedBytes) {
        let fields = isLatest ? put.fields : try winners(in: row)
        try row.set(fields, targets: put.targets, resets: put.resetCounters, stamp)
        if let change = put.parent { setParent(change, of: &row, isLatest: isLatest) }
        if put.isFull { raiseFloor(of: &row, isLatest: isLatest) }
    }

    /// Whether the put's values count: among creations by one request only the earliest one's do.
    ///
    /// The values of the others are taken back, and reported as lost if they differ.
    private mutating func counts(in row: inout RecordRow) throws(MalformedBytes) -> Bool {
        guard !twins.isEmpty, row.requestKey != nil, !broken.contains(.earliest) else {
            return true
        }
        let counts = row.birth == stamp
        for entry in put.fields.entries {
            let name = put.fields.name(of: entry)
            guard let known = row.register(named: name), twins.contains(known.stamp),
                try !says(entry, theSameAs: known.bytes, in: row)
            else { continue }
            if counts {
                clash(name, winner: stamp, loser: known.stamp, lost: known.bytes)
            } else if known.stamp == row.birth {
                clash(name, winner: known.stamp, loser: stamp, lost: try put.said(entry))
            }
        }
        row.voidTwins()
        return counts
    }

    private mutating func clash(_ field: String, winner: Stamp, loser: Stamp, lost: Bytes) {
        clashes.append(Clash(field: field, winner: winner, loser: loser, lost: lost))
    }

    /// The put's fields that win against the row.
    private mutating func winners(in row: RecordRow) throws(MalformedBytes) -> RecordBody {
        var winners = RecordBody()
        for entry in put.fields.entries {
            let name = put.fields.name(of: entry)
            let known = row.register(named: name) ?? (stamp: row.floor, bytes: [])
            guard !cut.covers(known.stamp.dot) else {
                winners.append(entry, of: put.fields)
                continue
            }
            let isTie = broken.contains(.ties) && stamp.time == known.stamp.time
            let isLater = stamp > known.stamp
            let wins = isTie || isLater != broken.contains(.latest)
            if wins { winners.append(entry, of: put.fields) }
            if try says(entry, theSameAs: known.bytes, in: row) { continue }
            note(name, known.stamp, lost: wins ? known.bytes : try put.said(entry))
        }
        return winners
    }

    /// A value that is written twice is not lost; counters are compared by their base.
    private func says(
        _ entry: RecordBody.Entry,
        theSameAs known: Bytes,
        in row: RecordRow
    ) throws(MalformedBytes) -> Bool {
        let name = put.fields.name(of: entry)
        if let counter = row.counters.first(where: { $0.field == name }),
            let base = try put.fields.int64(entry), try row.int64(name) != nil
        {
            return base == counter.base
        }
        return known == (entry.type == nil ? [] : Bytes(put.fields.bytes[entry.whole]))
    }

    /// Drops older parts that the put doesn't name.
    private mutating func raiseFloor(of row: inout RecordRow, isLatest: Bool) {
        guard stamp > row.floor, !broken.contains(.floors) else { return }
        if !isLatest {
            for (entry, set) in zip(row.body.entries, row.fieldStamps)
            where set < stamp && set > row.floor && !cut.covers(set.dot) {
                note(row.body.name(of: entry), set, lost: Bytes(row.body.bytes[entry.whole]))
            }
            if let parent = row.parent, parent.stamp < stamp { noteParent(parent, against: nil) }
        }
        row.raiseFloor(to: stamp)
    }

    /// Notes a clash if neither the put nor the other commit knew of the other.
    private mutating func note(_ field: String, _ other: Stamp, lost: Bytes) {
        clash(field, winner: max(stamp, other), loser: min(stamp, other), lost: lost)
    }

    private mutating func setParent(
        _ change: Commit.ParentChange,
        of row: inout RecordRow,
        isLatest: Bool
    ) {
        let parent = RecordRow.NamedTarget(
            name: change.recordName.isEmpty ? nil : change.recordName,
            birth: change.birth,
            stamp: stamp
        )
        // A floor that dropped the parent counts as a removal.
        let known = row.parent ?? RecordRow.NamedTarget(name: nil, birth: nil, stamp: row.floor)
        if !isLatest { noteParent(known, against: parent) }
        if stamp > row.parent?.stamp ?? .zero, stamp >= row.floor { row.parent = parent }
    }

    /// - Parameter own: The put's parent; nil if the put removes it.
    private mutating func noteParent(
        _ known: RecordRow.NamedTarget,
        against own: RecordRow.NamedTarget?
    ) {
        guard !cut.covers(known.stamp.dot), known.name != own?.name else { return }
        let name = stamp > known.stamp ? known.name : own?.name
        var lost = RecordBody()
        let field = SystemField.parent.rawValue
        if let name { lost.append(field, text: name) }
        note(field, known.stamp, lost: lost.bytes)
    }
}

extension Commit.Put {
    /// The put's fields as its caller gave them; an increment is a field whose value is the amount.
    var saidFields: RecordBody {
        get throws(MalformedBytes) {
            var said = fields
            for counter in resetCounters {
                guard let entry = fields.entry(named: counter.field),
                    let base = try fields.int64(entry)
                else { continue }
                said = said.replacing(counter.field, withInt64: base &- counter.delta)
            }
            return increments.reduce(said) { $0.replacing($1.field, withInt64: $1.delta) }
        }
    }

    /// A field as its caller gave it: for a counter the value, not the base.
    fileprivate func said(_ entry: RecordBody.Entry) throws(MalformedBytes) -> Bytes {
        guard entry.type != nil else { return [] }
        let name = fields.name(of: entry)
        guard let counter = resetCounters.first(where: { $0.field == name }),
            let base = try fields.int64(entry)
        else { return Bytes(fields.bytes[entry.whole]) }
        var said = RecordBody()
        said.append(name, int64: base &- counter.delta)
        return said.bytes
    }
}

extension RecordRow {
    /// The newest commit in it that the origin of its end didn't know; nil if it knew them all.
    func newest(unknownTo cut: CausalCut) -> Stamp? {
        let sums = counters.flatMap { counter in
            counter.sums.map { sum in
                // The time of an increment is in the frontier, unless a later commit replaced it.
                frontier.first { $0.dot == sum.dot } ?? Stamp(modified.time, sum.dot)
            }
        }
        // A commit that knows one creation by a request knows the values of all of them.
        let births = twins.isEmpty || requestKey == nil ? [] : births
        return (stamps + sums).filter { !cut.covers($0.dot) && !births.contains($0.dot) }.max()
    }

    /// When a field was last set or removed, and its bytes; nil if it never was.
    fileprivate func register(named name: String) -> (stamp: Stamp, bytes: Bytes)? {
        if let entry = body.entry(named: name), let index = body.entries.firstIndex(of: entry) {
            return (fieldStamps[index], Bytes(body.bytes[entry.whole]))
        }
        return absent.first { $0.name == name }.map { ($0.stamp, []) }
    }

    /// Sets and removes fields, without comparing stamps.
    ///
    /// For a counter, the entry holds the base, also after a removal.
    fileprivate mutating func set(
        _ fields: RecordBody,
        targets newTargets: [ReferenceTarget],
        resets: [Commit.Increment],
        _ stamp: Stamp
    ) throws(MalformedBytes) {
        for entry in fields.entries where !counters.isEmpty {
            let name = fields.name(of: entry)
            guard let index = counters.firstIndex(where: { $0.field == name }) else { continue }
            // A removal that knew no increment resets the counter, and so does another type.
            let reset = resets.first { $0.field == name }?.delta
            counters[index].base = try fields.int64(entry) ?? reset ?? 0
        }
        absent.removeAll { fields.entry(named: $0.name) != nil }
        targets.removeAll { fields.entry(named: $0.field) != nil }
        targets += newTargets.filter { fields.entry(named: $0.field) != nil }
        targets.sort { ($0.field, $0.element) < ($1.field, $1.element) }
        merge(fields, absent: absent, stamp)
    }

    // MARK: Counters

    fileprivate mutating func add(
        _ increment: Commit.Increment,
        _ stamp: Stamp
    ) throws(MalformedBytes) {
        let index = try counter(increment.field)
        counters[index].add(increment.delta, at: stamp)
    }

    /// Takes back increments that were counted twice, and updates the shown values.
    package mutating func void(_ doubled: [DoubledIncrement]) throws(MalformedBytes) {
        for increment in doubled where isBorn(at: increment.birth) {
            guard let index = counters.firstIndex(where: { $0.field == increment.field }) else {
                continue
            }
            counters[index].void(increment.delta, at: increment.dot)
        }
        if !counters.isEmpty { try settleCounters() }
    }

    /// The value of an INT64 field; nil if there is none, or of another type.
    func int64(_ field: String) throws(MalformedBytes) -> Int64? {
        guard let entry = body.entry(named: field) else { return nil }
        return try body.int64(entry)
    }

    /// The counter of a field; the first increment starts from the value that the field shows.
    private mutating func counter(_ field: String) throws(MalformedBytes) -> Int {
        if let known = counters.firstIndex(where: { $0.field == field }) { return known }
        counters.append(Counter(field: field, base: try int64(field) ?? 0))
        counters.sort { $0.field.utf8.lexicographicallyPrecedes($1.field.utf8) }
        return counters.firstIndex { $0.field == field } ?? 0
    }

    /// Makes each counter show its base and sums.
    ///
    /// A removed counter shows again if it was incremented later. A put of a whole record hides no
    /// counter that it did not know.
    mutating func settleCounters() throws(MalformedBytes) {
        for counter in counters {
            let entry = body.entry(named: counter.field)
            let removal = absent.first { $0.name == counter.field }?.stamp
            if let entry {
                // The value has another type if two nodes disagreed on the field's type.
                guard let shown = try body.int64(entry), shown != counter.value,
                    let index = body.entries.firstIndex(of: entry)
                else { continue }
                show(counter, stamp: fieldStamps[index])
            } else if counter.latest > removal ?? .zero {
                show(counter, stamp: removal ?? raisedFloor)
            }
        }
    }

    /// Puts a counter's value into the body without touching its set stamp.
    private mutating func show(_ counter: Counter, stamp: Stamp) {
        var shown = RecordBody()
        shown.append(counter.field, int64: counter.value)
        merge(shown, absent: absent.filter { $0.name != counter.field }, stamp)
    }

    // MARK: Floor

    /// The floor, if a put of the whole record raised it.
    ///
    /// The earliest birth of a life can change, so nothing may depend on it.
    private var raisedFloor: Stamp { key != nil && isBorn(at: floor.dot) ? .zero : floor }

    /// Drops parts that were set before the floor; an older counter keeps only its sums.
    mutating func raiseFloor(to floor: Stamp) {
        self.floor = floor
        if let parent, parent.stamp < floor { self.parent = nil }
        absent.removeAll { $0.stamp < floor }
        if fieldStamps.contains(where: { $0 < floor }) { dropFieldsBelowFloor() }
        for index in counters.indices where stamp(of: counters[index].field) == nil {
            counters[index].base = 0
        }
    }

    private mutating func dropFieldsBelowFloor() {
        let floor = floor
        var kept = RecordBody()
        for (entry, stamp) in zip(body.entries, fieldStamps) where stamp >= floor {
            kept.append(entry, of: body)
        }
        fieldStamps.removeAll { $0 < floor }
        body = kept
        targets.removeAll { kept.entry(named: $0.field) == nil }
    }

    // MARK: Merging bodies

    /// Merges two sorted bodies; new fields win, and fields without a value leave an absence.
    private mutating func merge(_ fields: RecordBody, absent kept: [Absence], _ stamp: Stamp) {
        let (body, fieldStamps) = (body, fieldStamps)
        var merged = RecordBody()
        merged.reserveCapacity(for: body, fields)
        var stamps: [Stamp] = []
        stamps.reserveCapacity(body.entries.count + fields.entries.count)
        var absences = kept
        var oldIndex = 0
        func keepOld(before entry: RecordBody.Entry?) {
            while oldIndex < body.entries.count {
                let old = body.entries[oldIndex]
                let order = entry.map { RecordBody.order(body, old, fields, $0) } ?? -1
                if order > 0 { return }
                oldIndex += 1
                if order == 0 { return }
                merged.append(old, of: body)
                stamps.append(fieldStamps[oldIndex - 1])
            }
        }
        for entry in fields.entries {
            keepOld(before: entry)
            if entry.type == nil {
                absences.append(Absence(name: fields.name(of: entry), stamp: stamp))
            } else {
                merged.append(entry, of: fields)
                stamps.append(stamp)
            }
        }
        keepOld(before: nil)
        absences.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        self.body = merged
        self.fieldStamps = stamps
        absent = absences
    }
}
