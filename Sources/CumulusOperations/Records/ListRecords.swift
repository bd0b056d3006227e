// Lists all records of a zone in the order of their names, a page at a time, from one snapshot.
//
// Called by the session that streams the pages: it asks for the next page when the caller has room
// for it. Two kinds of records are left out: users' own records, and records that the caller may
// not read, either in the listed state or in the newest one when the page is read.

package import CumulusModel
package import CumulusStorage

package struct ListRecords: Sendable {
    package var database: DatabaseScope
    package var zone: ZoneAddress
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?
    /// The record name behind which the list begins; nil means that it begins with the first.
    package var after: String?

    package init(database: DatabaseScope, zone: ZoneAddress, keys: [String]?) {
        self.database = database
        self.zone = zone
        self.keys = keys
    }

    package struct Page: Sendable {
        package private(set) var records: [RecordView] = []
        /// Where reading goes on; nil at the end, or, for a page that was not begun, at the
        /// beginning.
        package fileprivate(set) var next: Bytes?
        fileprivate private(set) var byteCount = 0

        /// - Parameter start: Where the page before ended; nil if there was none.
        package init(from start: Bytes? = nil) { next = start }

        fileprivate mutating func add(_ record: RecordView) {
            byteCount += 128 + record.fields.count
            records.append(record)
        }
    }

    /// The zone that is listed, and what its caller may read.
    package struct Opened: Sendable {
        fileprivate let zone: FoundZone
        fileprivate let access: AccessReader
        fileprivate let caller: Caller
    }

    /// What the caller may read now, for a list that goes on.
    package struct Present: Sendable {
        fileprivate let access: AccessReader
        fileprivate let reader: ReadTransaction
    }

    /// Finds the zone.
    ///
    /// Throws the error for the caller.
    ///
    /// - Parameter schemas: The schemas of the state that all pages are read from.
    package func open(
        _ scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Opened {
        do {
            let database = try Authorisation.database(self.database, for: caller)
            guard let found = try reader.find(zone, in: database, of: scope, by: caller) else {
                throw ServiceError.zoneNotFound(zone, in: self.database)
            }
            let access = try AccessReader(to: found, of: scope, by: caller, schemas, reader)
            return Opened(zone: found, access: access, caller: caller)
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Checks again, before a later page, what the caller may read of an opened zone; nil if that
    /// can't have changed.
    ///
    /// Throws if the caller sees nothing of the zone any more. Owners keep their right to their
    /// zones: what is listed there is of one moment, even if the zone is deleted meanwhile.
    ///
    /// - Parameter reader: The newest state.
    package func askAgain(
        _ opened: Opened,
        _ scope: ScopeNumber,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Present? {
        if opened.zone.rights == .own { return nil }
        let now = try open(scope, by: opened.caller, in: reader, schemas: schemas)
        guard now.zone.zone == opened.zone.zone else {
            throw .service(.zoneNotFound(zone, in: database))
        }
        return Present(access: now.access, reader: reader)
    }

    /// The most records that one turn on a reader thread looks at.
    private static let turn = 1_024

    /// Reads for one turn; returns whether the page is done.
    ///
    /// Only what is told fills a page, and there is a next page only if something is left to tell.
    /// So pages say nothing of dead records, or of records that the caller may not read.
    ///
    /// - Parameter present: What the caller may read now; nil for the first turn.
    package func read(
        _ page: inout Page,
        of opened: Opened,
        byteLimit: Int,
        in reader: ReadTransaction,
        asking present: Present? = nil
    ) throws(EngineError) -> Bool {
        guard let number = opened.zone.number else { return true }
        var range = KeyRange.records(of: number, after: after, through: nil)
        if let start = page.next { range.start = start }
        page.next = nil
        var looks = 0
        var damage: EngineError?
        try reader.scan(.records, range, backwards: false) { key, value in
            if looks == ListRecords.turn {
                page.next = key
                return false
            }
            looks += 1
            do throws(EngineError) {
                guard let record = try view(key, value, of: opened, reader, present) else {
                    return true
                }
                if page.byteCount >= byteLimit {
                    page.next = key
                    return false
                }
                page.add(record)
                return true
            } catch {
                damage = error
                return false
            }
        }
        if let damage { throw damage }
        return page.next == nil || looks < ListRecords.turn
    }

    /// Reads records from `start` on, until `byteLimit` is reached.
    package func page(
        of opened: Opened,
        from start: Bytes?,
        byteLimit: Int,
        in reader: ReadTransaction,
        asking present: Present? = nil
    ) throws(EngineError) -> Page {
        var page = Page(from: start)
        while !(try read(&page, of: opened, byteLimit: byteLimit, in: reader, asking: present)) {}
        return page
    }

    private func view(
        _ key: Bytes,
        _ value: Bytes,
        of opened: Opened,
        _ reader: ReadTransaction,
        _ present: Present?
    ) throws(EngineError) -> RecordView? {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        let name = try parts.text()
        // Users' records are fetched by name, and not listed.
        if Names.isUserRecordName(name) { return nil }
        let view = try reader.decoding(key) { () throws(MalformedBytes) in
            try opened.zone.showing(keys) { (keys) throws(MalformedBytes) in
                try RecordView(row: value, name: name, keys: keys)
            }
        }
        guard let view, try opened.access.refusal(of: view, reader) == nil,
            try present.map({ present throws(EngineError) in
                try present.access.stillAllows(view, present.reader)
            }) ?? true
        else { return nil }
        return try reader.completed(view, in: opened.zone, for: opened.caller)
    }
}
