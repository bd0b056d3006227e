// What callers see of the store: everything that is durable and nothing else; and how far each
// scope is.
//
// `StoreGate` advances it after each flush, in one step, before it answers the callers of the
// batch. Sessions ask it before they read and before they answer. hot: once per read, once per
// answer.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import Synchronization

final class VisibleState: Sendable {
    /// The result of a batch, once it is durable.
    struct Next: Sendable {
        var reader: any EngineReader
        /// The scopes that the batch read from the engine or changed.
        var scopes: [ScopeNumber: ScopeState]
        var changesZones: Bool
        /// Records look different; zones change, too.
        var changesLenses = false
        var changesSchemas: Bool
        /// The value of `WriterState.accountsVersion` after the batch.
        var accounts: UInt64 = 0
        /// The value of `WriterState.pushesVersion` after the batch.
        var pushes: UInt64 = 0
        /// The commits that this run made in the batch, in order.
        var commits: [ScopeNumber: [Bytes]] = [:]
    }

    /// How far this node has a scope, and the mark up to which changes were declared lost.
    private struct Progress {
        var runs = Runs()
        var truncation = HybridTime(0)
    }

    private struct State {
        var reader: any EngineReader
        var zones = ZoneDirectory()
        var schemas = SchemaDirectory()
        /// Rises with each batch.
        var version: UInt64 = 1
        /// The scopes that the writer has read since the node started.
        var scopes: [ScopeNumber: ScopeState]
        /// Causal tokens that were made for this version.
        var tokens: [ScopeNumber: Bytes] = [:]
        /// How far other scopes are, if anybody asked for them.
        var resting: [ScopeNumber: Progress] = [:]
        /// The newest commits of this run, and their bytes.
        var recent: [ScopeNumber: RecentCommits] = [:]
        var recentBytes = 0

        func progress(of scope: ScopeNumber) -> Progress? {
            if let known = scopes[scope] {
                return Progress(runs: known.runs, truncation: known.truncation)
            }
            return resting[scope]
        }

        /// Enters a batch's commits of a run; the scopes know of them.
        mutating func enter(_ commits: [ScopeNumber: [Bytes]], of run: Incarnation) {
            for (scope, more) in commits {
                guard let last = scopes[scope]?.runs[run]?.seq else { continue }
                recentBytes -= recent[scope]?.byteCount ?? 0
                recent[scope, default: RecentCommits()].add(more, through: last)
                recentBytes += recent[scope]?.byteCount ?? 0
            }
        }

        /// Takes out all recent commits once they have many bytes: a reader that lacks them gets
        /// them from the log.
        mutating func takeManyCommits() -> [ScopeNumber: RecentCommits] {
            guard recentBytes > VisibleState.recentLimit else { return [:] }
            defer { (recent, recentBytes) = ([:], 0) }
            return recent
        }
    }

    private let state: Mutex<State>
    private let version = Atomic<UInt64>(1)
    private let highestMet = Atomic<UInt64>(0)
    let epochs: AccessEpochs
    /// This run of the process.
    private let run: Incarnation
    /// Most bytes of recent commits of all scopes.
    private static let recentLimit = 1 << 20

    init(_ reader: any EngineReader, _ opened: WriterState) {
        epochs = AccessEpochs(accounts: opened.accountsVersion)
        run = opened.incarnation
        state = Mutex(State(reader: reader, scopes: opened.scopes))
    }

    // MARK: After a flush

    /// Makes a durable state visible to everybody.
    ///
    /// Returns whether the credentials of callers are to be checked again.
    @discardableResult
    func advance(to next: Next) -> Bool {
        var isMoved = false
        // Old commits and the old snapshot are released outside the lock.
        var oldCommits: [ScopeNumber: RecentCommits] = [:]
        let old = state.withLock { state in
            defer {
                state.reader = next.reader
                state.scopes.merge(next.scopes) { $1 }
                state.enter(next.commits, of: run)
                state.tokens = [:]
                if next.changesZones {
                    state.zones = ZoneDirectory(after: next.changesLenses ? nil : state.zones)
                }
                if next.changesSchemas { state.schemas = SchemaDirectory() }
                state.version += 1
                // A thread that gets the new reader finds the new version.
                version.store(state.version, ordering: .releasing)
            }
            isMoved = epochs.moveAccounts(to: next.accounts)
            epochs.movePushes(to: next.pushes)
            oldCommits = state.takeManyCommits()
            return state.reader
        }
        _ = consume old
        _ = consume oldCommits
        return isMoved
    }

