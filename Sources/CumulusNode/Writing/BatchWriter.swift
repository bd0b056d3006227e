// Runs what was waiting for the writer as one batch of the engine, and writes it.
//
// Held by `StoreGate`, whose writer is the only one in it. What it wrote is not durable yet: the
// gate flushes it, and only then shows it and tells everybody. A request whose time is up, or that
// is refused just now, costs the engine nothing. hot: several steps per save.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

/// A batch that is written and not flushed yet.
struct WrittenBatch: Sendable {
    let batch: ArraySlice<StoreGate.QueuedWrite>
    /// One each.
    let reports: [StoreGate.Report]
    /// What becomes visible; nil means it changed nothing.
    let change: Change?

    /// What a batch changed.
    struct Change: Sendable {
        let next: VisibleState.Next
        /// Scopes that commits were added to.
        let scopes: [ScopeNumber]
        /// Where in them anything looks otherwise than before; nil means anywhere.
        let news: Set<NewsPlace>?
        /// Requests and jobs whose changes others see.
        let count: Int
        let hasSchemaNews: Bool
        /// A cascade left something to be done.
        let hasCascadeNews: Bool
    }
}

struct BatchWriter {
    private typealias Answer = StoreGate.Answer
    private typealias Job = StoreGate.Job
    private typealias Progress = StoreGate.Progress
    private typealias QueuedWrite = StoreGate.QueuedWrite
    private typealias Report = StoreGate.Report

    let engine: any StorageEngine
    let environment: NodeEnvironment
    let clocks: PeerClocks
    let peerRuns: PeerRuns
    let limits: Limits
    let meter: NodeMeter
    let stops: WriteStops
    var state: WriterState
    var disk: DiskGuard
    private var lastExpiry: Instant?

    init(
        engine: any StorageEngine,
        environment: NodeEnvironment,
        clocks: PeerClocks,
        peerRuns: PeerRuns,
        limits: Limits,
        meter: NodeMeter,
        stops: WriteStops,
        state: WriterState,
        disk: DiskGuard
    ) {
        self.engine = engine
        self.environment = environment
        self.clocks = clocks
        self.peerRuns = peerRuns
        self.limits = limits
        self.meter = meter
        self.stops = stops
        self.state = state
        self.disk = disk
    }

    /// Runs a batch and writes it; once it threw, the store can't go on.
    ///
    /// - Parameter flushed: Comes back when the batch before is durable: whatever follows in the
    ///   log proves that what stands before it was.
    mutating func run(
        _ batch: ArraySlice<StoreGate.QueuedWrite>,
        after flushed: () -> Void
    ) throws(EngineError) -> WrittenBatch {
        let start = environment.nanoseconds()
        let moment = moment()
        var group = GroupCommit(engine: engine, state: state)
        try expireRequests(&group, moment)
        var reports: [Report] = []
        reports.reserveCapacity(batch.count)
        var housekeeping = 0
        var waiting: [Int] = []
        // What all answers of a batch show of the server's records.
        var room = limits.batchBytes
        for (index, write) in batch.enumerated() {
            switch write.work {
            case .request(let request, let token, let completion):
                let answer = try run(request, token, &group, moment)
                    .map { $0.limitingServerRecords(to: &room, write.admits) }
                reports.append { completion(answer) }
            case .job(let job):
                let before = group.count
                let progress = try run(job, &group, moment)
                reports.append(progress.report)
                if progress.waits { waiting.append(index) }
                if !job.kind.isSeen { housekeeping += group.count - before }
            }
        }
        let before = group.count
        try runAgain(waiting, batch, &reports, &group, moment)
        // They counted the first time.
        housekeeping += group.count - before
        let ran = environment.nanoseconds()
        flushed()
        let resumed = environment.nanoseconds()
        do {
            let change = try write(group, housekeeping, moment)
            noteTurn(ran - start + environment.nanoseconds() - resumed, batch.count)
            return WrittenBatch(batch: batch, reports: reports, change: change)
        } catch {
            guard case .full(let why) = error else { throw error }
            return refuse(batch, why, moment)
        }
    }

