// A batch on its way to the disk: what the writer planned, and how that ended.
//
// Made by `BatchWriter`; `StoreGate` writes and flushes it on the thread that planned it. Meanwhile
// another thread plans the next batch on top of its rows, and asks for its fate before that next
// batch is written.

import CoreMetrics
import CumulusModel
import CumulusStorage
import Logging
import Synchronization

final class PlannedBatch: Sendable {
    /// What a batch changes.
    struct Change: Sendable {
        let rows: Overlay
        /// This run of the process.
        let run: Incarnation
        /// The scopes that the batch read or changed.
        let scopes: [ScopeNumber: ScopeState]
        let changesZones: Bool
        let changesLenses: Bool
        let changesSchemas: Bool
        /// The value of `WriterState.accountsVersion` after the batch.
        let accounts: UInt64
        /// The value of `WriterState.pushesVersion` after the batch.
        let pushes: UInt64
        /// The places that look different after the batch; nil means that any place may.
        let news: Set<NewsPlace>?
        /// The number of requests and jobs whose changes others see.
        let count: Int
        let hasSchemaNews: Bool
        /// Whether a cascade left something to be done.
        let hasCascadeNews: Bool
        /// Whether changes are left to be compared with topics.
        let hasComparisonNews: Bool
        /// Whether index rows are left to be written.
        let hasIndexNews: Bool
        /// Whether the node heard that a user was deleted.
        let hasDeletionNews: Bool

        /// Scopes to which the batch added commits or events of feeds.
        var touched: [ScopeNumber] {
            scopes.values.filter { !$0.touched.isEmpty || $0.isCompared }.map(\.number)
        }

        /// What callers see once the batch is durable.
        func visible(in reader: any EngineReader) -> VisibleState.Next {
            VisibleState.Next(
                reader: reader,
                scopes: scopes,
                changesZones: changesZones,
                changesLenses: changesLenses,
                changesSchemas: changesSchemas,
                accounts: accounts,
                pushes: pushes,
                commits: ownCommits
            )
        }

        /// The commits that this run made, by scope.
        private var ownCommits: [ScopeNumber: [Bytes]] {
            var commits: [ScopeNumber: [Bytes]] = [:]
            for scope in scopes.values where scope.touched.contains(run) {
                guard let last = scope.runs[run]?.seq else { continue }
                let found = rows.rows(.log, in: .commits(scope.number, run, 1...last))
                // A row without a value was dropped from the log again.
                if found.contains(where: { $0.value == nil }) { continue }
                commits[scope.number] = found.compactMap { $0.value }
            }
            return commits
        }
    }

    enum Fate: Sendable {
        case written
        /// The engine found no room, so nothing was written.
        case refused
        /// The outcome is unknown: the process ends, and the next start finds out.
        case unknown(EngineError)
    }

    let batch: ArraySlice<StoreGate.QueuedWrite>
    /// nil if the batch changes nothing: then nothing is shown, and nobody is woken.
    let change: Change?
    private let reports: [StoreGate.Report]
    private let nanoseconds: UInt64
    private let met = Mutex<Fate?>(nil)

    /// - Parameters:
    ///   - reports: One report for each piece of work in the batch.
    ///   - nanoseconds: How long the planning took.
    init(
        _ batch: ArraySlice<StoreGate.QueuedWrite>,
        _ reports: [StoreGate.Report],
        _ change: Change?,
        nanoseconds: UInt64
    ) {
        self.batch = batch
        self.reports = reports
        self.change = change
        self.nanoseconds = nanoseconds
    }

    /// A batch that can't be written, because the disk has no room.
    convenience init(refusing batch: ArraySlice<StoreGate.QueuedWrite>) {
        let reports = batch.map { $0.refusal(WriteStops.diskExhausted) }
        self.init(batch, reports, nil, nanoseconds: 0)
    }

    var rows: Overlay? { change?.rows }

    /// How the batch ended; nil while it is on its way to the disk.
    var fate: Fate? { met.withLock { $0 } }

    /// The reports for callers, one for each piece of work in the batch.
    var outcomes: [StoreGate.Report] {
        guard case .refused = fate else { return reports }
        return batch.map { $0.refusal(WriteStops.diskExhausted) }
    }

    /// Writes and flushes the batch; returns what callers see from now on, nil if that is the same.
    func persist(
        in engine: any StorageEngine,
        _ disk: DiskWatch,
        _ environment: NodeEnvironment,
        _ meter: NodeMeter
    ) throws(EngineError) -> VisibleState.Next? {
        guard let change else {
            // What its callers are told was found in memory, perhaps, and has to be the newest.
            try engine.checkTerm(.disk)
            return nil
        }
        do {
            let start = environment.nanoseconds()
            let rows = change.rows.batch()
            try engine.write(rows)
            note(environment.nanoseconds() - start, environment, meter)
            meter.rows.add(rows.writes.count)
            meter.rowBytes.add(rows.byteCount)
            let flush = environment.nanoseconds()
            try engine.flush()
            meter.flushTimes.recordNanoseconds(environment.nanoseconds() - flush)
            met.withLock { $0 = .written }
            disk.wrote(change.rows.byteCount, now: environment.now())
            return change.visible(in: try engine.snapshot())
        } catch .full(let why) {
            met.withLock { $0 = .refused }
            disk.foundNone(why, now: environment.now())
            return nil
        } catch {
            met.withLock { $0 = .unknown(error) }
            throw error
        }
    }

    /// Logs a turn that is longer than all before it, so that operators can see what held others
    /// up.
    private func note(
        _ writing: UInt64,
        _ environment: NodeEnvironment,
        _ meter: NodeMeter
    ) {
        let microseconds = Int(clamping: (nanoseconds + writing) / 1_000)
        guard microseconds > meter.longestTurn.max(microseconds, ordering: .relaxed).oldValue else {
            return
        }
        environment.logger.debug(
            "the writer's longest turn so far",
            metadata: ["microseconds": "\(microseconds)", "requests": "\(batch.count)"]
        )
    }
}

extension EngineError {
    /// Why the process ends, and what helps; damage is still there at the next start.
    var lastWords: String {
        switch self {
        case .corrupt(let what): "the store is damaged: \(what); \(EngineError.remedy)"
        case .unavailable(let what): what
        case .failed, .full, .notInMemory, .exhausted:
            "the store failed: \(self); the next start recovers"
        }
    }
}
