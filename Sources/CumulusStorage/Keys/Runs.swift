// How far a store has applied the commits of each run of each node, and which runs are retired. A
// run is retired if its last commit follows from the first commit of a later run.
//
//   run i made 7 commits; the first commit of run j depends on i's 7th: {j: 1} says {i: 7, j: 1}
//
// A node starts a new run with every restart, so whole vectors grow for ever. Short vectors,
// without the retired runs, hold about one entry per node; tokens carry them, and commits depend on
// them. Nobody has to agree on a retirement, since it is a fact about commits: a vector covers what
// its commits depend on. A retired run that is heard of again, after the restore of a backup, is
// live again.
//
// The writer keeps them (`ScopeState`), and readers make them from rows. hot: once per commit.

package import CumulusModel

package struct Runs: Sendable {
    package private(set) var live: [Incarnation: VectorRow] = [:]
    /// Only the first commit of a run changes it.
    package private(set) var retired: [Incarnation: VectorRow] = [:]

    package init(_ rows: [Incarnation: VectorRow] = [:]) {
        live = rows
        for row in rows.values { retire(row.first) }
    }

    package subscript(run: Incarnation) -> VectorRow? {
        live[run] ?? retired[run]
    }

    package var rows: [Incarnation: VectorRow] {
        live.merging(retired) { live, _ in live }
    }

    /// The whole vector of applied commits.
    package var vector: VersionVector { VersionVector(rows.mapValues(\.seq)) }

    /// `vector` without the retired runs.
    package var shortVector: VersionVector { VersionVector(live.mapValues(\.seq)) }

    /// The new dependencies of a run's next commit, compared with its earlier ones; ascending.
    package func dep(of run: Incarnation, since earlier: VersionVector) -> [Dot] {
        var dep: [Dot] = []
        for (other, row) in live where other != run && earlier[other] != row.seq {
            dep.append(Dot(other, row.seq))
        }
        return dep.sorted()
    }

    /// Whether everything in a vector, whole or short, is applied.
    package func covers(_ vector: VersionVector) -> Bool {
        vector.allSatisfy { $0.seq <= self[$0.incarnation]?.seq ?? 0 }
    }

    /// Notes that a commit was applied: `row` is the new end of its run.
    package mutating func enter(_ row: VectorRow, of run: Incarnation, _ broken: BrokenRules = []) {
        if live.updateValue(row, forKey: run) == nil, !retired.isEmpty { retired[run] = nil }
        if row.seq == 1 { retire(row.first, broken) }
    }

    private mutating func retire(_ first: VersionVector, _ broken: BrokenRules = []) {
        for dot in first.dots {
            guard let row = live[dot.incarnation],
                row.seq == dot.seq || broken.contains(.retired)
            else { continue }
            live[dot.incarnation] = nil
            retired[dot.incarnation] = row
        }
    }

    // MARK: Other vectors

    /// Removes from a vector the runs that follow from the rest of it.
    ///
    /// - Parameter cut: It covers the dependencies of all its commits.
    package func short(_ cut: VersionVector) -> VersionVector {
        var short = cut
        for dot in cut.dots {
            for entry in self[dot.incarnation]?.first.dots ?? []
            where cut[entry.incarnation] == entry.seq {
                short[entry.incarnation] = 0
            }
        }
        return short
    }

    /// The whole vector that a short one stands for, as far as its runs are known here.
    package func whole(_ short: VersionVector) -> VersionVector {
        var whole = VersionVector()
        widen(&whole, by: short.dots)
        return whole
    }

    /// Adds commits to a whole vector, with all their dependencies.
    func widen(_ vector: inout VersionVector, by dots: [Dot]) {
        var open = dots
        while let dot = open.popLast() {
            let known = vector[dot.incarnation]
            guard known < dot.seq else { continue }
            vector[dot.incarnation] = dot.seq
            if known == 0, let row = self[dot.incarnation] { open += row.first.dots }
        }
    }
}

/// The row of a run: its end, and how far the local order was.
///
/// The end is the same on every node; the position is the node's own.
package struct RunRow: RowValue, Equatable {
    package var end: VectorRow
    /// The last position of the scope's local order when the row was written.
    package var position: UInt64

    package init(end: VectorRow, position: UInt64) {
        self.end = end
        self.position = position
    }

    package func write(to writer: inout CanonicalWriter) {
        end.write(to: &writer)
        writer.varint(position)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        end = try VectorRow(reading: &reader)
        // Rows from before format 12 end here.
        position = reader.isAtEnd ? 0 : try reader.varint()
    }
}
