// Runs the work that waits for the writer as one batch, while the batch before it is being written
// to the disk.
//
// Held by `StoreGate`; one writer thread at a time uses it. It plans a batch and writes nothing:
// the gate writes and flushes the batch, and only then shows it and answers the callers. A request
// that is past its deadline, or is refused now, does not reach the engine. hot: several steps per
// save.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

struct BatchWriter {
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
    let disk: DiskWatch
    private var lastExpiry: Instant?
    /// The last batch until its fate is known, and the state before it.
    private var onItsWay: (batch: PlannedBatch, before: WriterState)?

    init(
        engine: any StorageEngine,
        environment: NodeEnvironment,
        clocks: PeerClocks,
        peerRuns: PeerRuns,
        limits: Limits,
        meter: NodeMeter,
        stops: WriteStops,
        state: WriterState,
        disk: DiskWatch
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

    /// Runs a batch; if this throws, the store can't go on.
    ///
    /// The batch ends early once it has written very many index rows, or has read large records.
    ///
    /// - Parameters:
    ///   - waiting: The queued work; the batch holds at least the first.
    ///   - written: Returns when the batch before has been written or refused.
    mutating func run(
        _ waiting: ArraySlice<StoreGate.QueuedWrite>,
        after written: () -> Void
    ) throws(EngineError) -> PlannedBatch {
        let start = environment.nanoseconds()
        try settle()
        let moment = moment()
        var group = GroupCommit(engine: engine, state: state, over: onItsWay?.batch.rows)
        try expireRequests(&group, moment)
        if waiting.count > 1 { try readAhead(waiting, &group) }
        var reports: [Report] = []
        reports.reserveCapacity(waiting.count)
        var housekeeping = 0
        var unready: [Int] = []
        // The bytes of the server's records that all answers of the batch may show together.
        var room = limits.batchBytes
        for (index, write) in waiting.enumerated() where index == 0 || !group.isFull {
            let before = group.count
            let done = try run(write.work, &group, moment, &room)
            reports.append(done.report)
            if done.waits { unready.append(index) }
            if !write.work.kind.isSeen { housekeeping += group.count - before }
        }
        let batch = waiting.prefix(reports.count)
        let count = group.count
        try runAgain(unready, batch, &reports, &group, moment, &room)
        // Work that runs again was counted the first time.
        housekeeping += group.count - count
        let nanoseconds = environment.nanoseconds() - start
        written()
        guard try settle() else { return PlannedBatch(refusing: batch) }
        let before = state
        let change = plan(group, housekeeping)
        let planned = PlannedBatch(batch, reports, change, nanoseconds: nanoseconds)
        if change != nil { onItsWay = (planned, before) }
        return planned
    }

    /// Reads rows together that the batch will probably ask for; damage is left to the work itself.
    private func readAhead(
        _ waiting: ArraySlice<QueuedWrite>,
        _ group: inout GroupCommit
    ) throws(EngineError) {
        do {
            try group.readAhead { transaction throws(EngineError) in
                var keys: [RowKey] = []
                for write in waiting.prefix(BatchWriter.mostAhead) {
                    keys += try write.work.likelyRows(in: transaction)
                }
                return keys
            }
        } catch .corrupt {
            return
        }
    }

    /// The most work whose rows are read ahead.
    private static let mostAhead = 256

    /// Takes in the fate of the last batch, if it is known.
    ///
    /// Returns false if the engine found no room for it. Then nothing of it was written, and what
    /// was planned on top of it can't be written either.
    @discardableResult
    private mutating func settle() throws(EngineError) -> Bool {
        guard let (batch, before) = onItsWay, let fate = batch.fate else { return true }
        onItsWay = nil
        switch fate {
        case .written: return true
        case .refused:
            state = before
            state.forgetLostBatch()
            return false
        case .unknown(let error): throw error
        }
    }

    /// What applies to a whole batch, though the clock and the disk may change while it is planned.
    private struct Moment {
        let now: Instant
        let wallClock: Int64
        /// Milliseconds by which the wall clock is ahead of the other nodes' clocks.
        let lead: Int64
        /// The kinds of writes that the disk has room for.
        let room: DiskLevel

        /// The current time; if the node's own clock is wrong, the time by most other nodes'
        /// clocks.
        var clock: Int64 { PeerClocks.isWrong(lead) ? wallClock - lead : wallClock }
    }

    private func moment() -> Moment {
        let (now, wallClock) = (environment.now(), environment.wallClock())
        return Moment(
            now: now,
            wallClock: wallClock,
            lead: clocks.lead(wallClock: wallClock, now: environment.steadyNow),
            room: disk.look(now)
        )
    }

    /// Runs work again that waits for later work of its batch, twice at most.
    ///
    /// Each repetition may bring what other work waits for. Work that still waits after that comes
    /// again with a later batch.
    private func runAgain(
        _ waiting: [Int],
        _ batch: ArraySlice<QueuedWrite>,
        _ reports: inout [Report],
        _ group: inout GroupCommit,
        _ moment: Moment,
        _ room: inout Int
    ) throws(EngineError) {
        guard let first = waiting.first, first + 1 < batch.count else { return }
        var waiting = waiting
        for _ in 0..<2 {
            var rest: [Int] = []
            for index in waiting {
                let work = batch[batch.startIndex + index].work
                let done = try run(work, &group, moment, &room)
                reports[index] = done.report
                if done.waits { rest.append(index) }
            }
            waiting = rest
        }
    }

    /// Ends a batch; returns nil if it changes nothing.
    ///
    /// Such a batch is not shown, and wakes nobody.
    private mutating func plan(
        _ group: consuming GroupCommit,
        _ housekeeping: Int
    ) -> PlannedBatch.Change? {
        let (count, before) = (group.count - housekeeping, state)
        let rows: Overlay
        (rows, state) = group.plan()
        guard !rows.isEmpty else { return nil }
        let changesZones = state.zonesVersion != before.zonesVersion
        let changesSchemas = state.schemaVersion != before.schemaVersion
        let isRaised = state.scopes.values.contains { $0.isRaised && !$0.touched.isEmpty }
        let isAnywhere = changesZones || changesSchemas || isRaised
        return PlannedBatch.Change(
            rows: rows,
            run: state.incarnation,
            scopes: state.scopes,
            changesZones: changesZones || state.sharesVersion != before.sharesVersion,
            changesLenses: state.lensVersion != before.lensVersion,
            changesSchemas: changesSchemas,
            accounts: state.accountsVersion,
            pushes: state.pushesVersion,
            news: isAnywhere ? nil : state.news,
            count: count,
            hasSchemaNews: state.schemaWorkVersion != before.schemaWorkVersion,
            hasCascadeNews: state.cascadeVersion != before.cascadeVersion,
            hasComparisonNews: state.comparisonVersion != before.comparisonVersion,
            hasIndexNews: state.owedIndexVersion != before.owedIndexVersion,
            hasDeletionNews: state.deletionsVersion != before.deletionsVersion
        )
    }

    /// Runs or refuses some work; returns its report, and whether it waits for other changes.
    ///
    /// - Parameter room: The bytes of the server's records that answers may still show.
    private func run<Work: WriterWork>(
        _ work: Work,
        _ group: inout GroupCommit,
        _ moment: Moment,
        _ room: inout Int
    ) throws(EngineError) -> (report: Report, waits: Bool) {
        let terms = work.terms
        if let refusal = refusal(of: work.kind, terms, moment) {
            return ({ work.tell(.failure(refusal)) }, false)
        }
        meter.engineCalls.add(1)
        let answer = try reportingDamage(terms?.requestID) { () throws(EngineError) in
            try group.run(now: moment.clock) { transaction throws(EngineError) in
                let (answer, keep) = try work.run(in: &transaction)
                if keep, terms != nil { try CascadeCompensation.run(&transaction) }
                return (answer, keep)
            }
        }
        guard case .success(var outcome) = answer else { return ({ work.tell(answer) }, false) }
        work.limitShown(&outcome, to: &room)
        return ({ [outcome] in work.tell(.success(outcome)) }, work.waits(outcome))
    }

    /// Why work of a kind is not done now; nil if it is.
    ///
    /// - Parameter terms: The terms of a caller's change; nil for other work. Peers' commits are
    ///   taken even while callers' changes are refused.
    private func refusal(
        of kind: StoreGate.WorkKind,
        _ terms: StoreGate.Terms?,
        _ moment: Moment
    ) -> ServiceError? {
        if let refusal = terms?.token.refusal(now: environment.now()) { return refusal }
        guard kind.fits(moment.room) else { return WriteStops.refusal(at: moment.room) }
        if kind == .deletes, moment.room == .deletes { stops.noteDelete() }
        guard let terms else { return nil }
        if PeerClocks.isWrong(moment.lead) { return StoreGate.clockIsWrong(moment.lead) }
        if peerRuns.isTwin { return Node.idInUse }
        return stops.refusal(of: terms)
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

    /// Deletes remembered outcomes that are older than the limit; does so every ten minutes.
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
