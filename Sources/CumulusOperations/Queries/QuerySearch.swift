// Finds the positions of a page's records, on the way that has the fewest records to look at.
//
// The way is chosen during the search. Ways that hold all results are counted a little at a time,
// while the way in the order of results is walked as far. The one that ends first was the shortest,
// or nearly: the walk goes at most twice as far as the shortest count, and counting reads index
// rows only. So no statistics have to be kept. A long search ends its turn on a reader thread and
// goes on later where it was. Records whose index rows are owed are looked up by name first, and
// skipped on every way. hot: once per record that is looked at.

import CumulusModel
import CumulusStorage

struct QuerySearch: Sendable {
    private let query: BoundQuery
    private let scope: ScopeNumber
    private let plan: QueryPlan
    /// Only results after this position count.
    private let start: ResultPosition?
    /// The position from which distances are measured.
    ///
    /// In such a query the distance alone decides about most rows: they are too far, or after the
    /// page.
    private let nearest: BoundQuery.Nearest?
    /// The names of all records that the caller may read, if they are few; the plan may name fewer.
    private let names: [String]?
    /// Decides about each record that satisfies the predicate; nil if the caller sees the whole
    /// zone.
    private let access: AccessReader?
    var results: SortedResults
    var work = QueryRecords.Work()
    var effort: QueryEffort
    /// The index of the zone that is searched; earlier zones are done.
    private var zone = 0
    private var part: Part?

    /// The cost of a record, in steps of a comparison; `rowSteps` is that of an index row.
    private static let recordSteps = 20
    static let rowSteps = 4
    /// Index rows that are counted before the walk begins.
    private let firstStretch: Int
    /// Always false in a node.
    private let ignoresOwed: Bool

    init(
        query: BoundQuery,
        scope: ScopeNumber,
        plan: QueryPlan,
        names: [String]?,
        limit: Int,
        start: ResultPosition?,
        access: AccessReader?,
        firstStretch: Int,
        steps: (limit: Int, turn: Int),
        ignoresOwed: Bool,
        circumstances: QueryRecords.Circumstances
    ) {
        self.query = query
        self.scope = scope
        self.plan = plan
        self.start = start
        self.names = plan.names ?? names
        self.access = access
        // A record that the caller may not read must not be counted by its distance alone.
        nearest = access == nil ? query.nearest : nil
        self.firstStretch = firstStretch
        self.ignoresOwed = ignoresOwed
        effort = QueryEffort(
            limit: steps.limit,
            turnSteps: steps.turn,
            refusal: circumstances.refusal
        )
        // The search finds one more than the page holds, to tell whether there is a next page.
        results = SortedResults(limit: limit + 1, sortKeys: query.sortKeys)
    }

    /// Searches for one turn; returns true if all zones have been searched.
    mutating func goOn(in zones: [FoundZone], _ reader: ReadTransaction) throws -> Bool {
        effort.beginTurn()
        while zone < zones.count {
            if var part = try part.take() ?? begin(in: zones[zone], reader) {
                while try !advance(&part) {
                    guard effort.isTurnOver else { continue }
                    self.part = part
                    return false
                }
            }
            zone += 1
        }
        return true
    }

    private func begin(in zone: FoundZone, _ reader: ReadTransaction) throws -> Part? {
        guard let number = zone.number else { return nil }
        let before = (results, work.rowsKept)
        var part = Part(zone: zone, number: number, reader: reader, before: before)
        if let names {
            part.way = .names(names[...])
            return part
        }
        let owed = ignoresOwed ? [] : try reader.owedRecords(in: number, of: scope)
        part.owed = Set(owed)
        part.way = owed.isEmpty ? firstWay(in: part) : .owed(owed[...])
        return part
    }

    mutating func spend(onRow row: Bytes) throws(ServiceError) {
        try effort.spend(QuerySearch.recordSteps + row.count / 64)
    }

