// A batch on its way to the disk: what the writer planned, and what became of it.
//
// Made by `BatchWriter`; written and flushed by `StoreGate`, on the thread that planned it. Another
// one plans the next batch over its rows meanwhile, and asks for its fate before that one is
// written.

import CoreMetrics
import CumulusModel
import CumulusStorage
import Logging
import Synchronization

final class PlannedBatch: Sendable {
    /// What a batch changes.
    struct Change: Sendable {
        let rows: Overlay
        /// Those that it read, or changed.
        let scopes: [ScopeNumber: ScopeState]
        let changesZones: Bool
        let changesSchemas: Bool
        /// `WriterState.accountsVersion`.
        let accounts: UInt64
        /// Where in them anything looks otherwise than before; nil means anywhere.
        let news: Set<NewsPlace>?
        /// Requests and jobs whose changes others see.
        let count: Int
        let hasSchemaNews: Bool
        /// A cascade left something to be done.
        let hasCascadeNews: Bool
        /// A change is left to be compared with topics.
        let hasComparisonNews: Bool
        /// Rows of indexes are left to be written.
        let hasIndexNews: Bool

        /// Scopes to which the batch added commits or events of feeds.
        var touched: [ScopeNumber] {
            scopes.values.filter { !$0.touched.isEmpty || $0.isCompared }.map(\.number)
        }

        /// What is to be seen once it is durable.
        func visible(in reader: any EngineReader) -> VisibleState.Next {
            VisibleState.Next(
                reader: reader,
                scopes: scopes,
                changesZones: changesZones,
                changesSchemas: changesSchemas,
                accounts: accounts
            )
        }
    }

    enum Fate: Sendable {
        case written
        /// The engine found no room: nothing was written.
        case refused
        /// The process ends; the next start finds out.
        case unknown(EngineError)
    }

    let batch: ArraySlice<StoreGate.QueuedWrite>
    /// Nothing means that the batch changes nothing, which is not seen, and wakes nobody.
    let change: Change?
    private let reports: [StoreGate.Report]
    private let nanoseconds: UInt64
    private let met = Mutex<Fate?>(nil)

    /// - Parameters:
    ///   - reports: One each.
    ///   - nanoseconds: What it took to plan.
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

    /// A batch of which nothing can be written, since the disk has no room.
    convenience init(refusing batch: ArraySlice<StoreGate.QueuedWrite>) {
        let reports = batch.map { $0.refusal(WriteStops.diskExhausted) }
        self.init(batch, reports, nil, nanoseconds: 0)
    }

    var rows: Overlay? { change?.rows }

    /// What became of it; nil while it is on its way.
    var fate: Fate? { met.withLock { $0 } }

    /// What is to be told, one each.
    var outcomes: [StoreGate.Report] {
        guard case .refused = fate else { return reports }
        return batch.map { $0.refusal(WriteStops.diskExhausted) }
    }

    /// Writes and flushes it; returns what is to be seen from now on, nothing if that has not
    /// changed.
    func persist(
        in engine: any StorageEngine,
        _ disk: DiskWatch,
        _ environment: NodeEnvironment,
        _ meter: NodeMeter
    ) throws(EngineError) -> VisibleState.Next? {
        guard let change else { return nil }
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

    /// Turns that are longer than all before are told, so that it can be seen what held others up.
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
    /// Why the process ends, and what helps: damage is still there at the next start.
    var lastWords: String {
        switch self {
        case .corrupt(let what): "the store is damaged: \(what); \(EngineError.remedy)"
        case .failed, .full, .notInMemory, .exhausted:
            "the store failed: \(self); the next start recovers"
        }
    }
}
