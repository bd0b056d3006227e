// The rows from which feeds are read: changes of watched records, and how far this node was at some
// positions.
//
// Written by `ScopeFeeds` while commits are applied, read by feeds. They are local,
// since positions are this node's own. Keys of events begin with the day, so `FeedRetention` drops
// old days in one range.

import Crypto
package import CumulusModel

/// A commit changed a record that matched a topic before, or matches it now.
package struct TopicEvent: RowValue, Equatable {
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let matchedBefore = Flags(rawValue: 1)
        package static let matchesNow = Flags(rawValue: 2)
        /// The record was not there before.
        package static let created = Flags(rawValue: 4)
        /// The record is gone.
        package static let deleted = Flags(rawValue: 8)
        /// The record's zone is gone, with all its records.
        package static let zoneDeleted = Flags(rawValue: 16)
    }

    package var stamp: Stamp
    package var flags: Flags
    /// The name of the record's zone.
    package var zone: String
    /// The user who made the change; empty if a node made it.
    package var user: String
    /// The `deviceDigest` of the device that made the change.
    package var device: UInt64
    /// The key of the life that a request created by the change; nil for other changes.
    package var key: LifeKey?

    package init(
        stamp: Stamp,
        flags: Flags,
        zone: String,
        user: String,
        device: UInt64,
        key: LifeKey? = nil
    ) {
        self.stamp = stamp
        self.flags = flags
        self.zone = zone
        self.user = user
        self.device = device
        self.key = key
    }

    /// A number for a device, unique among the devices of all users; 0 if `device` is empty.
    package static func deviceDigest(_ device: Bytes, of user: String) -> UInt64 {
        if device.isEmpty { return 0 }
        var writer = CanonicalWriter(reserving: 64)
        writer.delimited(user.utf8)
        writer.delimited(device)
        let digest = SHA256.hash(data: writer.bytes).first(8)
        return digest.reduce(0) { $0 << 8 | UInt64($1) } | 1
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.stamp(stamp)
        writer.varint(UInt64(flags.rawValue))
        writer.delimited(zone.utf8)
        writer.delimited(user.utf8)
        writer.fixed64(device)
        if let key { writer.key(key) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        stamp = try reader.stamp()
        flags = Flags(rawValue: UInt8(try reader.count(limit: 31)))
        zone = try reader.text()
        user = try reader.text()
        device = try reader.fixed64()
        key = reader.isAtEnd ? nil : try reader.key()
    }
}

/// A commit created a record that another commit had created for the same request.
///
/// A user who was told of one of the two knows the other.
package struct RepeatedRow: RowValue, Equatable {
    /// The other births of the life.
    package var births: [Dot]

    package init(births: [Dot]) { self.births = births }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(births.count))
        for birth in births { writer.dot(birth) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        births = try reader.list { (reader) throws(MalformedBytes) in try reader.dot() }
    }
}

