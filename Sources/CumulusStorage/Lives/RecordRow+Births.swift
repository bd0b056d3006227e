// A life that several commits created: one request that was carried out at several nodes, or
// increments that began one counter.
//
// The life keeps the births of all of them, and is named by any. Of the creations by one request
// the earliest counts: what a later one set is taken back. So a save that knew one copy never loses
// to another copy. Called by `ApplyCommit` and `RecordRow.join`; the outcome does not depend on the
// order of the creations.

package import CumulusModel

extension RecordRow {
    /// The births of all commits that created the life, the earliest first.
    package var births: [Dot] { [birth.dot] + twins.map(\.dot) }

    /// Whether a commit created this life, or the dot stands for its key.
    package func isBorn(at dot: Dot) -> Bool {
        birth.dot == dot || twins.contains { $0.dot == dot } || key?.dot == dot
    }

    /// Whether the other row is of the same life.
    package func isSameLife(as other: RecordRow) -> Bool {
        if birth == other.birth { return true }
        if let key, key == other.key { return true }
        return births.contains(where: other.isBorn)
    }

    /// The key if a request created the life.
    package var requestKey: LifeKey? { key.flatMap { $0.isBlind ? nil : $0 } }

    /// Stands for the life where increments are remembered.
    package var identity: Dot { key?.dot ?? birth.dot }

    /// Stands for this life alone: a counter that begins anew has the key of the one before.
    package var ownDot: Dot { requestKey?.dot ?? birth.dot }

    /// The commits that created the life, the earliest first.
    package var creations: [Stamp] { [birth] + twins }

    /// Whether this life is shown, and not the other one: created records hide those that
    /// increments began, and later births hide earlier ones.
    package func isShown(before other: RecordRow, _ broken: BrokenRules = []) -> Bool {
        let (isBlind, isOtherBlind) = (key?.isBlind == true, other.key?.isBlind == true)
        if isBlind == isOtherBlind || broken.contains(.shownCreated) { return birth > other.birth }
        return isOtherBlind
    }

    /// Takes in further creations of the life.
    ///
    /// - Parameter creation: Who made the earliest of all, and of which type.
    mutating func take(births stamps: [Stamp], _ creation: (by: String, type: String)) {
        let all = Set(creations + stamps).sorted()
        guard let first = all.first else { return }
        // A floor that no put of the whole record raised is the birth.
        if all.contains(floor) { floor = first }
        if first != birth { (createdBy, type) = creation }
        birth = first
        twins = Array(all.dropFirst())
    }

    /// Removes what the later creations of the life set.
    ///
    /// What they say of the access to a share stays: it can't be told from what the earliest says,
    /// and one request says one thing.
    mutating func voidTwins() {
        guard requestKey != nil, !twins.isEmpty else { return }
        let twins = Set(twins)
        if fieldStamps.contains(where: twins.contains) { dropFields(setBy: twins) }
        absent.removeAll { twins.contains($0.stamp) }
        if let parent, twins.contains(parent.stamp) { self.parent = nil }
        if let share, twins.contains(share.stamp) { self.share = nil }
        for index in counters.indices where stamp(of: counters[index].field) == nil {
            counters[index].base = 0
        }
    }

    private mutating func dropFields(setBy commits: Set<Stamp>) {
        let fieldStamps = fieldStamps
        var kept = RecordBody()
        for (entry, stamp) in zip(body.entries, fieldStamps) where !commits.contains(stamp) {
            kept.append(entry, of: body)
        }
        self.fieldStamps = fieldStamps.filter { !commits.contains($0) }
        targets.removeAll { kept.entry(named: $0.field) == nil }
        body = kept
    }
}

extension [EndedLife] {
    /// Whether one of them ended a life by a commit that a creation did not know: what is put into
    /// it is lost.
    func holdsEnd(of key: LifeKey, unknownTo cut: CausalCut) -> Bool {
        contains { $0.key == key && !cut.covers($0.end.dot) }
    }

    package mutating func join(_ other: [EndedLife]) {
        if other.isEmpty { return }
        // Two lists in order are merged in linear time.
        var joined: [EndedLife] = []
        joined.reserveCapacity(count + other.count)
        for end in (self + other.sorted()).sorted() where joined.last != end { joined.append(end) }
        self = joined
    }
}