    /// The search of one zone.
    struct Part {
        let zone: FoundZone
        let number: ZoneNumber
        var reader: ReadTransaction
        var way = Way.walk
        /// The results of the zones before it, and of its owed records.
        var before: (results: SortedResults, rowsKept: UInt64)
        /// Names of the records whose index rows are owed, and don't count.
        var owed: Set<String> = []
        /// Where the walk through the records is.
        var next: Bytes?
        /// Where the walk through an index is.
        var rows: Stretches?
        /// How many of the next names were read ahead.
        var namesAhead = 0
    }

    // MARK: Ways

    /// How a zone is searched, and what is left of the way.
    enum Way {
        case names(ArraySlice<String>)
        /// Records whose index rows are owed; another way follows.
        case owed(ArraySlice<String>)
        /// Several ways, of which the shortest is to be found.
        case race([IndexCount], stretch: Int)
        case rows(IndexAccess, Stretches)
        /// Rows of cells, most of which are too far.
        case cells(IndexAccess, BoundQuery.Nearest, ArraySlice<Cells>)
        case walk
    }

    struct Cells {
        let definition: IndexDefinition
        var keys: KeyRange
    }

    private func firstWay(in part: Part) -> Way {
        let accesses = plan.accesses
        if accesses.isEmpty { return .walk }
        if plan.walk == nil, accesses.count == 1 { return way(through: accesses[0], in: part) }
        return .race(accesses.map { IndexCount($0, in: part.number) }, stretch: firstStretch)
    }

    private func way(through access: IndexAccess, in part: Part) -> Way {
        guard access.isCovering, part.owed.isEmpty, let nearest else {
            return .rows(access, Stretches(rows: IndexRows(access, in: part.number)))
        }
        let cells = access.ranges.map {
            Cells(definition: $0.index.definition, keys: $0.keys(in: part.number))
        }
        return .cells(access, nearest, cells[...])
    }

    /// Searches the zone until the turn is over at most; returns true if the zone has been
    /// searched.
    private mutating func advance(_ part: inout Part) throws -> Bool {
        // The way must have no other owner, or it would be copied.
        let way = part.way
        part.way = .walk
        switch way {
        case .names(var names): return try lookUp(&names, &part)
        case .owed(var names): return try lookUpOwed(&names, &part)
        case .race(var counts, let stretch): return try race(&counts, stretch, &part)
        case .rows(let access, var rows): return try take(access, &rows, &part)
        case .cells(let access, let nearest, var cells):
            return try take(access, nearest, &cells, &part)
        case .walk: return try walk(.max, &part)
        }
    }

