// A share as it counts: its record, joined from all its lives, and whether it is in force.
//
// Asked by operations for each share that they meet. Promises that each node that holds the same
// records says the same.

import CumulusModel

/// A share as a node stores it: its record's living lives, joined.
package struct StoredShare: Hashable, Sendable {
    package let name: String
    /// The life that is shown.
    package let row: RecordRow
    package let entries: AccessEntries
    /// The roots of its lives; the first one counts.
    ///
    /// There are several if two nodes made root and share from one request.
    package let roots: [AccessEntries.Root]

    package var root: AccessEntries.Root? { roots.first }
}

extension RowReader where Self: ~Copyable {
    /// A share's record, joined from all its lives; nil if no life is left.
    package borrowing func share(
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> StoredShare? {
        guard let row = try record(zone, name), !row.isDead else { return nil }
        var entries = row.access
        var roots = [entries.root].compactMap(\.self)
        if row.hasSiblings, !broken.contains(.joinedShares) {
            for life in try siblings(of: row, named: name, in: zone) {
                entries.join(life.access)
                if let root = life.access.root, !roots.contains(root) { roots.append(root) }
            }
        }
        if entries.isEmpty { return nil }
        entries.broken = broken
        roots.sort { $1.value.lexicographicallyPrecedes($0.value) }
        // The root's shown life counts.
        if roots.count > 1 {
            for index in roots.indices {
                guard try isInForce(name, of: roots[index], in: zone) else { continue }
                roots.swapAt(0, index)
                break
            }
        }
        return StoredShare(name: name, row: row, entries: entries, roots: roots)
    }

    /// The share in force of a zone, or of the record life that names it.
    package borrowing func shareInForce(
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> StoredShare? {
        guard let share = try share(name, in: zone), let root = share.root,
            try isInForce(name, of: root, in: zone)
        else { return nil }
        return share
    }

    /// Whether a share whose record lives is in force, as far as its root decides.
    package borrowing func isInForce(
        _ name: String,
        of root: AccessEntries.Root,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        guard case .record(let rootName, let birth) = root else { return name == Names.zoneShare }
        // A new record under the old name was never shared; the root names one of two shares.
        guard let row = try record(zone, rootName), !row.isDead else { return false }
        return (row.isBorn(at: birth) || broken.contains(.sharedLives))
            && (row.share?.name == name || broken.contains(.namedShares))
    }
}
