// The small rows: the content of their values, and its encoding. `Keyspace` lists the keys.
//
// Each row is written and read as a whole. A row that can't be read is reported as damage, never
// guessed at.

package import CumulusModel

/// A value that a row holds.
package protocol RowValue: Sendable {
    func write(to writer: inout CanonicalWriter)
    init(reading reader: inout CanonicalReader) throws(MalformedBytes)
}

extension RowValue {
    package var rowBytes: Bytes {
        var writer = CanonicalWriter(reserving: 64)
        write(to: &writer)
        return writer.bytes
    }

    package init(row: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(row)
        try self.init(reading: &reader)
        guard reader.isAtEnd else { throw MalformedBytes("a row is longer than what it holds") }
    }
}

/// The identity of this node, and the numbers that it hands out next.
package struct NodeRow: RowValue, Equatable {
    /// 16 bytes each.
    package var nodeID: Bytes
    package var clusterID: Bytes
    /// The incarnation of the last commit.
    package var lastIncarnation = Incarnation(0)
    /// The latest time of all commits when the row was written; those after it are in the rows of
    /// runs.
    package var latestTime = HybridTime(0)
    package var nextScope: ScopeNumber = 0
    package var nextDatabase: DatabaseNumber = 1
    package var nextZone: ZoneNumber = 1
    package var nextIndex: IndexNumber = 1

    package init(nodeID: Bytes, clusterID: Bytes) {
        self.nodeID = nodeID
        self.clusterID = clusterID
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.delimited(nodeID)
        writer.delimited(clusterID)
        writer.bigEndian(lastIncarnation.value)
        writer.bigEndian(latestTime.value)
        writer.varint(UInt64(nextScope))
        writer.varint(UInt64(nextDatabase))
        writer.varint(UInt64(nextZone))
        writer.varint(UInt64(nextIndex))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        nodeID = try reader.delimitedBytes()
        clusterID = try reader.delimitedBytes()
        lastIncarnation = Incarnation(try reader.bigEndian())
        latestTime = HybridTime(try reader.bigEndian())
        nextScope = ScopeNumber(try reader.count(limit: Int(ScopeNumber.max)))
        nextDatabase = DatabaseNumber(try reader.count(limit: Int(DatabaseNumber.max)))
        nextZone = ZoneNumber(try reader.count(limit: Int(ZoneNumber.max)))
        nextIndex = IndexNumber(try reader.count(limit: Int(IndexNumber.max)))
    }
}

extension NodeRow {
    /// Makes a name for a run of this node: two bytes of its id, then 48 random bits.
    ///
    /// The prefix lets the node recognise its own runs, even those that a backup does not know.
    func newIncarnation(using dice: inout some RandomNumberGenerator) -> Incarnation {
        Incarnation(runPrefix << 48 | (dice.next() >> 16 | 1))
    }

    /// Whether a run is this node's; wrong for another node's run once in 65,536.
    package func isOurs(_ incarnation: Incarnation) -> Bool {
        incarnation.nodePrefix == runPrefix
    }

    /// The common prefix of the names of its runs.
    package var runPrefix: UInt64 {
        Incarnation.prefix(of: nodeID)
    }
}

/// A number that stands for a scope or a database in keys.
package struct NumberRow: RowValue, Equatable {
    package var number: UInt32

    package init(number: UInt32) {
        self.number = number
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(number))
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        number = UInt32(try reader.count(limit: Int(UInt32.max)))
    }
}