    /// Turns that are longer than all before are told, so that it can be seen what held others up.
    private func noteTurn(_ nanoseconds: UInt64, _ count: Int) {
        let microseconds = Int(clamping: nanoseconds / 1_000)
        guard microseconds > meter.longestTurn.max(microseconds, ordering: .relaxed).oldValue else {
            return
        }
        environment.logger.debug(
            "the writer's longest turn so far",
            metadata: ["microseconds": "\(microseconds)", "requests": "\(count)"]
        )
    }

    /// The engine found no room: nothing of the batch was written, and everybody is told so.
    private mutating func refuse(
        _ batch: ArraySlice<QueuedWrite>,
        _ why: String,
        _ moment: Moment
    ) -> WrittenBatch {
        disk.foundNone(now: moment.now)
        note(.nothing, why)
        return WrittenBatch(
            batch: batch,
            reports: batch.map { $0.refusal(WriteStops.diskExhausted) },
            change: nil
        )
    }

    /// What holds for all of a batch: clocks and disks may change while it is made.
    private struct Moment {
        let now: Instant
        let wallClock: Int64
        /// Milliseconds by which that is ahead of the others' clocks.
        let lead: Int64
        /// What the disk has room for.
        let room: DiskLevel

        /// What time it is: if our clock is wrong, what most others say.
        var clock: Int64 { PeerClocks.isWrong(lead) ? wallClock - lead : wallClock }
    }

    private mutating func moment() -> Moment {
        let (now, wallClock) = (environment.now(), environment.wallClock())
        return Moment(
            now: now,
            wallClock: wallClock,
            lead: clocks.lead(wallClock: wallClock, now: now),
            room: lookAtDisk(now)
        )
    }

    /// What the disk has room for; a level that is new is told to operators.
    @discardableResult
    mutating func lookAtDisk(_ now: Instant) -> DiskLevel {
        let level = disk.level(engine, now: now)
        if !disk.isDoubtful(now) { note(level) }
        return level
    }

    /// Operators read in the log what is refused, and when all is taken again.
    private func note(_ level: DiskLevel, _ why: String? = nil) {
        guard stops.noteDisk(level) != level else { return }
        var details: Logger.Metadata = [
            "free": "\(disk.freeBytes)", "reserve": "\(disk.reserve.first)",
            "deleteReserve": "\(disk.reserve.second)",
        ]
        if let why { details["why"] = "\(why)" }
        let until = "until there is room"
        switch level {
        case .all: environment.logger.notice("the disk has room again", metadata: details)
        case .deletes:
            environment.logger.error(
                "the disk is nearly full: writes are refused \(until), deletes are taken",
                metadata: details
            )
        case .nothing:
            environment.logger.error(
                "the disk is nearly full: writes are refused \(until), and deletes too",
                metadata: details
            )
        }
    }

    /// Runs jobs again that wait for what came behind them, twice at most: each may bring what
    /// another waits for, and what still waits then comes again with the next batch.
    private func runAgain(
        _ waiting: [Int],
        _ batch: ArraySlice<QueuedWrite>,
        _ reports: inout [Report],
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) {
        guard let first = waiting.first, first + 1 < batch.count else { return }
        var waiting = waiting
        for _ in 0..<2 {
            var rest: [Int] = []
            for index in waiting {
                guard case .job(let job) = batch[batch.startIndex + index].work else { continue }
                let progress = try run(job, &group, moment)
                reports[index] = progress.report
                if progress.waits { rest.append(index) }
            }
            waiting = rest
        }
    }