/// A commit changed a record, and its maker did not know the record's latest changes.
package struct MixedRow: RowValue, Equatable {
    package var stamp: Stamp
    /// The latest changes of the record that the maker did not know.
    package var unknown: [Dot]
    /// The name of the record's zone.
    package var zone: String
    /// The types of the record's lives before and after, hidden ones too, as callers know them.
    package var types: [String]
    /// The zone's database; nil in rows that release 0.1 wrote.
    package var database: DatabaseID?

    package init(
        stamp: Stamp,
        unknown: [Dot],
        zone: String,
        types: [String],
        database: DatabaseID?
    ) {
        self.stamp = stamp
        self.unknown = unknown
        self.zone = zone
        self.types = types
        self.database = database
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.stamp(stamp)
        writer.varint(UInt64(unknown.count))
        for dot in unknown { writer.dot(dot) }
        writer.delimited(zone.utf8)
        writer.varint(UInt64(types.count))
        for type in types { writer.delimited(type.utf8) }
        if let database { writer.database(database) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        stamp = try reader.stamp()
        unknown = try reader.list { (reader) throws(MalformedBytes) in try reader.dot() }
        zone = try reader.text()
        types = try reader.list { (reader) throws(MalformedBytes) in try reader.text() }
        database = reader.isAtEnd ? nil : try reader.database()
    }
}

/// The last change that a device made in a zone, in one run of a node.
package struct WatchedHead: RowValue, Equatable {
    package var seq: UInt64
    package var time: HybridTime

    package init(seq: UInt64, time: HybridTime) {
        self.seq = seq
        self.time = time
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(seq)
        writer.varint(time.value)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        seq = try reader.varint()
        time = HybridTime(try reader.varint())
    }
}

/// The vector that this node had applied at a position of a scope.
package struct Milestone: RowValue, Equatable {
    /// Short, see `Runs`.
    package var vector: VersionVector
    /// When it was written, in milliseconds since 1970 UTC.
    package var time: Int64

    package init(vector: VersionVector, time: Int64) {
        self.vector = vector
        self.time = time
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.vector(vector)
        writer.varint(zigzag(time))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        vector = try reader.vector()
        time = try reader.signed()
    }
}

// MARK: - Keys

/// Days since 1970 UTC.
package typealias Day = UInt32

extension RowKey {
    package static func topicEvent(
        _ scope: ScopeNumber,
        _ day: Day,
        _ topic: Topic.ID,
        _ position: UInt64,
        _ zone: ZoneNumber,
        _ name: String
    ) -> RowKey {
        RowKey(.topicEvent) {
            $0.add(scope)
            $0.add(day)
            $0.add(topic)
            $0.add(position)
            $0.add(zone)
            $0.add(name)
        }
    }

    /// Reads the key of a topic event, except its topic and day.
    package static func topicEvent(
        _ key: Bytes
    ) throws(EngineError) -> (position: UInt64, zone: ZoneNumber, name: String) {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        _ = try parts.number(Day.self)
        _ = try parts.number(Topic.ID.self)
        return (try parts.number(), try parts.number(), try parts.text())
    }

    package static func mixed(
        _ scope: ScopeNumber,
        _ day: Day,
        _ position: UInt64,
        _ zone: ZoneNumber,
        _ name: String
    ) -> RowKey {
        RowKey(.mixed) {
            $0.add(scope)
            $0.add(day)
            $0.add(position)
            $0.add(zone)
            $0.add(name)
        }
    }

    package static func repeated(
        _ scope: ScopeNumber,
        _ day: Day,
        _ zone: ZoneNumber,
        _ name: String,
        _ birth: Dot
    ) -> RowKey {
        RowKey(.repeated) {
            $0.add(scope)
            $0.add(day)
            $0.add(zone)
            $0.add(name)
            $0.add(birth)
        }
    }

    /// The birth in the key of a repeated creation.
    package static func repeatedBirth(_ key: Bytes) throws(EngineError) -> Dot {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        _ = try parts.number(Day.self)
        _ = try parts.number(ZoneNumber.self)
        _ = try parts.content()
        return try parts.dot()
    }

    /// Reads the key of a mixed row, except its day.
    package static func mixed(
        _ key: Bytes
    ) throws(EngineError) -> (position: UInt64, zone: ZoneNumber, name: String) {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        _ = try parts.number(Day.self)
        return (try parts.number(), try parts.number(), try parts.text())
    }

    package static func milestone(_ scope: ScopeNumber, _ position: UInt64) -> RowKey {
        RowKey(.milestone) {
            $0.add(scope)
            $0.add(position)
        }
    }

    /// Reads the position in a milestone's key.
    package static func milestone(_ key: Bytes) throws(EngineError) -> UInt64 {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        return try parts.number()
    }

    /// The last break: a position at which records changed without a commit.
    package static func feedBreak(_ scope: ScopeNumber) -> RowKey {
        RowKey(.feedBreak) { $0.add(scope) }
    }

    /// The first position of a day.
    package static func feedDay(_ scope: ScopeNumber, _ day: Day) -> RowKey {
        RowKey(.feedDay) {
            $0.add(scope)
            $0.add(day)
        }
    }

    /// Reads the day in a day's key.
    package static func feedDay(_ key: Bytes) throws(EngineError) -> Day {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        return try parts.number()
    }

    /// The last change of a zone by a device in a run, for topics that watch zones as a whole.
    package static func watchedHead(
        _ scope: ScopeNumber,
        _ topic: Topic.ID,
        _ zone: String,
        _ device: UInt64,
        _ incarnation: Incarnation
    ) -> RowKey {
        RowKey(.watchedHead) {
            $0.add(scope)
            $0.add(topic)
            $0.add(zone)
            $0.add(device)
            $0.add(incarnation.value)
        }
    }

    /// Reads the key of a watched head, except its topic.
    package static func watchedHead(
        _ key: Bytes
    ) throws(EngineError) -> (zone: String, device: UInt64, incarnation: Incarnation) {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        _ = try parts.number(Topic.ID.self)
        return (try parts.text(), try parts.number(), Incarnation(try parts.number()))
    }

    /// The position since which this node knows a subscription, by the key of its register.
    ///
    /// With `StoredSubscription.anyKey`: where any subscription of the scope changed last.
    package static func subscribed(_ scope: ScopeNumber, _ key: [Bytes]) -> RowKey {
        RowKey(.subscribed) {
            $0.add(scope)
            for part in key { $0.add(text: part) }
        }
    }
}

extension KeyRange {
    /// The events of a topic on a day, from a position on.
    package static func topicEvents(
        _ scope: ScopeNumber,
        _ day: Day,
        _ topic: Topic.ID,
        from position: UInt64
    ) -> KeyRange {
        let prefix = RowKey(.topicEvent) {
            $0.add(scope)
            $0.add(day)
            $0.add(topic)
        }
        let start = RowKey(.topicEvent) {
            $0.add(scope)
            $0.add(day)
            $0.add(topic)
            $0.add(position)
        }
        return KeyRange(start: start.bytes, end: KeyRange(prefix: prefix.bytes).end)
    }

    /// The repeated creations of a day.
    package static func repeated(_ scope: ScopeNumber, _ day: Day) -> KeyRange {
        let prefix = RowKey(.repeated) {
            $0.add(scope)
            $0.add(day)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    /// The repeated creations of a record on a day.
    package static func repeated(
        _ scope: ScopeNumber,
        _ day: Day,
        _ zone: ZoneNumber,
        _ name: String
    ) -> KeyRange {
        let prefix = RowKey(.repeated) {
            $0.add(scope)
            $0.add(day)
            $0.add(zone)
            $0.add(name)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    /// The mixed rows of a day, from a position on.
    package static func mixed(
        _ scope: ScopeNumber,
        _ day: Day,
        from position: UInt64
    ) -> KeyRange {
        let prefix = RowKey(.mixed) {
            $0.add(scope)
            $0.add(day)
        }
        let start = RowKey(.mixed) {
            $0.add(scope)
            $0.add(day)
            $0.add(position)
        }
        return KeyRange(start: start.bytes, end: KeyRange(prefix: prefix.bytes).end)
    }

    /// The rows of a subspace of all days before one.
    package static func rows(
        _ subspace: Subspace,
        of scope: ScopeNumber,
        before day: Day
    ) -> KeyRange {
        let end = RowKey(subspace) {
            $0.add(scope)
            $0.add(day)
        }
        return KeyRange(start: RowKey(subspace) { $0.add(scope) }.bytes, end: end.bytes)
    }

    /// The heads of all topics of a scope.
    static func watchedHeads(in scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.watchedHead) { $0.add(scope) }.bytes)
    }

    package static func watchedHeads(of topic: Topic.ID, in scope: ScopeNumber) -> KeyRange {
        let prefix = RowKey(.watchedHead) {
            $0.add(scope)
            $0.add(topic)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func milestones(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.milestone) { $0.add(scope) }.bytes)
    }

    package static func feedDays(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.feedDay) { $0.add(scope) }.bytes)
    }
}
