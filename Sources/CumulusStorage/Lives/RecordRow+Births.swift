// A life that several commits created: several nodes carried out one request, or increments began
// one counter.
//
// The life keeps the births of all its creations, and any of them names it. Among creations by one
// request the earliest counts, and values of the later ones are taken back. So a save that knew one
// copy never loses to another copy. `ApplyCommit` and `RecordRow.join` call it; the outcome does
// not depend on the order of the creations.

package import CumulusModel

extension RecordRow {
    /// The births of all commits that created the life, the earliest first.
    package var births: [Dot] { [birth.dot] + twins.map(\.dot) }

    /// Whether a commit created this life, or the dot stands for its key.
    package func isBorn(at dot: Dot) -> Bool {
        birth.dot == dot || twins.contains { $0.dot == dot } || key?.dot == dot
    }

    /// Whether the other row belongs to the same life.
    package func isSameLife(as other: RecordRow) -> Bool {
        if birth == other.birth { return true }
        if let key, key == other.key { return true }
        return births.contains(where: other.isBorn)
    }

    /// The key if a request created the life.
    package var requestKey: LifeKey? { key.flatMap { $0.isBlind ? nil : $0 } }

    /// Names the life in the rows that remember increments.
    package var identity: Dot { key?.dot ?? birth.dot }

    /// Names this life alone; a counter that begins anew has the key of the previous one.
    package var ownDot: Dot { requestKey?.dot ?? birth.dot }

    /// The commits that created the life, the earliest first.
    package var creations: [Stamp] { [birth] + twins }

    /// Whether this life is shown instead of the other one.
    ///
    /// Created records hide records that increments began, and later births hide earlier ones.
    package func isShown(before other: RecordRow, _ broken: BrokenRules = []) -> Bool {
        let (isBlind, isOtherBlind) = (key?.isBlind == true, other.key?.isBlind == true)
        if isBlind == isOtherBlind || broken.contains(.shownCreated) { return birth > other.birth }
        return isOtherBlind
    }

    /// Adds further creations of the life.
    ///
    /// - Parameter creation: The user and the type of the earliest creation.
    mutating func take(births stamps: [Stamp], _ creation: (by: String, type: String)) {
        let all = Set(creations + stamps).sorted()
        guard let first = all.first else { return }
        // The floor is the birth unless a put of the whole record raised it.
        if all.contains(floor) { floor = first }
        if first != birth { (createdBy, type) = creation }
        birth = first
        twins = Array(all.dropFirst())
    }

    /// Takes back what the later creations of the life set.
    ///
    /// Their changes of a share's access stay: they can't be told from the earliest one's, and one
    /// request says the same each time.
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
    /// Whether a life was ended by a commit that a creation did not know: values put into it are
    /// lost.
    func holdsEnd(of key: LifeKey, unknownTo cut: CausalCut) -> Bool {
        contains { $0.key == key && !cut.covers($0.end.dot) }
    }

    package mutating func join(_ other: [EndedLife]) {
        if other.isEmpty { return }
        // Merges two sorted lists in linear time.
        var joined: [EndedLife] = []
        joined.reserveCapacity(count + other.count)
        for end in (self + other.sorted()).sorted() where joined.last != end { joined.append(end) }
        self = joined
    }
}
