// Finds the places of a page's records: looks at records on the shortest way that the plan knows.
//
// Which way that is shows while it is gone: the ways that hold all results are counted, a little at
// a time, while the way in the order of results is walked as far. Whichever ends first was the
// shortest, or nearly: the walk goes at most twice as far as the shortest count, and counting reads
// index rows only. So no statistics have to be kept. hot: once per record that is looked at.

import CumulusModel
import CumulusStorage

struct QuerySearch {
    private let query: BoundQuery
    private let plan: QueryPlan
    /// Only what comes behind it counts.
    private let start: ResultPlace?
    /// Of most rows of such a query their distance says all: they are too far, or behind the page.
    private let nearest: BoundQuery.Nearest?
    /// All that the caller may read, if that is little; the plan may know fewer.
    private let names: [String]?
    /// Asked for each record that satisfies the predicate; nil: the caller may read all.
    private let access: AccessReader?
    private(set) var results: SortedResults
    private(set) var work = QueryRecords.Work()
    private var effort: QueryEffort

    /// What a record costs, in steps of a comparison; and an index row.
    private static let recordSteps = 20
    private static let rowSteps = 4
    /// Rows that are counted before anything is walked.
    private let firstStretch: Int

    init(
        query: BoundQuery,
        plan: QueryPlan,
        names: [String]?,
        limit: Int,
        start: ResultPlace?,
        access: AccessReader?,
        firstStretch: Int,
        circumstances: QueryRecords.Circumstances
    ) {
        self.query = query
        self.plan = plan
        self.start = start
        self.names = plan.names ?? names
        self.access = access
        // What may not be read must not be counted by its distance alone.
        nearest = access == nil ? query.nearest : nil
        self.firstStretch = firstStretch
        effort = QueryEffort(refusal: circumstances.refusal)
        // One more than the page holds: it tells whether there is a next one.
        results = SortedResults(limit: limit + 1, sortKeys: query.sortKeys)
    }

    mutating func read(_ zone: FoundZone, _ reader: ReadTransaction) throws {
        guard let number = zone.number else { return }
        var part = Part(zone: zone, number: number, reader: reader)
        if let names { return try lookUp(names, &part) }
        try race(&part)
    }

    mutating func spend(onRow row: Bytes) throws(ServiceError) {
        try effort.spend(QuerySearch.recordSteps + row.count / 64)
    }

    /// A zone that is searched.
    private struct Part {
        let zone: FoundZone
        let number: ZoneNumber
        let reader: ReadTransaction
        /// Where the walk through its records is.
        var next: Bytes?
        /// Where the walk through an index is.
        var rows: IndexRows?
    }

    // MARK: Ways

    private mutating func race(_ part: inout Part) throws {
        let (before, kept) = (results, work.rowsKept)
        var counts = plan.accesses.map { IndexCount($0, in: part.number) }
        guard !counts.isEmpty else { return try walkAll(&part) }
        if plan.walk == nil, counts.count == 1 { return try take(plan.accesses[0], part) }
        var stretch = firstStretch
        while true {
            for index in counts.indices {
                guard try isWithin(stretch, &counts[index], part) else { continue }
                (results, work.rowsKept) = (before, kept)
                return try take(plan.accesses[index], part)
            }
            if try walk(stretch, &part) { return }
            stretch *= 2
        }
    }

    private mutating func isWithin(
        _ stretch: Int,
        _ count: inout IndexCount,
        _ part: Part
    ) throws -> Bool {
        let before = count.count
        defer { work.rowsRead += UInt64(count.count - before) }
        return try count.isWithin(stretch, part.reader, &effort)
    }

    private mutating func lookUp(_ names: [String], _ part: inout Part) throws {
        work.plan = names.count == 1 ? "look up one name" : "look up \(names.count) names"
        for name in names {
            try effort.spend(QuerySearch.recordSteps)
            guard let row = try part.reader.get(.record(part.number, name)) else { continue }
            _ = try look(at: row, named: name, part)
        }
    }

    /// Reads all rows of an access.
    private mutating func take(_ access: IndexAccess, _ part: Part) throws {
        let count = access.ranges.count
        let ranges = count == 1 ? "a range" : "\(count) ranges"
        work.plan = "read \(ranges) of the index on \(access.fields)"
        if access.ranges.isEmpty { work.plan = "nothing can satisfy the predicate" }
        if access.isCovering, let nearest { return try take(access, nearest, part) }
        var rows = IndexRows(access, in: part.number)
        while let entry = try rows.next(part.reader, &effort) {
            _ = try look(at: entry, access, part)
        }
    }

