// A damaged part of a store: a row that doesn't decode, or a stretch of keys that can't be read.
//
// `StoreSurvey` finds it and operators are told. It is mended from another node's records, or from
// the rows that it is derived from.

package import CumulusModel

package struct StoreDamage: Sendable {
    package let family: Family
    /// From the first key that can't be read up to the next one that can.
    package let range: KeyRange
    /// The row before it, and for a stretch the row behind it; nil if the family has no such row.
    package let before: Bytes?
    package let after: Bytes?
    /// True if it is one row that can be read but doesn't decode.
    package let isRow: Bool
    package let reason: String

    /// A stretch that can't be read.
    init(
        _ family: Family,
        _ range: KeyRange,
        between before: Bytes?,
        and after: Bytes?,
        _ reason: String
    ) {
        self.family = family
        self.range = range
        self.before = before
        self.after = after
        isRow = false
        self.reason = reason
    }

    /// A row that doesn't decode.
    init(_ family: Family, row key: Bytes, after before: Bytes?, _ reason: String) {
        self.family = family
        range = KeyRange(start: key, end: key + [0])
        self.before = before
        after = nil
        isRow = true
        self.reason = reason
    }

    /// The subspaces that it may touch, judged by the keys around it: a stretch may reach into
    /// several.
    package var subspaces: [Subspace] {
        let first = (before ?? range.start).first ?? 0
        if isRow { return Subspace(rawValue: range.start[0]).map { [$0] } ?? [] }
        let last = after?.first ?? .max
        return Subspace.all.filter {
            $0.family == family && (first...max(first, last)).contains($0.rawValue)
        }
    }

    package func touches(_ other: KeyRange) -> Bool {
        precedes(range.start, other.end) && precedes(other.start, range.end)
    }
}

extension [StoreDamage] {
    /// The parts of a range of the records that are not among these.
    package func leaving(_ range: KeyRange, of family: Family) -> [KeyRange] {
        var (parts, start): ([KeyRange], Bytes) = ([], range.start)
        for damage in self where damage.family == family && damage.touches(range) {
            if precedes(start, damage.range.start) {
                parts.append(KeyRange(start: start, end: damage.range.start))
            }
            if precedes(start, damage.range.end) { start = damage.range.end }
        }
        if precedes(start, range.end) { parts.append(KeyRange(start: start, end: range.end)) }
        return parts
    }

    package func contains(_ key: RowKey) -> Bool {
        contains { $0.family == key.family && $0.range.contains(key.bytes) }
    }
}

extension Subspace {
    static let all = (UInt8.min...UInt8.max).compactMap(Subspace.init(rawValue:))
}
