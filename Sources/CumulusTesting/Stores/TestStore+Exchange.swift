// How the stores of a simulated cluster hand each other commits and state.
//
// Used by `SimulatedCluster` and by the histories of accounts and shares, through the production
// intake.

package import CumulusModel
import CumulusOperations
package import CumulusReplication
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
    package func take(from other: TestStore, isCompensating: Bool = false) throws {
        try take(try other.commits(above: vectors()), isCompensating: isCompensating)
    }

    /// Applies commits, as far as the intake allows.
    package func take(
        _ commits: [Incarnation: [(Commit, Bytes)]],
        isCompensating: Bool = false
    ) throws {
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
                    try apply(commit, bytes: bytes, isCompensating: isCompensating)
                    rest = rest.dropFirst()
                    isStuck = false
                }
                queues[incarnation] = rest.isEmpty ? nil : Array(rest)
            }
        }
    }

    /// Applies commits of another store in an order of chance that the intake allows.
    ///
    /// - Parameter most: Stops after so many.
    package func takeCommits(
        of scope: ScopeID,
        from other: TestStore,
        most: Int,
        using dice: inout SeededGenerator
    ) throws {
        guard let source = try other.reader.scope(scope), let target = try reader.scope(scope)
        else { throw EngineError.corrupt("a store without its scopes") }
        var left = most
        var isMoved = true
        while left > 0, isMoved {
            isMoved = false
            let rows = try other.reader.runs(of: source).rows.sorted { $0.key.value < $1.key.value }
            for (incarnation, row) in rows.shuffled(using: &dice) where left > 0 {
                let known = try reader.runs(of: target)
                let dot = Dot(incarnation, known.vector[incarnation] + 1)
                guard dot.seq <= row.seq, let bytes = try other.reader.get(.commit(source, dot))
                else { continue }
                let commit = try Commit(bytes)
                let verdict = CommitIntake.judge(
                    commit,
                    bytes: bytes,
                    after: known,
                    clock: .init(now: .max / 2)
                )
                guard verdict == .apply else { continue }
                try change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try transaction.apply(commit, bytes: bytes, in: target)
                }
                left -= 1
                isMoved = true
            }
        }
    }

    /// Takes the state that another store holds of a scope.
    ///
    /// - Parameter isKilled: The process ends before the state is shown.
    package func takeState(
        _ source: StateSource,
        of scope: ScopeID,
        isKilled: Bool
    ) throws {
        guard let number = try reader.scope(scope) else {
            throw EngineError.corrupt("a store without its scopes")
        }
        let base = try reader.runs(of: number).vector
        let offer = try source.offer(to: base)
        var intake = try StateIntake(offer, above: base, clock: .init(now: .max / 2))
        var begun: StateSync?
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            begun = try StateSync(offer, in: number, &transaction)
        }
        guard var sync = begun else { return }
        var pages = StatePages(source, offer)
        while let page = try pages.next(byteLimit: 2_000) {
            let read = try intake.read(page)
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                try sync.take(read, &transaction)
            }
        }
        try intake.checkEnd()
        if isKilled { return try restart() }
        var isMerged = false
        while !isMerged {
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMerged = try sync.merge(recordLimit: 100, &transaction)
            }
        }
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            isMerged = try sync.finish(&transaction)
            try StagedZones.drop(&transaction)
        }
        guard isMerged else { throw SimulatedFault.disturbedMerge }
    }

    /// Applies a commit of another store.
    ///
    /// - Parameter isCompensating: Whether orphans of the commit are deleted, as nodes do.
    package func apply(_ commit: Commit, bytes: Bytes, isCompensating: Bool = false) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            let rows = try transaction.apply(commit, bytes: bytes, in: scope)
            guard isCompensating else { return }
            try CascadeCompensation.run(after: commit, leaving: rows, in: scope, &transaction)
        }
    }
}
