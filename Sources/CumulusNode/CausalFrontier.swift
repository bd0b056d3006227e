// How far this node has got, as callers may be told: what every answer that was given up to now can
// have shown.
//
// Advanced by the writer around each batch, asked by sessions before they answer. A batch becomes
// visible in the engine a moment before the writer hears of it: in between, one row of it tells
// whether it is there. hot: once per answer.

import CumulusModel
import CumulusReplication
import CumulusStorage
import Synchronization

final class CausalFrontier: Sendable {
    private struct Cut {
        /// Counts the batches.
        var version: UInt64 = 1
        var scopes: [ScopeNumber: ScopeState]
        /// Tokens that were made for it.
        var tokens: [ScopeNumber: Bytes] = [:]
    }

    /// How far a scope is, and what callers need not wait for there.
    private struct Reach {
        var runs = Runs()
        var truncation = HybridTime(0)
    }

    /// A row of a batch, to see whether the batch is visible.
    private struct Probe {
        var scope: ScopeNumber
        var incarnation: Incarnation
        var seq: UInt64
    }

    private struct State {
        var current: Cut
        /// The batch that is being committed.
        var next: (cut: Cut, probe: Probe)?
        /// How far scopes are that nothing was written to in this run, as far as they were asked
        /// for.
        var resting: [ScopeNumber: Reach] = [:]

        func reach(of scope: ScopeNumber) -> Reach? {
            if let known = current.scopes[scope] {
                return Reach(runs: known.runs, truncation: known.truncation)
            }
            return resting[scope]
        }
    }

    private let state: Mutex<State>
    /// That of `current`; 0 while a batch is being committed.
    private let version = Atomic<UInt64>(1)
    private let engine: any StorageEngine

    init(engine: any StorageEngine, _ opened: WriterState) {
        self.engine = engine
        state = Mutex(State(current: Cut(scopes: opened.scopes)))
    }

    // MARK: The writer

    /// A batch is about to be committed that leads to this state.
    func begin(_ after: WriterState) {
        state.withLock { state in
            guard let probe = probe(state.current.scopes, after.scopes) else {
                // Scopes may have been read in; nothing was written to them.
                state.current.scopes = after.scopes
                return
            }
            let cut = Cut(version: state.current.version + 1, scopes: after.scopes)
            state.next = (cut, probe)
            version.store(0, ordering: .sequentiallyConsistent)
        }
    }

    /// It is committed.
    func advance() {
        state.withLock { state in
            if let next = state.next { state.current = next.cut }
            state.next = nil
            version.store(state.current.version, ordering: .sequentiallyConsistent)
        }
    }

    /// A commit that one state has and the other hasn't.
    private func probe(
        _ old: [ScopeNumber: ScopeState],
        _ new: [ScopeNumber: ScopeState]
    ) -> Probe? {
        for (number, scope) in new {
            // A scope that was not asked for before may have been written to by earlier runs.
            let before = old[number]?.runs ?? stored(number).runs
            // What is new ends in a live run: retired ones follow from those.
            for (incarnation, row) in scope.runs.live where before[incarnation]?.seq != row.seq {
                return Probe(scope: number, incarnation: incarnation, seq: row.seq)
            }
        }
        return nil
    }

    private func stored(_ scope: ScopeNumber) -> Reach {
        let reader = ReadTransaction(engine, reach: .disk)
        guard let runs = try? reader.runs(of: scope),
            let truncation = try? reader.truncation(of: scope)
        else { return Reach() }
        return Reach(runs: runs, truncation: truncation)
    }

    // MARK: Callers

    /// Whether all that is visible by now was visible at that version; false if that takes a look.
    func isAt(_ version: UInt64) -> Bool {
        self.version.load(ordering: .sequentiallyConsistent) == version
    }

    /// A token that covers all that was visible by now, unless it is that of `version`; and its
    /// version.
    func token(
        of scope: ScopeNumber,
        _ id: ScopeID,
        unless version: UInt64,
        mint: TokenMint
    ) -> (token: Bytes, version: UInt64)? {
        settle()
        load(scope)
        return state.withLock { state in
            guard state.current.version != version else { return nil }
            if let known = state.current.tokens[scope] { return (known, state.current.version) }
            let reach = state.reach(of: scope) ?? Reach()
            let token = mint.make(
                CausalToken(
                    scope: id,
                    vector: reach.runs.shortVector,
                    truncation: reach.truncation
                )
            )
            state.current.tokens[scope] = token
            return (token, state.current.version)
        }
    }

    /// Whether all that is visible to everybody who asks from now on.
    func covers(_ vector: VersionVector, _ scope: ScopeNumber) -> Bool {
        settle()
        load(scope)
        return state.withLock { $0.reach(of: scope)?.runs.covers(vector) ?? vector.isEmpty }
    }

    /// Whether an operator has marked as lost what a caller saw who knew that mark.
    func isMarked(since truncation: HybridTime, _ scope: ScopeNumber) -> Bool {
        load(scope)
        return state.withLock { truncation < $0.reach(of: scope)?.truncation ?? truncation }
    }

    /// Reads how far a scope is that nothing was written to in this run.
    private func load(_ scope: ScopeNumber) {
        guard state.withLock({ $0.reach(of: scope) == nil }) else { return }
        let reach = stored(scope)
        state.withLock { $0.resting[scope] = reach }
    }

    /// Takes the batch that is being committed for current, if it is visible already.
    private func settle() {
        guard
            let (version, probe) = state.withLock({ state in
                state.next.map { ($0.cut.version, $0.probe) }
            })
        else { return }
        let reader = ReadTransaction(engine, reach: .disk)
        let row: VectorRow? = try? reader.row(.vector(probe.scope, probe.incarnation))
        guard row?.seq == probe.seq else { return }
        state.withLock { state in
            guard let next = state.next, next.cut.version == version else { return }
            state.current = next.cut
            state.next = nil
            self.version.store(version, ordering: .sequentiallyConsistent)
        }
    }
}