/// A zone: it exists iff `generation` is greater than `deadThrough`; both join by their maximum.
package struct ZoneRow: RowValue, Equatable {
    package var number: ZoneNumber
    package var generation: UInt64
    package var deadThrough: UInt64 = 0
    package var capabilities: UInt32
    package var created: Stamp
    package var deleted: Stamp?
    /// 0 deleted, 1 purged, 2 encrypted data reset.
    package var reason: UInt8 = 0
    /// A client can't sync incrementally from a token below it.
    package var horizon = VersionVector()

    package init(number: ZoneNumber, generation: UInt64, capabilities: UInt32, created: Stamp) {
        self.number = number
        self.generation = generation
        self.capabilities = capabilities
        self.created = created
    }

    package var exists: Bool { generation > deadThrough }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(number))
        writer.varint(generation)
        writer.varint(deadThrough)
        writer.varint(UInt64(capabilities))
        writer.stamp(created)
        writer.stamp(deleted ?? .zero)
        writer.varint(UInt64(reason))
        writer.vector(horizon)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        number = ZoneNumber(try reader.count(limit: Int(ZoneNumber.max)))
        generation = try reader.varint()
        deadThrough = try reader.varint()
        capabilities = UInt32(try reader.count(limit: Int(UInt32.max)))
        created = try reader.stamp()
        let stamp = try reader.stamp()
        deleted = stamp == .zero ? nil : stamp
        reason = UInt8(try reader.count(limit: 255))
        horizon = try reader.vector()
    }
}

/// What a zone holds: living records, the bytes of their fields and assets, and the sum of their
/// digests modulo 2^128.
package struct ZoneState: RowValue, Equatable {
    package var records: Int64 = 0
    package var bytes: Int64 = 0
    /// Plain bytes, modulo 2^64; an asset counts once for each place that names it.
    package var assetBytes: Int64 = 0
    package var digest: UInt128 = 0

    package init() {}

    /// Counts a row that is added or, with a negative sign, removed.
    ///
    /// Tombstones do not count.
    package mutating func count(
        _ row: RecordRow,
        sign: Int64,
        isShown: Bool = true
    ) throws(MalformedBytes) {
        guard !row.isDead else { return }
        assetBytes &+= sign &* (try row.body.assetBytes())
        if isShown { records += sign }
        bytes += sign * Int64(row.body.bytes.count)
        let value = row.digest.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        digest = sign > 0 ? digest &+ value : digest &- value
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(zigzag(records))
        writer.varint(zigzag(bytes))
        writer.bigEndian(UInt64(digest >> 64))
        writer.bigEndian(UInt64(truncatingIfNeeded: digest))
        // Without assets the bytes are the same as before format 9.
        if assetBytes != 0 { writer.varint(zigzag(assetBytes)) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        records = try reader.signed()
        bytes = try reader.signed()
        digest = UInt128(try reader.bigEndian()) << 64 | UInt128(try reader.bigEndian())
        if reader.isAtEnd { return }
        assetBytes = try reader.signed()
        guard assetBytes != 0 else { throw MalformedBytes("a zone's state ends with nothing") }
    }
}

/// How far an incarnation's commits are applied here, and the end of its hash chain.
package struct VectorRow: RowValue, Equatable {
    package var seq: UInt64
    package var time: HybridTime
    package var hash: Bytes
    /// The dependencies of the run's first commit, without the runs that were retired by then.
    package var first: VersionVector
    /// `first` together with the dependencies of later commits.
    package var dep: VersionVector

    package init(
        seq: UInt64,
        time: HybridTime,
        hash: Bytes,
        first: VersionVector = VersionVector(),
        dep: VersionVector = VersionVector()
    ) {
        self.seq = seq
        self.time = time
        self.hash = hash
        self.first = first
        self.dep = dep
    }

    /// The end of the run after its next commit.
    package func next(_ commit: Commit, _ bytes: Bytes) -> VectorRow {
        var dep = dep
        for entry in commit.dep { dep[entry.incarnation] = entry.seq }
        return VectorRow(
            seq: commit.stamp.dot.seq,
            time: commit.stamp.time,
            hash: Commit.hash(previous: commit.previousHash, commit: bytes),
            first: seq == 0 ? dep : first,
            dep: dep
        )
    }

    /// The end of a run before its first commit.
    package static let none = VectorRow(seq: 0, time: HybridTime(0), hash: Commit.noHash)

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(seq)
        writer.bigEndian(time.value)
        writer.delimited(hash)
        writer.vector(first)
        writer.vector(dep)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        seq = try reader.varint()
        time = HybridTime(try reader.bigEndian())
        hash = try reader.delimitedBytes()
        first = try reader.vector()
        dep = try reader.vector()
    }
}

