// Changes of records that are still to be compared with topics: rows of this node alone, written in
// the batch that made a change, and gone in the turn of the writer that compares it.
//
// Written and paid by `ScopeFeeds+Comparisons`. Feeds end before the first change that is
// owed of a record type that they watch, see `FeedRead`. The rows outlive the process.

package import CumulusModel

/// A record type of a database, as callers know it.
package struct WatchedType: Hashable, Sendable {
    package var database: DatabaseNumber
    package var name: String

    package init(database: DatabaseNumber, name: String) {
        (self.database, self.name) = (database, name)
    }
}

/// A change of a record by a commit, with all that topics are compared with.
struct WatchedChange {
    /// The event that is written for each topic that matches; the flags of matching are added then.
    var event: TopicEvent
    /// Whether this node made the commit.
    let isOwn: Bool
    /// Whether the commit did nothing else: no other part of it changed the record.
    let isAlone: Bool
    /// The commit's place in the local order, and the day of its rows.
    let position: UInt64
    let day: Day
    let place: ZonePlace
    let name: String
    /// The record as callers saw it; nil if they saw none.
    let before: RecordRow?
    /// Callers see it unless the event says that it is deleted.
    let after: RecordRow

    /// The types of the record before and after, as far as callers see it.
    var types: Set<String> {
        let seen = [before, event.flags.contains(.deleted) ? nil : after]
        return Set(seen.compactMap { $0.map { StoredName.shown($0.type) } })
    }
}

/// A change that is still to be compared with the topics of one type.
package struct OwedChange: RowValue, Equatable {
    /// As in `WatchedChange`.
    private var event: TopicEvent
    private let isOwn: Bool
    private let day: Day
    private let zone: Commit.Zone
    /// The row of the record as callers saw it; empty if they saw none.
    private var before: Bytes
    private let after: Bytes

    init(_ change: WatchedChange) throws(MalformedBytes) {
        (event, isOwn, day) = (change.event, change.isOwn, change.day)
        zone = change.place.zone
        before =
            try change.before.map { (row) throws(MalformedBytes) in
                try OwedChange.bytes(of: row, in: change)
            } ?? []
        after = try OwedChange.bytes(of: change.after, in: change)
    }

    /// Follows an earlier part of the same commit: both are one change.
    mutating func follow(_ earlier: OwedChange) {
        event.flags.remove(.created)
        event.flags.formUnion(earlier.event.flags.intersection(.created))
        event.key = earlier.event.key
        before = earlier.before
    }

    /// - Parameter key: The key of its row.
    func change(at key: Bytes, in scope: ScopeNumber) throws -> WatchedChange {
        let (type, position, number, name) = try RowKey.owedChange(key)
        let place = ZonePlace(scope: scope, database: type.database, number: number, zone: zone)
        return WatchedChange(
            event: event,
            isOwn: isOwn,
            isAlone: false,
            position: position,
            day: day,
            place: place,
            name: name,
            before: before.isEmpty ? nil : try RecordRow(before),
            after: try RecordRow(after)
        )
    }

    private static func bytes(
        of row: RecordRow,
        in change: WatchedChange
    ) throws(MalformedBytes) -> Bytes {
        let zone = change.place.zone
        var row = row
        return try row.seal(
            at: RecordRow.Place(
                database: zone.database,
                zone: zone.name,
                generation: zone.generation,
                name: change.name
            )
        )
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.delimited(event.rowBytes)
        writer.varint(isOwn ? 1 : 0)
        writer.varint(UInt64(day))
        writer.database(zone.database)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        writer.delimited(before)
        writer.delimited(after)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        event = try TopicEvent(row: try reader.delimitedBytes())
        isOwn = try reader.count(limit: 1) == 1
        day = Day(try reader.count(limit: Int(Day.max)))
        let database = try reader.database()
        zone = Commit.Zone(
            database: database,
            name: try reader.text(),
            generation: try reader.varint()
        )
        before = try reader.delimitedBytes()
        after = try reader.delimitedBytes()
    }
}

extension RowKey {
    /// The record type comes first, so that a feed finds the owed changes of its types.
    static func owedChange(
        _ scope: ScopeNumber,
        _ type: WatchedType,
        _ position: UInt64,
        _ zone: ZoneNumber,
        _ name: String
    ) -> RowKey {
        RowKey(.owedChange) {
            $0.add(scope)
            $0.add(type.database)
            $0.add(type.name)
            $0.add(position)
            $0.add(zone)
            $0.add(name)
        }
    }

    static func owedChange(
        _ key: Bytes
    ) throws(EngineError) -> (type: WatchedType, position: UInt64, zone: ZoneNumber, name: String) {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        let type = WatchedType(database: try parts.number(), name: try parts.text())
        return (type, try parts.number(), try parts.number(), try parts.text())
    }
}

extension KeyRange {
    static func owedChanges(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.owedChange) { $0.add(scope) }.bytes)
    }

    static func owedChanges(of scope: ScopeNumber, _ type: WatchedType) -> KeyRange {
        let prefix = RowKey(.owedChange) {
            $0.add(scope)
            $0.add(type.database)
            $0.add(type.name)
        }
        return KeyRange(prefix: prefix.bytes)
    }
}

extension RowReader where Self: ~Copyable {
    /// Returns the next record type with owed changes in a scope; nil if no type follows `last`.
    package borrowing func owedType(
        of scope: ScopeNumber,
        after last: WatchedType? = nil
    ) throws(EngineError) -> WatchedType? {
        var range = KeyRange.owedChanges(of: scope)
        if let last { range.start = KeyRange.owedChanges(of: scope, last).end }
        guard let (key, _) = try rows(.log, range, limit: 1).first else { return nil }
        return try RowKey.owedChange(key).type
    }

    /// The position of the first change of a type that is owed.
    package borrowing func firstOwed(
        of type: WatchedType,
        in scope: ScopeNumber
    ) throws(EngineError) -> UInt64? {
        guard let (key, _) = try rows(.log, .owedChanges(of: scope, type), limit: 1).first else {
            return nil
        }
        return try RowKey.owedChange(key).position
    }
}
