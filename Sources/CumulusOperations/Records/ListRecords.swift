// Lists all records of a zone in the order of their names, a page at a time, from one snapshot.
//
// Driven by the session that streams the pages: it asks for the next one when the caller has room
// for it. Users' own records are not among them, nor those that the caller may not read: in the
// state that is listed, and in the newest one when the page is read.

package import CumulusModel
package import CumulusStorage

package struct ListRecords: Sendable {
    package var database: DatabaseScope
    package var zone: ZoneAddress
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?

    package init(database: DatabaseScope, zone: ZoneAddress, keys: [String]?) {
        self.database = database
        self.zone = zone
        self.keys = keys
    }

    package struct Page: Sendable {
        package private(set) var records: [RecordView] = []
        /// Where reading goes on; nil means at the end, or, of a page that was not begun, at the
        /// beginning.
        package fileprivate(set) var next: Bytes?
        fileprivate private(set) var byteCount = 0

        /// - Parameter start: Where the page before ended; nil means there was none.
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

    /// What the caller of a list that goes on may read by now.
    package struct Present: Sendable {
        fileprivate let access: AccessReader
        fileprivate let reader: ReadTransaction
    }

    /// Finds the zone.
    ///
    /// Fails with what the caller is to be told.
    ///
    /// - Parameter schemas: Of the state that all pages are read from.
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

    /// Asks anew, before a later page, what the caller may read of a zone that was opened; nil if
    /// that can't have changed.
    ///
    /// Fails if it sees nothing of the zone any more. Nobody takes a zone from its owner: what is
    /// listed there is of one moment, also if the zone is deleted meanwhile.
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

    /// Records that are looked at in one turn on a reader thread.
    private static let turn = 1_024

    /// Goes on with a page for one turn; returns whether the page is done.
    ///
    /// Only what is told fills a page, and there is a next one only if something is left to tell:
    /// pages say nothing of the records between, dead ones and those that are not the caller's.
    ///
    /// - Parameter present: nil for the first turn.
    package func read(
        _ page: inout Page,
        of opened: Opened,
        byteLimit: Int,
        in reader: ReadTransaction,
        asking present: Present? = nil
    ) throws(EngineError) -> Bool {
        guard let number = opened.zone.number else { return true }
        var range = KeyRange.records(of: number)
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
        // Users' records are fetched by name, and found by nobody else.
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
