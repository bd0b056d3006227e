// Joins two nodes' states of one life of a record into the state of a node that applied the commits
// of both.
//
// `RecordJoin` calls it while a node takes over state instead of commits. Every part is a register
// that keeps its highest stamp, a set, or a sum per incarnation, so order and repetition make no
// difference.

package import CumulusModel

extension RecordRow {
    /// Joins another node's state of this life; the caller updates `frontier`, tag and digest.
    package mutating func join(_ other: RecordRow) throws(MalformedBytes) {
        guard isSameLife(as: other), key == other.key, !isDead, !other.isDead else {
            throw MalformedBytes("two lives have one birth: a log was forked")
        }
        var other = other
        joinBirths(with: &other)
        let counters = try joinedCounters(with: other)
        joinFields(of: other)
        self.counters = counters
        parent = RecordRow.later(parent, other.parent)
        share = RecordRow.later(share, other.share)
        if !other.access.isEmpty { access.join(other.access) }
        raiseFloor(to: max(floor, other.floor))
        try settleCounters()
        if other.modified > modified {
            modified = other.modified
            modifiedBy = other.modifiedBy
            device = other.device
        }
    }

    /// Gives both rows the births of both, and takes back values that no longer count.
    private mutating func joinBirths(with other: inout RecordRow) {
        if birth == other.birth, twins == other.twins { return }
        let (mine, theirs) = (creations, other.creations)
        let creation =
            birth < other.birth ? (createdBy, type) : (other.createdBy, other.type)
        take(births: theirs, creation)
        other.take(births: mine, creation)
        voidTwins()
        other.voidTwins()
    }

    private static func later(_ one: NamedTarget?, _ other: NamedTarget?) -> NamedTarget? {
        one?.stamp ?? .zero >= other?.stamp ?? .zero ? one : other
    }

    // MARK: Fields

    private mutating func joinFields(of other: RecordRow) {
        var names = Set(body.entries.map(body.name) + absent.map(\.name))
        names.formUnion(other.body.entries.map(other.body.name) + other.absent.map(\.name))
        var joined = self
        (joined.body, joined.fieldStamps, joined.absent) = (RecordBody(), [], [])
        joined.targets = []
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let isOurs = stamp(of: name) ?? .zero >= other.stamp(of: name) ?? .zero
            joined.take(name, from: isOurs ? self : other)
        }
        joined.targets.sort { ($0.field, $0.element) < ($1.field, $1.element) }
        self = joined
    }

    /// When a field was last set or removed; nil if it never was.
    package func stamp(of name: String) -> Stamp? {
        if let index = body.entries.firstIndex(where: { body.name(of: $0) == name }) {
            return fieldStamps[index]
        }
        return absent.first { $0.name == name }?.stamp
    }

    /// Appends what another row holds under a name.
    private mutating func take(_ name: String, from source: RecordRow) {
        if let absence = source.absent.first(where: { $0.name == name }) { absent.append(absence) }
        guard let entry = source.body.entry(named: name),
            let index = source.body.entries.firstIndex(of: entry)
        else { return }
        body.append(entry, of: source.body)
        fieldStamps.append(source.fieldStamps[index])
        targets += source.targets.filter { $0.field == name }
    }

    // MARK: Counters

    private func joinedCounters(with other: RecordRow) throws(MalformedBytes) -> [Counter] {
        let fields = Set(counters.map(\.field)).union(other.counters.map(\.field))
        var joined: [Counter] = []
        for field in fields.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            var counter = try counter(field)
            let theirs = try other.counter(field)
            if other.stamp(of: field) ?? .zero > stamp(of: field) ?? .zero {
                counter.base = theirs.base
            }
            counter.join(theirs)
            joined.append(counter)
        }
        return joined
    }

    /// A field as a counter, even if it was never incremented here.
    private func counter(_ field: String) throws(MalformedBytes) -> Counter {
        if let known = counters.first(where: { $0.field == field }) { return known }
        return Counter(field: field, base: try int64(field) ?? 0)
    }
}

extension Counter {
    /// Joins another node's sums; the later one of each incarnation stays.
    fileprivate mutating func join(_ other: Counter) {
        for theirs in other.sums {
            if let index = sums.firstIndex(where: { $0.dot.incarnation == theirs.dot.incarnation })
            {
                if theirs.dot.seq > sums[index].dot.seq { sums[index] = theirs }
            } else {
                sums.append(theirs)
            }
        }
        sums.sort { $0.dot < $1.dot }
        for theirs in other.voids { void(theirs.delta, at: theirs.dot) }
        latest = max(latest, other.latest)
    }
}