    /// Reads all rows of cells, and takes apart those that may be on the page.
    private mutating func take(
        _ access: IndexAccess,
        _ nearest: BoundQuery.Nearest,
        _ part: Part
    ) throws {
        for range in access.ranges {
            var failure: (any Error)?
            try part.reader.lendRows(.index, range.keys(in: part.number)) { key, value in
                do {
                    if let metres = IndexEntry.distance(from: nearest.place, to: value),
                        try isSettled(metres, nearest)
                    {
                        return true
                    }
                    let definition = range.index.definition
                    let (key, value) = (Bytes(key), Bytes(value))
                    let entry = try IndexEntry(definition, key: key, value: value)
                    _ = try look(at: entry, access, part)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
        }
    }

    /// Whether all is said about a row: its place is too far, or behind a full page.
    private mutating func isSettled(
        _ metres: Double,
        _ nearest: BoundQuery.Nearest
    ) throws -> Bool {
        let isNear = nearest.reaches(metres)
        guard !isNear || comesTooLate(metres) else { return false }
        work.rowsRead += 1
        if isNear { work.rowsKept += 1 }
        try effort.spend(QuerySearch.rowSteps)
        return true
    }

    private mutating func walkAll(_ part: inout Part) throws {
        while try !walk(.max, &part) {}
    }

    /// Looks at the next records in the order of the results; true: the page has what it needs.
    private mutating func walk(_ stretch: Int, _ part: inout Part) throws -> Bool {
        switch plan.walk {
        case nil:
            // The way through everything, if there is no other; else the counts go on alone.
            guard plan.accesses.isEmpty else { return false }
            work.plan = "read all records of the zone"
            return try walkRecords(stretch, stopsWhenFull: false, &part)
        case .records:
            work.plan = "read records by name until the page is full"
            return try walkRecords(stretch, stopsWhenFull: true, &part)
        case .index(let access):
            work.plan = "read in order by the index on \(access.fields) until the page is full"
            return try walk(access, stretch, &part)
        }
    }

    private mutating func walk(
        _ access: IndexAccess,
        _ stretch: Int,
        _ part: inout Part
    ) throws -> Bool {
        var rows = part.rows ?? IndexRows(access, in: part.number, from: firstRow)
        part.rows = nil
        for _ in 0..<stretch {
            guard let entry = try rows.next(part.reader, &effort) else { return true }
            if results.isFull, isBehindPage(entry, access) { return true }
            _ = try look(at: entry, access, part)
        }
        part.rows = rows
        return false
    }

    /// nil means the first row of all.
    private var firstRow: IndexRows.Start? {
        guard let start else { return nil }
        let value = start.keys.first ?? nil
        // The column had another type when the cursor was made.
        if let value, let type = query.sortKeys.first?.column.type, !value.fits(type) { return nil }
        return IndexRows.Start(
            value: value,
            name: start.name,
            isExact: query.sortKeys.count <= 1
        )
    }

    /// Whether nothing from this row on can come before the last result.
    private func isBehindPage(_ entry: IndexEntry, _ access: IndexAccess) -> Bool {
        guard let last = results.last else { return false }
        guard let key = query.sortKeys.first else { return last.isBefore(entry.nameBytes) }
        let order = ResultPlace.order(entry.value, last.keys[0])
        if order != 0 { return key.ascending ? order > 0 : order < 0 }
        // Other keys decide among records of one value.
        guard query.sortKeys.count == 1 else { return false }
        return key.ascending ? last.isBefore(entry.nameBytes) : last.isBehind(entry.nameBytes)
    }

    private mutating func walkRecords(
        _ stretch: Int,
        stopsWhenFull: Bool,
        _ part: inout Part
    ) throws -> Bool {
        var range = KeyRange.records(of: part.number)
        if stopsWhenFull, let start {
            range.start = RowKey.record(part.number, start.name).bytes
        }
        if let next = part.next { range.start = next }
        var room = stretch
        var isDone = true
        var failure: (any Error)?
        try part.reader.scan(.records, range, backwards: false) { [part] key, row in
            do {
                let name = try QuerySearch.name(in: key)
                if stopsWhenFull, results.isFull,
                    results.last?.isBefore(ArraySlice(name.utf8)) == true
                {
                    return false
                }
                guard room > 0 else {
                    (isDone, range.start) = (false, key)
                    return false
                }
                room -= 1
                _ = try look(at: row, named: name, part)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        part.next = range.start
        return isDone
    }

    private static func name(in key: Bytes) throws(EngineError) -> String {
        var parts = KeyReader(key)
        try parts.skip(4)
        return try parts.text()
    }

    // MARK: Records

    /// Whether the record of an index row is a result.
    private mutating func look(
        at entry: IndexEntry,
        _ access: IndexAccess,
        _ part: Part
    ) throws -> Bool {
        work.rowsRead += 1
        try effort.spend(QuerySearch.rowSteps)
        if access.isCovering, entry.isWhole {
            var candidate = Candidate(entry)
            return try look(at: &candidate, nil, part)
        }
        let name = entry.name
        guard let row = try part.reader.get(.record(part.number, name)) else {
            throw EngineError.corrupt("an index names the record '\(name)', which is gone")
        }
        return try look(at: row, named: name, part)
    }

    private mutating func look(at row: Bytes, named name: String, _ part: Part) throws -> Bool {
        work.rowsRead += 1
        try spend(onRow: row)
        do {
            guard let view = try RecordView(row: row, name: name, keys: nil) else { return false }
            var candidate = try Candidate(view)
            return try look(at: &candidate, view, part)
        } catch let error as MalformedBytes {
            throw EngineError.corrupt("the record '\(name)' is damaged: \(error.reason)")
        }
    }

    /// - Parameter view: The record, if it was read.
    private mutating func look(
        at candidate: inout Candidate,
        _ view: RecordView?,
        _ part: Part
    ) throws -> Bool {
        guard try candidate.satisfies(query, &effort) else { return false }
        if let access, try !access.reads(candidate.name, of: query.recordType, part.reader) {
            return false
        }
        if try comesTooLate(&candidate) {
            work.rowsKept += 1
            return true
        }
        let place = try candidate.place(in: part.zone.zone.name, by: query.sortKeys)
        if let start, !start.precedes(place, by: query.sortKeys) { return false }
        if results.add(place, view) { work.rowsKept += 1 }
        return true
    }

    /// Whether all of a full page is nearer.
    private func comesTooLate(_ metres: Double) -> Bool {
        guard results.isFull, case .double(let last)?? = results.lastKey else { return false }
        return metres > last
    }

    /// Whether the first sort key alone says that it comes behind a full page: of a long way most
    /// do.
    private func comesTooLate(_ candidate: inout Candidate) throws -> Bool {
        guard results.isFull, let key = query.sortKeys.first, let last = results.lastKey else {
            return false
        }
        let order = ResultPlace.order(try candidate.sorted(by: key), last)
        return key.ascending ? order > 0 : order < 0
    }
}

/// The first results in their order, at most so many.
struct SortedResults {
    struct Result {
        var place: ResultPlace
        /// The record, if it was read and there was room for it; else it is read for the page.
        var record: KeptRecord?
    }

    /// Apart, so that results are small: they are moved often.
    final class KeptRecord: Sendable {
        let view: RecordView

        init(_ view: RecordView) { self.view = view }
    }

    private(set) var results: [Result] = []
    let limit: Int
    let sortKeys: [BoundQuery.SortKey]
    /// What the fields of all records that are kept may take together.
    private var room = 4 << 20

    init(limit: Int, sortKeys: [BoundQuery.SortKey]) {
        self.limit = limit
        self.sortKeys = sortKeys
    }

    /// Only what comes before the last place is wanted any more.
    var isFull: Bool { results.count >= limit }

    var last: ResultPlace? { results.last?.place }

    /// The first sort key of the last place.
    var lastKey: ComparableValue?? { results.last?.place.keys.first }

    /// Whether it is another one than those that are here.
    mutating func add(_ place: ResultPlace, _ view: RecordView?) -> Bool {
        var (low, high) = (0, results.count)
        if let last, last.precedes(place, by: sortKeys) {
            // Of a long way most come too late.
            if isFull { return true }
            // On a way in the order of results each comes behind the last one.
            low = high
        }
        while low < high {
            let middle = (low + high) / 2
            if results[middle].place.precedes(place, by: sortKeys) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        if low < results.count, !place.precedes(results[low].place, by: sortKeys) { return false }
        let kept = view.flatMap { $0.fields.count <= room ? KeptRecord($0) : nil }
        room -= kept?.view.fields.count ?? 0
        results.insert(Result(place: place, record: kept), at: low)
        if results.count > limit { room += results.removeLast().record?.view.fields.count ?? 0 }
        return true
    }
}
