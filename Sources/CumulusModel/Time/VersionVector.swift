// How far a reader has read each incarnation: what nodes exchange and what a change token holds.
//
// A vector with entry (i, n) covers the commits 1 to n of incarnation i.

package struct VersionVector: Hashable, Sendable {
    private var entries: [Incarnation: UInt64]

    package init(_ entries: [Incarnation: UInt64] = [:]) {
        self.entries = entries.filter { $0.value > 0 }
    }

    /// 0 where nothing of that incarnation was seen.
    package subscript(incarnation: Incarnation) -> UInt64 {
        get { entries[incarnation] ?? 0 }
        set { entries[incarnation] = newValue == 0 ? nil : newValue }
    }

    package var isEmpty: Bool { entries.isEmpty }

    package func covers(_ dot: Dot) -> Bool {
        dot.seq <= self[dot.incarnation]
    }

    package func covers(_ other: VersionVector) -> Bool {
        other.entries.allSatisfy { $0.value <= self[$0.key] }
    }

    package func allSatisfy(_ isMet: (Dot) -> Bool) -> Bool {
        entries.allSatisfy { isMet(Dot($0.key, $0.value)) }
    }

    package mutating func merge(_ other: VersionVector) {
        entries.merge(other.entries) { max($0, $1) }
    }

    package mutating func cover(_ dot: Dot) {
        self[dot.incarnation] = max(self[dot.incarnation], dot.seq)
    }

    /// The dots that both vectors cover.
    package func minimum(_ other: VersionVector) -> VersionVector {
        var least = self
        for (incarnation, seq) in entries { least[incarnation] = min(seq, other[incarnation]) }
        return least
    }

    /// The dots up to which each incarnation is covered, ascending: one order on every node.
    package var dots: [Dot] {
        entries.map { Dot($0.key, $0.value) }.sorted()
    }

    /// The entries that differ from an earlier vector's, ascending.
    package func changes(since earlier: VersionVector) -> [Dot] {
        dots.filter { earlier[$0.incarnation] != $0.seq }
    }
}
