// Lists all records of a zone in the order of their names, a page at a time, from one snapshot.
//
// Driven by the session that streams the pages: it asks for the next one when the caller has room
// for it. Users' own records are not among them, nor those that the caller may not read.

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
            guard let found = try reader.findShown(zone, in: database, of: scope, by: caller) else {
                throw ServiceError.zoneNotFound(zone, in: self.database)
            }
            let access = try AccessReader(to: found, of: scope, by: caller, schemas, reader)
            return Opened(zone: found, access: access, caller: caller)
        } catch {
            throw ReadFailure(error)
        }
    }

    /// Records that are looked at in one turn on a reader thread.
    private static let turn = 1_024

    /// Goes on with a page for one turn; returns whether the page is done.
    ///
    /// Only what is told fills a page, and there is a next one only if something is left to tell:
    /// pages say nothing of the records between, dead ones and those that are not the caller's.
    package func read(
        _ page: inout Page,
        of opened: Opened,
        byteLimit: Int,
        in reader: ReadTransaction
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
                guard let record = try view(key, value, of: opened, reader) else { return true }
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
        in reader: ReadTransaction
    ) throws(EngineError) -> Page {
        var page = Page(from: start)
        while !(try read(&page, of: opened, byteLimit: byteLimit, in: reader)) {}
        return page
    }

    private func view(
        _ key: Bytes,
        _ value: Bytes,
        of opened: Opened,
        _ reader: ReadTransaction
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
        guard let view, try opened.access.refusal(of: view, reader) == nil else { return nil }
        return try reader.completed(view, in: opened.zone, for: opened.caller)
    }
}
