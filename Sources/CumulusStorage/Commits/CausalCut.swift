// What a commit's origin had applied when it made the commit. The cut separates changes that the
// origin knew from concurrent ones.
//
// `WriteTransaction.log` makes it; `ApplyCommit` asks it for each value that a commit replaces.

package import CumulusModel

package struct CausalCut: Hashable, Sendable {
    /// Vector of the origin's other incarnations and of all other nodes.
    package let dep: VersionVector
    /// Dot of the commit itself; the origin knew all earlier commits of this incarnation.
    package let dot: Dot

    package init(dep: VersionVector, dot: Dot) {
        self.dep = dep
        self.dot = dot
    }

    /// Whether the origin had applied that commit, or made it.
    package func covers(_ other: Dot) -> Bool {
        other.incarnation == dot.incarnation ? other.seq <= dot.seq : dep.covers(other)
    }

    /// How many commits of a run the origin had applied or made.
    package subscript(run: Incarnation) -> UInt64 {
        run == dot.incarnation ? dot.seq : dep[run]
    }

    package func covers(_ stamps: [Stamp]) -> Bool {
        stamps.allSatisfy { covers($0.dot) }
    }
}

extension WriteTransaction {
    /// The cut of a commit that was just applied.
    package mutating func cut(
        of commit: Commit,
        in scope: ScopeNumber
    ) throws(EngineError) -> CausalCut {
        let dot = commit.stamp.dot
        let scope = try loadScope(scope)
        return CausalCut(dep: scope.cuts[dot.incarnation] ?? VersionVector(), dot: dot)
    }
}