    private mutating func race(
        _ counts: inout [IndexCount],
        _ stretch: Int,
        _ part: inout Part
    ) throws -> Bool {
        for index in counts.indices {
            guard try isWithin(stretch, &counts[index], part) else { continue }
            try effort.check(counts[index].count, times: QuerySearch.rowSteps + query.nodes.count)
            (results, work.rowsKept) = part.before
            part.way = way(through: plan.accesses[index], in: part)
            return false
        }
        if try walk(stretch, &part) { return true }
        part.way = .race(counts, stretch: effort.isTurnOver ? stretch : 2 * stretch)
        return false
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

    private mutating func lookUp(
        _ names: inout ArraySlice<String>,
        _ part: inout Part
    ) throws -> Bool {
        let count = self.names?.count ?? 0
        work.plan = count == 1 ? "look up one name" : "look up \(count) names"
        while !names.isEmpty {
            try readAhead(names, &part)
            let name = names.removeFirst()
            try effort.spend(QuerySearch.recordSteps)
            if let row = try part.reader.get(.record(part.number, name)) {
                _ = try look(at: row, named: name, part)
            }
            guard effort.isTurnOver else { continue }
            part.way = .names(names)
            return false
        }
        return true
    }

    /// Looks up records that no index leads to; then another way follows.
    private mutating func lookUpOwed(
        _ names: inout ArraySlice<String>,
        _ part: inout Part
    ) throws -> Bool {
        while !names.isEmpty {
            try readAhead(names, &part)
            let name = names.removeFirst()
            try effort.spend(QuerySearch.recordSteps)
            try lookUpOwed(name, part)
            guard effort.isTurnOver else { continue }
            part.way = .owed(names)
            return false
        }
        part.before = (results, work.rowsKept)
        part.way = firstWay(in: part)
        return false
    }

    private mutating func lookUpOwed(_ name: String, _ part: Part) throws {
        let key = RowKey.record(part.number, name)
        guard let row = try part.reader.get(key) else { return }
        let type = try part.reader.decoding(key.bytes) { () throws(MalformedBytes) in
            try RecordRow.livingType(in: row)
        }
        // The work that is told must not depend on the owed rows of other types.
        if type == query.recordType { _ = try look(at: row, named: name, part) }
    }

    /// Reads the rows of an access.
    private mutating func take(
        _ access: IndexAccess,
        _ rows: inout Stretches,
        _ part: inout Part
    ) throws -> Bool {
        describe(access)
        while !effort.isTurnOver {
            let most = ReadTransaction.stretch
            guard let entry = try next(of: access, &rows, most, &part) else { return true }
            _ = try look(at: entry, access, part)
        }
        part.way = .rows(access, rows)
        return false
    }

    mutating func describe(_ access: IndexAccess) {
        let count = access.ranges.count
        let ranges = count == 1 ? "a range" : "\(count) ranges"
        work.plan = "read \(ranges) of the index on \(access.fields)"
        if access.ranges.isEmpty { work.plan = "nothing can satisfy the predicate" }
    }

    /// Looks at the next records in the order of results, `stretch` of them at most, until the turn
    /// is over.
    ///
    /// Returns true if the page has what it needs.
    private mutating func walk(_ stretch: Int, _ part: inout Part) throws -> Bool {
        switch plan.walk {
        case nil:
            // The records are walked if there is no other way; else only the counts go on.
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
        let start = start?.firstRow(of: query)
        var rows =
            part.rows ?? Stretches(rows: IndexRows(access, in: part.number, from: start))
        part.rows = nil
        for _ in 0..<stretch {
            if effort.isTurnOver { break }
            // No more than the page may need.
            let most = results.limit - results.results.count
            guard let entry = try next(of: access, &rows, most, &part) else { return true }
            if results.isFull, isBehindPage(entry, access) { return true }
            _ = try look(at: entry, access, part)
        }
        part.rows = rows
        return false
    }

    /// Whether this row and all later ones come after the last result of the page.
    private func isBehindPage(_ entry: IndexEntry, _ access: IndexAccess) -> Bool {
        guard let last = results.last else { return false }
        guard let key = query.sortKeys.first else { return last.isBefore(entry.nameBytes) }
        let order = ResultPosition.order(entry.value, last.keys[0])
        if order != 0 { return key.ascending ? order > 0 : order < 0 }
        // Further sort keys decide among records with one value.
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
                guard room > 0, !effort.isTurnOver else {
                    (isDone, range.start) = (false, key)
                    return false
                }
                room -= 1
                if part.owed.contains(name) { return true }
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
    mutating func look(
        at entry: IndexEntry,
        _ access: IndexAccess,
        _ part: Part
    ) throws -> Bool {
        work.rowsRead += 1
        try effort.spend(QuerySearch.rowSteps)
        if !part.owed.isEmpty, part.owed.contains(entry.name) { return false }
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

    /// - Parameter view: The record, if it was read already.
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
        let position = try candidate.position(in: part.zone.zone.name, by: query.sortKeys)
        if let start, !start.precedes(position, by: query.sortKeys) { return false }
        if results.add(position, view) { work.rowsKept += 1 }
        return true
    }

    /// Whether the first sort key alone puts a record after a full page, as it does for most.
    private func comesTooLate(_ candidate: inout Candidate) throws -> Bool {
        guard results.isFull, let key = query.sortKeys.first, let last = results.lastKey else {
            return false
        }
        let order = ResultPosition.order(try candidate.sorted(by: key), last)
        return key.ascending ? order > 0 : order < 0
    }
}
