// Saves the records of many lines, in batches, a few batches at a time.
//
// It promises the following. A line's record is saved before the summary counts it. Lines with the
// same record name take effect in order. The first line with a value of a field decides the field's
// type. A record whose parent comes in a later line is saved after it. A lost connection or a
// restart of the server is waited out, since saving a line twice has the same effect as once; it
// says for what it waits, and how much is saved if it gives up.
// Memory is bounded by the batches under way and a bounded number of records that wait for parents.
//
// Folder: records from and to JSON lines: what the commands import and export do, and how a record
// is shown as JSON. Read `Importer` and `Exporter`, then `LineReader` and `Record+JSON`.
//
// The target is one of its own since it handles many records, and so is optimised, which the
// commands are not.

package import Cumulus
package import CumulusModel
import CumulusSystem
package import CumulusTerminal

package struct Importer {
    /// Records of one call, each with the number of its line.
    private struct Batch {
        var records: [Record] = []
        var lines: [Record.ID: Int] = [:]
        /// Fields with a value that none had yet of the lines that were saved.
        var newKeys: Set<String> = []
    }

    private struct Refusal {
        var line: Int
        var record: Record
        var error: any Error

        /// The record's parent isn't there, or not yet; or it has an empty list, and a later line
        /// may say what its elements are.
        var isEarly: Bool {
            let error = error as? ServiceError
            return error?.code == .referenceViolation
                || error?.reason == .wrongType && record.hasEmptyList
        }
    }

    private struct Outcome {
        var batch: Batch
        var refusals: [Refusal]
        var isUnknown: Bool

        var saved: Int { batch.records.count - refusals.count }
    }

    var lines: LineReader
    /// nil: the lines are of an export of a database, and say it.
    let type: String?
    let zoneID: RecordZone.ID
    let nameKey: String
    let isStrict: Bool
    /// The folder with the content of assets, as an export wrote it.
    let assetFolder: String?
    let batchRecords: Int
    let parallelCalls: Int
    /// How long a call may fail before the import gives up.
    let patience: Duration
    var progress: ProgressBar
    /// Told of lines that failed; nil means that they are told to people, on standard error.
    private let report: ((_ line: Int, _ error: any Error) -> Void)?

    private var summary = Summary()
    private var batch = Batch()
    /// Names in the batches under way: a line with one of them waits.
    private var underWay: Set<Record.ID> = []
    /// Fields whose types are known to the server, by a line that was saved.
    private var settled: Set<String> = []
    /// Records that wait for what later lines bring; their names, so that lines keep their order.
    private var early: [Record.ID: Refusal] = [:]
    private static let mostEarly = 50_000
    private var callCount = 0
    private let watch: ImportWatch
    /// The server doesn't know who is saving: it would refuse the rest too.
    private var isUnknown = false

    /// How long there may be no connection, unless the caller says more.
    package static let usualAbsence = Duration.seconds(30)

    /// - Parameters:
    ///   - patience: How long a call may take, repetitions included.
    ///   - absence: How long there may be no connection at all.
    ///   - report: Told of lines that failed, of three at most with one mistake; nil means that
    ///     people are told, on standard error.
    package init(
        lines: LineReader,
        type: String?,
        zoneID: RecordZone.ID = .default,
        nameKey: String = "recordName",
        isStrict: Bool = false,
        assetFolder: String? = nil,
        batchRecords: Int = 200,
        parallelCalls: Int = 4,
        patience: Duration,
        absence: Duration = Importer.usualAbsence,
        progress: ProgressBar,
        report: ((_ line: Int, _ error: any Error) -> Void)? = nil
    ) {
        self.lines = lines
        self.type = type
        self.zoneID = zoneID
        self.nameKey = nameKey
        self.isStrict = isStrict
        self.assetFolder = assetFolder
        self.batchRecords = batchRecords
        self.parallelCalls = parallelCalls
        self.patience = patience
        self.progress = progress
        self.report = report
        watch = ImportWatch(patience: absence, isJSON: report != nil)
    }

    /// Beside the batches it has the watch, which has no outcome.
    private typealias Calls = ThrowingTaskGroup<Outcome?, any Error>

    /// Reads all lines, or with `isStrict` those up to the first that fails.
    package mutating func run(into database: Database) async throws -> Summary {
        defer {
            progress.clear()
            // A program finds the counts in the summary.
            if report == nil { for line in summary.mistakes.rest { complain(line) } }
        }
        do {
            try await withThrowingTaskGroup(of: Outcome?.self) { calls in
                let watch = watch
                calls.addTask {
                    try await watch.run(database)
                    return nil
                }
                try await saveAll(&calls, database)
                calls.cancelAll()
            }
        } catch let error as ServiceError {
            throw error.ofImport(saved: watch.saved)
        }
        summary.seconds = progress.seconds
        return summary
    }

    private mutating func saveAll(_ calls: inout Calls, _ database: Database) async throws {
        while !mustStop, let line = try lines.next() {
            switch content(of: line) {
            case .record(let record)?: try await add(record, line.number, &calls, database)
            case .zone(let name)?:
                await save(line.number) { try await database.save(RecordZone(zoneName: name)) }
            case .subscription(let subscription)?:
                await save(line.number) { try await database.save(subscription) }
            case .passedOver?: summary.passedOver += 1
            case nil: break
            }
            progress.update(bytes: lines.byteCount, records: summary.saved)
        }
        try await finishCalls(&calls, database)
        try await saveEarly(&calls, database)
    }

    private var mustStop: Bool { isStrict && summary.failed > 0 || isUnknown }

    // MARK: Lines

    /// nil for an empty line, and for one that was reported as bad.
    private mutating func content(of line: LineReader.Line) -> DatabaseLine? {
        do {
            guard let bytes = line.bytes else {
                throw InputProblem("longer than \(LineReader.longestLine) bytes")
            }
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return nil }
            let json = try JSONReader.read(bytes)
            var content =
                try type.map {
                    DatabaseLine.record(
                        try Record(line: json, type: $0, zoneID: zoneID, nameKey: nameKey)
                    )
                } ?? DatabaseLine(json)
            if case .record(var record) = content, let assetFolder {
                record.takeFiles(from: assetFolder)
                content = .record(record)
            }
            return content
        } catch {
            let message =
                (error as? InputProblem)?.message
                ?? (error as? JSONReader.Problem)?.message ?? "\(error)"
            summary.badLines += 1
            tell(line.number, InputProblem(message), message)
            return nil
        }
    }

    /// Saves a zone or a subscription, again and again while the server is away or busy.
    private mutating func save(_ line: Int, _ body: () async throws -> Any) async {
        let end = ContinuousClock.now + patience
        while true {
            do {
                _ = try await body()
                return
            } catch let error as ServiceError where error.mayPass && ContinuousClock.now < end {
                let pause = Duration.milliseconds(error.retryAfterMilliseconds ?? 500)
                try? await Task.sleep(for: pause)
            } catch {
                summary.refused += 1
                return tell(line, error, "\(error)")
            }
        }
    }

    private mutating func tell(_ line: Int, _ error: any Error, _ message: String) {
        guard summary.mistakes.add(message, line: line) else { return }
        progress.clear()
        if let report { report(line, error) } else { complain("line \(line): \(message)") }
    }

    private mutating func refuse(_ refusals: some Sequence<Refusal>) {
        for refusal in refusals.sorted(by: { $0.line < $1.line }) {
            tell(refusal.line, refusal.error, "\(refusal.error)")
        }
    }

    // MARK: Records that came early

    /// Saves records again whose parents, or lists, came later, as long as that helps.
    ///
    /// An export is in the order of names, so chains run forwards or backwards: so do the rounds.
    private mutating func saveEarly(_ calls: inout Calls, _ database: Database) async throws {
        var isForwards = false
        var count = Int.max
        while !mustStop, !early.isEmpty, early.count < count {
            let waiting = early.values.sorted { ($0.line < $1.line) == isForwards }
            count = early.count
            early = [:]
            for refusal in waiting {
                try await add(refusal.record, refusal.line, &calls, database)
            }
            try await finishCalls(&calls, database)
            isForwards.toggle()
        }
        summary.refused += early.count
        refuse(early.values)
    }

    // MARK: Batches

    private mutating func add(
        _ record: Record,
        _ line: Int,
        _ calls: inout Calls,
        _ database: Database
    ) async throws {
        if batch.lines[record.recordID] != nil { try await send(&calls, database) }
        while underWay.contains(record.recordID) { try await finishCall(&calls) }
        if let earlier = early.removeValue(forKey: record.recordID) {
            // It must not come after this one.
            summary.refused += 1
            refuse([earlier])
        }
        let newKeys = record.decidingKeys.filter { !settled.contains($0) }
        batch.newKeys.formUnion(newKeys)
        batch.records.append(record)
        batch.lines[record.recordID] = line
        if batch.records.count == batchRecords { try await send(&calls, database) }
    }

    /// Starts the call of the batch at hand, when fewer than the allowed number are under way.
    ///
    /// One that decides the type of a field has no others beside it: the order of the lines is what
    /// counts, not which call arrives first.
    private mutating func send(_ calls: inout Calls, _ database: Database) async throws {
        guard !batch.records.isEmpty else { return }
        while callCount > 0, isDeciding { try await finishCall(&calls) }
        while callCount >= parallelCalls { try await finishCall(&calls) }
        let (batch, patience, watch, isAlone) = (batch, patience, watch, isDeciding)
        self.batch = Batch()
        underWay.formUnion(batch.lines.keys)
        callCount += 1
        watch.begin()
        calls.addTask {
            let outcome = try await Importer.save(batch, in: database, patience: patience)
            watch.end(saving: outcome.saved)
            return outcome
        }
        if isAlone { try await finishCall(&calls) }
    }

    /// Whether the batch at hand has the first value of a field.
    private var isDeciding: Bool { !batch.newKeys.isSubset(of: settled) }

    private mutating func finishCalls(_ calls: inout Calls, _ database: Database) async throws {
        try await send(&calls, database)
        while callCount > 0 { try await finishCall(&calls) }
    }

    private mutating func finishCall(_ calls: inout Calls) async throws {
        // The watch has no end before the group is cancelled, other than an error.
        guard let outcome = try await calls.next() ?? nil else { return }
        callCount -= 1
        underWay.subtract(outcome.batch.lines.keys)
        settle(outcome)
        summary.saved += outcome.saved
        var refusals = outcome.refusals
        if early.count + refusals.count <= Importer.mostEarly, !isStrict {
            for refusal in refusals where refusal.isEarly {
                early[refusal.record.recordID] = refusal
            }
            refusals.removeAll(where: \.isEarly)
        }
        summary.refused += refusals.count
        refuse(refusals)
        if outcome.isUnknown { isUnknown = true }
        progress.update(bytes: lines.byteCount, records: summary.saved)
    }

    /// The fields of what was saved have their types now.
    private mutating func settle(_ outcome: Outcome) {
        guard !outcome.batch.newKeys.isSubset(of: settled) else { return }
        let refused = Set(outcome.refusals.map(\.record.recordID))
        for record in outcome.batch.records where !refused.contains(record.recordID) {
            settled.formUnion(record.decidingKeys)
        }
    }

    // MARK: Calls

    /// Saves a batch, again and again while the server is away or busy.
    private static func save(
        _ batch: Batch,
        in database: Database,
        patience: Duration
    ) async throws -> Outcome {
        let end = ContinuousClock.now + patience
        while true {
            do {
                let errors = Dictionary(
                    try await refusals(batch.records[...], in: database)
                ) { first, _ in first }
                let refusals = batch.records.compactMap { record in
                    errors[record.recordID].map { error in
                        Refusal(
                            line: batch.lines[record.recordID] ?? 0,
                            record: record,
                            error: error
                        )
                    }
                }
                return Outcome(
                    batch: batch,
                    refusals: refusals,
                    isUnknown: refusals.contains { $0.error.isUnknownCaller }
                )
            } catch let error as ServiceError
                where error.mayPass && ContinuousClock.now < end
            {
                try await Task.sleep(for: .milliseconds(error.retryAfterMilliseconds ?? 500))
            }
        }
    }

    /// Saves records and returns the errors of the refused ones.
    private static func refusals(
        _ records: ArraySlice<Record>,
        in database: Database
    ) async throws -> [(Record.ID, any Error)] {
        do {
            let results = try await database.modifyRecords(
                saving: Array(records),
                deleting: [],
                savePolicy: .allKeys,
                atomically: false
            ).saveResults
            let refusals = results.compactMap { id, result in result.error.map { (id, $0) } }
            // A batch went in parts and one part failed: all of it is saved once more.
            for case (_, let error as ServiceError) in refusals where error.mayPass { throw error }
            let tooMuch = Set(refusals.filter { $0.1.isTooMuch }.map(\.0))
            if tooMuch.isEmpty || records.count == 1 { return refusals }
            // Records that merge policies change along made them too much for one batch.
            let rest = records.filter { tooMuch.contains($0.recordID) }[...]
            let parts =
                rest.count < records.count
                ? try await Importer.refusals(rest, in: database)
                : try await halves(of: rest, in: database)
            return refusals.filter { !tooMuch.contains($0.0) } + parts
        } catch let error as ServiceError where error.isTooMuch {
            // One record is too large to be sent: it is found by halving.
            guard records.count > 1 else { return records.map { ($0.recordID, error) } }
            return try await halves(of: records, in: database)
        }
    }

    private static func halves(
        of records: ArraySlice<Record>,
        in database: Database
    ) async throws -> [(Record.ID, any Error)] {
        let middle = (records.startIndex + records.endIndex) / 2
        return try await refusals(records[..<middle], in: database)
            + refusals(records[middle...], in: database)
    }
}

extension Record {
    fileprivate var hasEmptyList: Bool {
        decidingKeys.count < allKeys().count + encryptedValues.values.count
    }

    /// Fields with a value that tells their type, which an empty list doesn't.
    fileprivate var decidingKeys: [String] {
        let plain = allKeys().filter { self[$0] != .list([]) }
        let encrypted = encryptedValues.values.keys.filter { encryptedValues[$0] != .list([]) }
        return (plain + encrypted).map { "\(recordType)/\($0)" }
    }
}

extension Error {
    /// Fewer records at once may fit.
    fileprivate var isTooMuch: Bool { (self as? ServiceError)?.code == .limitExceeded }

    fileprivate var isUnknownCaller: Bool { (self as? ServiceError)?.code == .notAuthenticated }
}

extension ServiceError {
    /// The same call may succeed later: nothing was reached, or the server is busy or going down.
    var mayPass: Bool {
        switch code {
        // It is no use to wait for a node that was not there from the beginning.
        case .networkUnavailable: false
        case .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
            .serverResponseLost:
            true
        default: false
        }
    }
}
