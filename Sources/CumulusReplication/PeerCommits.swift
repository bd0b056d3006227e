// Commits that a peer sent: judged one by one, and applied together with what they make this node
// owe.
//
// Run by the writer like a request. What was applied before a commit that can't be stays.

package import CumulusModel
package import CumulusStorage

package struct PeerCommits: Sendable {
    package enum Outcome: Equatable, Sendable {
        /// All are here now; so many are new.
        case taken(Int)
        /// One depends on this, which is not here.
        case waits(for: Dot)
        /// Nothing more of that incarnation is taken: an operator has to look.
        case refused(CommitIntake.Refusal, Dot)
        /// One can't be read.
        case malformed(String)
        case unknownScope
    }

    package var scope: ScopeID
    /// As their origins encoded them.
    package var commits: [Bytes]

    package init(scope: ScopeID, commits: [Bytes]) {
        self.scope = scope
        self.commits = commits
    }

    package func run(in transaction: inout WriteTransaction) throws(EngineError) -> Outcome {
        guard let number = try transaction.scope(scope) else { return .unknownScope }
        var applied = 0
        for bytes in commits {
            let commit: Commit
            do {
                commit = try Commit(bytes)
            } catch {
                return .malformed(error.reason)
            }
            let verdict = CommitIntake.judge(
                commit,
                bytes: bytes,
                after: try transaction.loadScope(number).vectors,
                now: transaction.now
            )
            switch verdict {
            case .known: continue
            case .waits(let missing): return .waits(for: missing[0])
            case .refused(let refusal): return .refused(refusal, commit.stamp.dot)
            case .apply: break
            }
            try transaction.apply(commit, bytes: bytes, in: number)
            try CascadeCompensation.run(after: commit, in: number, &transaction)
            applied += 1
        }
        return .taken(applied)
    }
}
