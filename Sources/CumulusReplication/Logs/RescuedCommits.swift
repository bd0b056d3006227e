// Applies commits that an operator brings from the directory of a removed node and that no other
// node may have. They are applied like a peer's commits, all of a message or none.
//
// Run by the writer. A commit that is here already is nothing new, so an interrupted hand-over is
// repeated as a whole. A node that was cut off may have taken members off its list, for lost: that
// is not repeated here, because their processes would end.

package import CumulusModel
package import CumulusStorage

package struct RescuedCommits: Sendable {
    /// The reason why none was applied.
    package enum Refusal: Error, Equatable, Sendable {
        case unknownScope
        /// One depends on this commit, which is not here.
        case missing(Dot)
        /// One can't be read.
        case malformed(String)
        /// The commits of a run don't fit the log here.
        case unfit(Incarnation, CommitIntake.Refusal)
        /// This node lacks commits of its own run: its machine went back to a snapshot.
        case ownRun
        /// They take these members off the list: node ids, ascending.
        case removes([Bytes])
    }

    private let commits: PeerCommits

    /// - Parameter clock: The clock by which their times are judged.
    package init(scope: ScopeID, commits: [Bytes], clock: CommitIntake.Clock) {
        self.commits = PeerCommits(scope: scope, commits: commits, clock: clock)
    }

    /// Applies all of them, or says why not.
    ///
    /// Returns how many were new.
    package func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Int, Refusal> {
        if try areOfOwnRun(in: &transaction) { return .failure(.ownRun) }
        let point = transaction.savePoint
        let before = try transaction.listedMembers()
        let (outcome, paused) = try commits.run(in: &transaction)
        let gone = before.subtracting(try transaction.listedMembers())
        let result = RescuedCommits.judge(outcome, paused, gone)
        if case .failure = result { transaction.rollBack(to: point) }
        return result
    }

    /// Whether one would become the next of the run that this node is making.
    private func areOfOwnRun(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let run = transaction.state.incarnation
        let known = try transaction.vector(of: commits.scope)?[run] ?? 0
        return commits.commits.contains { bytes in
            guard let dot = (try? CommitHead(bytes))?.dot else { return false }
            return dot.incarnation == run && dot.seq > known
        }
    }

    private static func judge(
        _ outcome: PeerCommits.Outcome,
        _ paused: PeerCommits.Paused,
        _ gone: Set<Bytes>
    ) -> Result<Int, Refusal> {
        if let refusal = cause(of: paused) { return .failure(refusal) }
        guard gone.isEmpty else {
            return .failure(.removes(gone.sorted { $0.lexicographicallyPrecedes($1) }))
        }
        switch outcome {
        case .taken(let count): return .success(count)
        case .waits(let dot): return .failure(.missing(dot))
        case .malformed(let what): return .failure(.malformed(what))
        case .unknownScope: return .failure(.unknownScope)
        }
    }

    /// The run that is refused for a reason of its own; others follow it.
    private static func cause(of paused: PeerCommits.Paused) -> Refusal? {
        let runs = paused.sorted { $0.key < $1.key }
        let first = runs.first { if case .follows = $0.value { false } else { true } } ?? runs.first
        return first.map { .unfit($0.key, $0.value) }
    }
}

extension WriteTransaction {
    /// Ids of the nodes that are on the cluster's list.
    fileprivate borrowing func listedMembers() throws(EngineError) -> Set<Bytes> {
        Set(try members().filter { $0.row.value != nil }.map(\.nodeID))
    }
}