    // MARK: Callers

    /// Everything that is visible now, and nothing that comes later.
    var reader: any EngineReader { state.withLock { $0.reader } }

    /// The visible state, with the zones and the record types that were found in it.
    var view: View { state.withLock { ($0.reader, $0.zones, $0.schemas) } }

    typealias View = (reader: any EngineReader, zones: ZoneDirectory, schemas: SchemaDirectory)

    /// The visible state, and the version vector of a scope in it.
    func vector(
        of scope: ScopeNumber
    ) throws(EngineError) -> (reader: any EngineReader, vector: VersionVector) {
        try load(scope)
        return state.withLock {
            ($0.reader, $0.progress(of: scope)?.runs.vector ?? VersionVector())
        }
    }

    /// The version vector of a scope, and this run's commits above `seq`; nil if memory lacks one.
    func recent(
        of scope: ScopeNumber,
        above seq: UInt64
    ) -> (vector: VersionVector, commits: [Bytes])? {
        state.withLock { state in
            guard let runs = state.scopes[scope]?.runs else { return nil }
            let last = runs[run]?.seq ?? 0
            guard seq < last else { return (runs.vector, []) }
            return state.recent[scope]?.commits(above: seq, through: last).map { (runs.vector, $0) }
        }
    }

    /// The visible state, with its version, which rises with each batch.
    var versioned: (view: View, version: UInt64) {
        state.withLock { state -> (View, UInt64) in
            ((state.reader, state.zones, state.schemas), state.version)
        }
    }

    /// Whether nothing has become visible since that version.
    func isAt(_ version: UInt64) -> Bool {
        self.version.load(ordering: .acquiring) == version
    }

    /// A token that covers everything visible by now, with the version of the state.
    ///
    /// Returns nil if that is still `version`, or if the scope can't be read.
    func token(
        of scope: ScopeNumber,
        _ id: ScopeID,
        unless version: UInt64,
        mint: TokenMint
    ) -> (token: Bytes, version: UInt64)? {
        // A token that covers less than what is visible would let callers see the past.
        guard (try? load(scope)) != nil else { return nil }
        return state.withLock { state in
            guard state.version != version else { return nil }
            if let known = state.tokens[scope] { return (known, state.version) }
            let progress = state.progress(of: scope) ?? Progress()
            let token = mint.make(
                CausalToken(
                    scope: id,
                    vector: progress.runs.shortVector,
                    truncation: progress.truncation
                )
            )
            state.tokens[scope] = token
            return (token, state.version)
        }
    }

    /// Whether everything that a vector covers is visible to callers from now on.
    func covers(_ vector: VersionVector, _ scope: ScopeNumber) -> Bool {
        try? load(scope)
        return state.withLock { $0.progress(of: scope)?.runs.covers(vector) ?? vector.isEmpty }
    }

    /// The highest truncation mark that callers have shown who miss something here.
    var highestTruncation: HybridTime { HybridTime(highestMet.load(ordering: .relaxed)) }

    /// Whether an operator has declared changes lost since a caller was told of that mark.
    func isMarked(since truncation: HybridTime, _ scope: ScopeNumber) -> Bool {
        highestMet.max(truncation.value, ordering: .relaxed)
        try? load(scope)
        return state.withLock { truncation < $0.progress(of: scope)?.truncation ?? truncation }
    }

    /// Reads how far a scope is, if nothing was written to it since the node started.
    private func load(_ scope: ScopeNumber) throws(EngineError) {
        guard state.withLock({ $0.progress(of: scope) == nil }) else { return }
        let reader = ReadTransaction(self.reader, reach: .disk)
        let progress = Progress(
            runs: try reader.runs(of: scope),
            truncation: try reader.truncation(of: scope)
        )
        state.withLock { $0.resting[scope] = progress }
    }
}
