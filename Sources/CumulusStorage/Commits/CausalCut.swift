// What a commit's origin had applied when it made the commit: the line between what it knew and
// what is concurrent to it.
//
// Made by `WriteTransaction.log`; `ApplyCommit` asks it for each value that a commit replaces.

package import CumulusModel

package struct CausalCut: Hashable, Sendable {
    /// Of the origin's other incarnations and everybody else's.
    package let dep: VersionVector
    /// The commit itself: what its incarnation made before is known to it.
    package let dot: Dot

    package init(dep: VersionVector, dot: Dot) {
        self.dep = dep
        self.dot = dot
    }

    /// Whether the origin had applied that commit; its own counts.
    package func covers(_ other: Dot) -> Bool {
        other.incarnation == dot.incarnation ? other.seq <= dot.seq : dep.covers(other)
    }

    /// How many commits of a run the origin had applied, or made.
    package subscript(run: Incarnation) -> UInt64 {
        run == dot.incarnation ? dot.seq : dep[run]
    }

    package func covers(_ stamps: [Stamp]) -> Bool {
        stamps.allSatisfy { covers($0.dot) }
    }
}

extension WriteTransaction {
    /// What the origin of a commit knew that was just applied.
    package mutating func cut(
        of commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) -> CausalCut {
        let dot = commit.stamp.dot
        let scope = try loadScope(scope)
        return CausalCut(dep: scope.cuts[dot.incarnation] ?? VersionVector(), dot: dot)
    }
}