    /// Writes a batch; nil means it changes nothing, which is not seen, and wakes nobody.
    private mutating func write(
        _ group: consuming GroupCommit,
        _ housekeeping: Int,
        _ moment: Moment
    ) throws(EngineError) -> WrittenBatch.Change? {
        guard !group.isEmpty else {
            state = try group.write()
            return nil
        }
        let (count, byteCount, before) = (group.count - housekeeping, group.byteCount, state)
        state = try group.write()
        let hadNone = disk.isDoubtful(moment.now)
        disk.wrote(byteCount)
        if hadNone { lookAtDisk(moment.now) }
        let changesZones = state.zonesVersion != before.zonesVersion
        let changesSchemas = state.schemaVersion != before.schemaVersion
        let scopes = state.scopes.values.filter { !$0.touched.isEmpty }
        let isAnywhere = changesZones || changesSchemas || scopes.contains(where: \.isRaised)
        return WrittenBatch.Change(
            next: VisibleState.Next(
                reader: try engine.snapshot(),
                scopes: state.scopes,
                changesZones: changesZones || state.sharesVersion != before.sharesVersion,
                changesSchemas: changesSchemas,
                accounts: state.accountsVersion
            ),
            scopes: scopes.map(\.number),
            news: isAnywhere ? nil : state.news,
            count: count,
            hasSchemaNews: state.schemaWorkVersion != before.schemaWorkVersion,
            hasCascadeNews: state.cascadeVersion != before.cascadeVersion
        )
    }

    private func run(
        _ request: WriteRequest,
        _ token: CallToken,
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) -> Answer {
        if let refusal = token.refusal(now: environment.now()) { return .failure(refusal) }
        guard moment.room == .all || (moment.room == .deletes && request.onlyDeletes) else {
            return .failure(WriteStops.refusal(at: moment.room))
        }
        if moment.room == .deletes { stops.noteDelete() }
        if PeerClocks.isWrong(moment.lead) {
            return .failure(StoreGate.clockIsWrong(moment.lead))
        }
        if peerRuns.isTwin { return .failure(Node.idInUse) }
        if let stop = stops.refusal(of: request) { return .failure(stop) }
        meter.engineCalls.add(1)
        return try reportingDamage(request.requestID) { () throws(EngineError) in
            try group.run(now: moment.wallClock) { transaction throws(EngineError) in
                let (answer, keep) = try request.run(in: &transaction)
                if keep { try CascadeCompensation.run(&transaction) }
                return (answer, keep)
            }
        }
    }

    private func run(
        _ job: Job,
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) -> Progress {
        if job.kind == .deletes { stops.noteDelete() }
        guard job.kind.fits(moment.room) else {
            return ({ job.refuse(WriteStops.refusal(at: moment.room)) }, false)
        }
        meter.engineCalls.add(1)
        let progress = try reportingDamage { () throws(EngineError) in
            try group.run(now: moment.clock) { transaction throws(EngineError) in
                (.success(try job.run(&transaction)), true)
            }
        }
        switch progress {
        case .success(let progress): return progress
        case .failure(let error): return ({ job.refuse(error) }, false)
        }
    }

    private func reportingDamage<Value>(
        _ request: RequestID? = nil,
        _ body: () throws(EngineError) -> Result<Value, ServiceError>
    ) throws(EngineError) -> Result<Value, ServiceError> {
        do {
            return try body()
        } catch {
            if case .exhausted(let what) = error {
                return .failure(ServiceError(.limitExceeded, what))
            }
            guard case .corrupt(let what) = error else { throw error }
            meter.damagedRows.add(1)
            environment.logger.error(
                "a damaged row was found",
                metadata: ["row": "\(what)", "request": "\(request?.bytes.hex ?? "")"]
            )
            return .failure(.damagedRow)
        }
    }

    /// Outcomes are forgotten some minutes after their time.
    private mutating func expireRequests(
        _ group: inout GroupCommit,
        _ moment: Moment
    ) throws(EngineError) {
        let interval: Int64 = 600_000
        guard lastExpiry.map({ $0 + interval <= moment.now }) ?? true else { return }
        let isFirst = lastExpiry == nil
        lastExpiry = moment.now
        if isFirst { return }
        let bound = moment.clock - limits.requestMemoryMilliseconds
        try group.run(now: moment.clock) { transaction throws(EngineError) in
            transaction.deleteRange(.log, .requests(before: bound))
            return ((), true)
        }
    }
}