/// How far an incarnation's commits touched a zone, or were dropped from the log.
package struct SeqRow: RowValue, Equatable {
    package var seq: UInt64

    package init(seq: UInt64) {
        self.seq = seq
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(seq)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        seq = try reader.varint()
    }
}

/// A small replicated value; `RegisterRule` decides which of two values wins.
package struct RegisterRow: RowValue, Equatable {
    package var stamp: Stamp
    /// nil means removed.
    package var value: Bytes?

    package init(stamp: Stamp, value: Bytes?) {
        self.stamp = stamp
        self.value = value
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.stamp(stamp)
        writer.varint(value == nil ? 0 : 1)
        if let value { writer.delimited(value) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        stamp = try reader.stamp()
        value = try reader.varint() == 0 ? nil : try reader.delimitedBytes()
    }
}

/// An increment, kept to recognise the same request when it is applied elsewhere.
package struct IncrementRow: RowValue, Equatable {
    package var stamp: Stamp
    package var delta: Int64
    /// A birth of a life with a key; nil if the row's key names the birth.
    package var birth: Dot?

    package init(stamp: Stamp, delta: Int64, birth: Dot? = nil) {
        self.stamp = stamp
        self.delta = delta
        self.birth = birth
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.stamp(stamp)
        writer.varint(zigzag(delta))
        if let birth { writer.dot(birth) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        stamp = try reader.stamp()
        delta = try reader.signed()
        if !reader.isAtEnd { birth = try reader.dot() }
    }
}

extension IncrementRow {
    /// Whether the increment belongs to this life, whose identity the row's key names.
    package func isOf(_ life: RecordRow) -> Bool { birth.map(life.isBorn) ?? true }

    /// The later of two increments for one request; nil if both are the same.
    package func second(beside other: IncrementRow) -> IncrementRow? {
        stamp == other.stamp ? nil : stamp < other.stamp ? other : self
    }
}

/// The outcome of a request, for its retries.
package struct RequestRow: RowValue, Equatable {
    /// 16 bytes that distinguish the same id with another content.
    package var digest: Bytes
    package var dots: [Dot]
    /// Outcomes per item, as `ModifyOutcome` writes them.
    package var outcome: Bytes

    package init(digest: Bytes, dots: [Dot], outcome: Bytes) {
        self.digest = digest
        self.dots = dots
        self.outcome = outcome
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.delimited(digest)
        writer.varint(UInt64(dots.count))
        for dot in dots { writer.dot(dot) }
        writer.delimited(outcome)
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        digest = try reader.delimitedBytes()
        dots = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            try reader.dot()
        }
        outcome = try reader.delimitedBytes()
    }
}

/// The vector that a member of the cluster had applied durably when it last reported.
package struct ReportRow: RowValue, Equatable {
    package var vector: VersionVector
    /// When the report arrived, in milliseconds since 1970 UTC.
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

/// The rows of one record as another node holds them, the shown one first.
package struct StagedRecord: RowValue, Equatable {
    package var rows: [Bytes]

    package init(rows: [Bytes]) {
        self.rows = rows
    }

    package var byteCount: Int { rows.reduce(0) { $0 + $1.count } }

    package func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(rows.count))
        for row in rows { writer.delimited(row) }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        rows = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            try reader.delimitedBytes()
        }
    }
}

extension ZoneRow {
    /// Joins another node's row of the zone with this name.
    ///
    /// `number` stays: it is this node's own.
    package mutating func join(_ other: ZoneRow) {
        if other.generation == generation {
            created = min(created, other.created)
            horizon.merge(other.horizon)
        } else if other.generation > generation {
            generation = other.generation
            capabilities = other.capabilities
            created = other.created
            horizon = other.horizon
        }
        guard let theirs = other.deleted, other.deadThrough >= deadThrough else { return }
        if let deleted, other.deadThrough == deadThrough, deleted <= theirs { return }
        deadThrough = other.deadThrough
        deleted = theirs
        reason = other.reason
    }
}
