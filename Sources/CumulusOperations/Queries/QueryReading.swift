// A page of a query that is read from one snapshot, in turns, so that other reads come in between.
//
// Begun by `QueryRecords`, and run on a reader thread. The search takes as many turns as it needs;
// then the bodies of the page's records are read.

package import CumulusModel
import CumulusStorage

package struct QueryReading: Sendable {
    let request: QueryRecords
    let scope: ScopeID
    let number: ScopeNumber
    let database: DatabaseID
    let caller: Caller
    let rights: QueryRecords.Rights
    /// Whether the cost of the search may be told, see `QueryRecords.Page`.
    let tellsWork: Bool
    var reader: ReadTransaction
    var search: QuerySearch

    package var databaseScope: DatabaseScope { request.database }

    /// Works for one turn; returns nil if the page takes more turns.
    package mutating func next() throws(ReadFailure) -> QueryRecords.Page? {
        do {
            guard try search.goOn(in: rights.zones, reader) else { return nil }
            return try page()
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Whether the caller may find the same in another state.
    ///
    /// In a newer state it may no longer have the right to what the page shows.
    package func isAllowed(in state: QueryRecords.State) throws(ReadFailure) -> Bool {
        do {
            return try request.rights(number, caller, in: state) == rights
        } catch {
            throw ReadFailure(error)
        }
    }

    // MARK: The page

    private mutating func page() throws -> QueryRecords.Page {
        var page = QueryRecords.Page(work: search.work, tellsWork: tellsWork)
        if rights.zones.count > 1 {
            page.work.plan += " (in the last of \(rights.zones.count) zones)"
        }
        if request.counts {
            page.count = search.work.rowsKept
            return page
        }
        guard let last = try fill(&page) else { return page }
        page.next = QueryCursor(
            scope: scope,
            database: database,
            caller: caller.role,
            question: request.question,
            seen: try reader.runs(of: number).shortVector,
            truncation: try reader.truncation(of: number),
            position: last
        )
        return page
    }

    /// Reads the records' bodies until the page is full.
    ///
    /// Returns the position after which the next page begins; nil if this is the last page.
    private mutating func fill(_ page: inout QueryRecords.Page) throws -> ResultPosition? {
        let results = search.results.results
        try readAhead(results)
        var byteCount = 0
        for result in results.prefix(request.limit) {
            if byteCount >= request.limits.answerBytes { break }
            let position = result.position
            guard let zone = zone(of: result), let found = try view(result, zone) else {
                throw EngineError.corrupt("a record that was found is not there")
            }
            let view = try reader.completed(found, in: zone, for: caller)
            byteCount += view.fields.count
            let owner = zone.rights.view == nil ? "" : zone.zone.database.owner
            page.records.append((ZoneAddress(name: position.zone, owner: owner), view))
        }
        guard page.records.count < results.count else { return nil }
        return results[page.records.count - 1].position
    }

    /// Reads the records together that the search did not keep.
    private mutating func readAhead(_ results: [SortedResults.Result]) throws(EngineError) {
        var keys: [RowKey] = []
        for result in results.prefix(request.limit) where result.record == nil {
            guard let number = zone(of: result)?.number else { continue }
            keys.append(.record(number, result.position.name))
        }
        try reader.readAhead(keys, byteLimit: request.limits.answerBytes)
    }

    private func zone(of result: SortedResults.Result) -> FoundZone? {
        let spelling = result.position.zone.utf8
        return rights.zones.first { $0.zone.name.utf8.elementsEqual(spelling) }
    }

    /// A record as the caller sees it; nil if it is gone.
    private mutating func view(
        _ result: SortedResults.Result,
        _ zone: FoundZone
    ) throws -> RecordView? {
        let name = result.position.name
        if let known = result.record?.view {
            return try zone.showing(request.keys) { (keys) throws(MalformedBytes) in
                guard let keys else { return known }
                var view = known
                view.fields = try RecordBody(stored: known.fields).selecting(keys).bytes
                return view
            }
        }
        guard let number = zone.number, let row = try reader.get(.record(number, name)) else {
            return nil
        }
        try search.spend(onRow: row)
        return try zone.showing(request.keys) { (keys) throws(MalformedBytes) in
            try RecordView(row: row, name: name, keys: keys)
        }
    }
}
