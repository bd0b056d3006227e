// Commits that a peer sent: judged one by one, and applied together with the debts that they cause.
//
// The writer runs it like a request. If a commit can't be applied, the ones before it stay. A
// commit that can't be read, or doesn't fit its origin's log or clock, pauses that origin and
// everything that depends on it; commits of other origins go on. Damaged rows of this node also
// pause an origin, but are reported separately.

package import CumulusModel
package import CumulusStorage

package struct PeerCommits: Sendable {
    package enum Outcome: Equatable, Sendable {
        /// All are here now that can be; so many are new.
        case taken(Int)
        /// One depends on this, which is not here.
        case waits(for: Dot)
        /// One can't be read.
        case malformed(String)
        case unknownScope
    }

    /// Runs whose commits are refused before the pull begins anew, and why.
    package typealias Paused = [Incarnation: CommitIntake.Refusal]

    package var scope: ScopeID
    /// The bytes that their origins encoded.
    package var commits: [Bytes]
    /// The origins that were paused since the peer began to send.
    package var paused: Paused
    /// The clock by which their times are judged; the latest time here is filled in.
    package var clock: CommitIntake.Clock

    package init(
        scope: ScopeID,
        commits: [Bytes],
        paused: Paused = [:],
        clock: CommitIntake.Clock
    ) {
        self.scope = scope
        self.commits = commits
        self.paused = paused
        self.clock = clock
    }

    /// Whether all of them delete records or zones and do nothing else.
    package var onlyDelete: Bool {
        commits.allSatisfy { bytes in
            guard let commit = try? Commit(bytes) else { return false }
            return commit.operations.allSatisfy(\.isDelete)
        }
    }

    /// Applies what can be.
    ///
    /// Returns what is paused from now on, too.
    package func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Outcome, Paused) {
        var paused = paused
        let outcome = try run(&paused, &transaction)
        return (outcome, paused)
    }

    private func run(
        _ paused: inout Paused,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Outcome {
        guard let number = try transaction.scope(scope) else { return .unknownScope }
        var applied = 0
        for bytes in commits {
            // Other nodes may have sent it before, which the head usually shows.
            guard let head = try? CommitHead(bytes) else { return .malformed("it has no head") }
            let runs = try transaction.loadScope(number).runs
            if head.dot.seq < runs[head.dot.incarnation]?.seq ?? 0 { continue }
            if paused[head.dot.incarnation] != nil { continue }
            let commit: Commit
            do {
                commit = try Commit(bytes)
            } catch {
                paused[head.dot.incarnation] = .unreadable(error.reason)
                continue
            }
            var clock = clock
            clock.latest = transaction.latestTime
            let verdict = CommitIntake.judge(commit, bytes: bytes, after: runs, clock: clock)
            switch verdict {
            case .known: continue
            case .waits(let missing):
                guard let cause = missing.first(where: { paused[$0.incarnation] != nil })
                else { return .waits(for: missing[0]) }
                paused[head.dot.incarnation] = .follows(cause.incarnation)
                continue
            case .refused(let refusal):
                paused[head.dot.incarnation] = refusal
                continue
            case .apply: break
            }
            if let refusal = try apply(commit, bytes, in: number, &transaction) {
                paused[head.dot.incarnation] = refusal
                continue
            }
            applied += 1
        }
        return .taken(applied)
    }

    /// Applies a commit, with the debts that it causes, or says why it can't be.
    private func apply(
        _ commit: Commit,
        _ bytes: Bytes,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> CommitIntake.Refusal? {
        let point = transaction.savePoint
        let rows: [RecordRow]
        do {
            try readAhead(commit, in: number, &transaction)
            rows = try transaction.apply(commit, bytes: bytes, in: number)
        } catch {
            if case .exhausted(let what) = error {
                transaction.rollBack(to: point)
                return .unreadable(what)
            }
            guard case .corrupt(let what) = error else { throw error }
            transaction.rollBack(to: point)
            let isOurs = try isDamaged(around: commit, in: number, &transaction)
            return isOurs ? .damagedHere(what) : .unreadable(what)
        }
        do {
            try CascadeCompensation.run(after: commit, leaving: rows, in: number, &transaction)
        } catch {
            guard case .corrupt(let what) = error else { throw error }
            transaction.rollBack(to: point)
            // The commit itself could be applied, but rows that it leads to are damaged.
            return .damagedHere(what)
        }
        return nil
    }

    /// Reads the records that a commit changes together.
    private func readAhead(
        _ commit: Commit,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard commit.operations.count > 1, let zone = commit.zone,
            let place = try transaction.number(of: zone, in: number)
        else { return }
        let names = CascadeCompensation.names(in: commit)
        try transaction.readAhead(names.map { .record(place, $0) })
    }

    /// Whether rows around a commit were already unreadable before it.
    private func isDamaged(
        around commit: Commit,
        in number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        do {
            _ = try transaction.storedSchema(of: number, in: scope.environment)
            guard let zone = commit.zone, let place = try transaction.number(of: zone, in: number)
            else { return false }
            for name in CascadeCompensation.names(in: commit) {
                for life in try transaction.lives(place, name) {
                    _ = try transaction.decoding(RowKey.record(place, name).bytes) {
                        () throws(MalformedBytes) in
                        try life.backReferences()
                    }
                }
            }
            return false
        } catch {
            guard case .corrupt = error else { throw error }
            return true
        }
    }
}

extension WriteTransaction {
    /// How far a scope is applied, with what this batch brings; nil if it isn't known here.
    package mutating func vector(of scope: ScopeID) throws(EngineError) -> VersionVector? {
        guard let number = try self.scope(scope) else { return nil }
        return try loadScope(number).runs.vector
    }
}
