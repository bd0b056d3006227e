// How the stores of a simulated cluster hand each other commits and state.
//
// Used by `SimulatedCluster`, through the production intake.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage

extension TestStore {
    package func runs() throws -> Runs {
        try reader.runs(of: scopeNumber())
    }

    /// How far each incarnation's commits are applied.
    package func vectors() throws -> [Incarnation: VectorRow] {
        try runs().rows
    }

    package func vector() throws -> VersionVector {
        try runs().vector
    }

    /// The commits of the log that a reader at those vectors lacks, per incarnation in their order.
    package func commits(
        above vectors: [Incarnation: VectorRow]
    ) throws -> [Incarnation: [(Commit, Bytes)]] {
        let scope = try scopeNumber()
        var found: [Incarnation: [(Commit, Bytes)]] = [:]
        let floors = try reader.logFloors(of: scope)
        for (incarnation, row) in try self.vectors() {
            let first = max(vectors[incarnation]?.seq ?? 0, floors[incarnation]) + 1
            guard first <= row.seq else { continue }
            found[incarnation] = try (first...row.seq).map { seq in
                guard let bytes = try reader.get(.commit(scope, Dot(incarnation, seq))) else {
                    throw EngineError.corrupt("a commit is missing")
                }
                return (try Commit(bytes), bytes)
            }
        }
        return found
    }

    /// Applies all that another store has and this one lacks, as far as the intake allows.
    package func take(from other: TestStore) throws {
        try take(try other.commits(above: vectors()))
    }

    /// Applies commits, as far as the intake allows.
    package func take(_ commits: [Incarnation: [(Commit, Bytes)]]) throws {
        var queues = commits
        var isStuck = false
        while !queues.isEmpty, !isStuck {
            isStuck = true
            for (incarnation, commits) in queues {
                var rest = commits[...]
                while let (commit, bytes) = rest.first {
                    let verdict = CommitIntake.judge(
                        commit,
                        bytes: bytes,
                        after: try runs(),
                        clock: .init(now: .max / 2)
                    )
                    guard verdict == .apply else { break }
                    try apply(commit, bytes: bytes)
                    rest = rest.dropFirst()
                    isStuck = false
                }
                queues[incarnation] = rest.isEmpty ? nil : Array(rest)
            }
        }
    }

    /// Applies a commit of another store.
    package func apply(_ commit: Commit, bytes: Bytes) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            try transaction.apply(commit, bytes: bytes, in: scope)
        }
    }

    /// Deletes what a commit left without an owner.
    package func compensate(_ commit: Commit) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            try CascadeCompensation.run(after: commit, in: scope, &transaction)
        }
    }
}
