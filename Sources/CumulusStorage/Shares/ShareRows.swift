// Finds shares by their URL and by the users who are in them.
//
// The rows are hints. They are written with a share's record and stay when it changes, so a reader
// checks in the record whether it exists, is in force, and whom it lets in. A row that leads
// nowhere is dropped a month later.

import Crypto
package import CumulusModel

/// The id of what is shared: a zone, or a life of a record in it.
package struct ShareID: Hashable, Sendable {
    /// 16 bytes, the same on each node.
    package let bytes: Bytes

    package init(_ root: AccessEntries.Root, in zone: Commit.Zone) {
        var writer = CanonicalWriter()
        writer.delimited("cumulus share".utf8)
        writer.database(zone.database)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        writer.delimited(root.value)
        bytes = SHA256.hash(data: writer.bytes).first(16)
    }

    package init(bytes: Bytes) { self.bytes = bytes }
}

/// The records of the shares of one root.
package struct ShareIDRow: RowValue, Hashable, Sendable {
    package var zone: Commit.Zone
    /// Ascending, at least one; at most one of them is in force.
    package var recordNames: [String]

    package init(zone: Commit.Zone, recordNames: [String]) {
        self.zone = zone
        self.recordNames = recordNames
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.database(zone.database)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        for name in recordNames { writer.delimited(name.utf8) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let database = try reader.database()
        let (name, generation) = (try reader.text(), try reader.varint())
        zone = Commit.Zone(database: database, name: name, generation: generation)
        recordNames = [try reader.text()]
        while !reader.isAtEnd { recordNames.append(try reader.text()) }
    }
}

/// The shares by which a user was ever in another user's zone.
package struct VisibleZone: RowValue, Hashable, Sendable {
    package var generation: UInt64
    /// Names of the shares' records, ascending.
    package var shares: [String]
    /// Milliseconds since 1970 UTC at which one of them last changed here.
    package var changed: Int64
    /// The last commits on a share when the last share let the user out.
    package var ended: [Dot] = []

    package init(generation: UInt64, shares: [String], changed: Int64) {
        self.generation = generation
        self.shares = shares
        self.changed = changed
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(generation)
        writer.varint(UInt64(shares.count))
        for share in shares { writer.delimited(share.utf8) }
        writer.varint(zigzag(changed))
        for dot in ended { writer.dot(dot) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        generation = try reader.varint()
        shares = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            try reader.text()
        }
        changed = try reader.signed()
        while !reader.isAtEnd { ended.append(try reader.dot()) }
    }
}

extension RowKey {
    package static func shareIDRow(_ scope: ScopeNumber, _ share: ShareID) -> RowKey {
        RowKey(.shareIDRow) {
            $0.add(scope)
            $0.add(fixed: share.bytes)
        }
    }

    package static func visibleZone(
        _ scope: ScopeNumber,
        _ user: String,
        owner: String,
        _ zone: String
    ) -> RowKey {
        RowKey(.visibleZone) {
            $0.add(scope)
            $0.add(user)
            $0.add(owner)
            $0.add(zone)
        }
    }
}

extension KeyRange {
    /// The zones in which a user is or was.
    package static func visibleZones(of user: String, in scope: ScopeNumber) -> KeyRange {
        let prefix = RowKey(.visibleZone) {
            $0.add(scope)
            $0.add(user)
        }
        return KeyRange(prefix: prefix.bytes)
    }
}

// MARK: - Reading

/// A zone in which a user is or was, and the shares by which.
package struct VisibleZoneEntry: Hashable, Sendable {
    package let owner: String
    package let zone: String
    package let row: VisibleZone
}

extension RowReader where Self: ~Copyable {
    /// The records that are or were the shares of a root.
    package borrowing func shareIDRow(
        _ share: ShareID,
        in scope: ScopeNumber
    ) throws(EngineError) -> ShareIDRow? {
        try row(.shareIDRow(scope, share))
    }

    /// The rows of a scope's share ids after a key, and the key to go on from; nil at the end.
    package borrowing func shareIDRows(
        in scope: ScopeNumber,
        after key: Bytes?,
        limit: Int
    ) throws(EngineError) -> (rows: [ShareIDRow], next: Bytes?) {
        var range = KeyRange(prefix: RowKey(.shareIDRow) { $0.add(scope) }.bytes)
        if let key { range.start = key + [0] }
        let page = try rows(.meta, range, limit: limit)
        let found = try page.map { (key, value) throws(EngineError) in
            try decoding(key) { () throws(MalformedBytes) in try ShareIDRow(row: value) }
        }
        return (found, page.count < limit ? nil : page.last?.key)
    }

    /// The zones of others in which a user is, or was until a month ago, by owner and name.
    package borrowing func visibleZones(
        of user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> [VisibleZoneEntry] {
        try rows(.meta, .visibleZones(of: user, in: scope)).map {
            (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.content()
            let (owner, zone) = (try parts.text(), try parts.text())
            let row = try decoding(key) { () throws(MalformedBytes) in try VisibleZone(row: value) }
            return VisibleZoneEntry(owner: owner, zone: zone, row: row)
        }
    }

    package borrowing func visibleZone(
        _ zone: String,
        of owner: String,
        to user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> VisibleZone? {
        try row(.visibleZone(scope, user, owner: owner, zone))
    }
}
