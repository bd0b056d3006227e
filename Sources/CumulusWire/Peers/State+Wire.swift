// What a node hands over of a scope where its log doesn't reach back far enough.
//
// `peers.proto`. Rows travel as the bytes that a node keeps, and are not looked into here; names
// are bytes until the node that takes them over has checked them.

import CCumulusWire
package import CumulusModel

package struct StateRequest: Hashable, Sendable {
    /// What the caller has.
    package var vector: VersionVector
    /// Of the rows that the caller can read.
    package var format: UInt32
    /// It takes nothing, and wants digests of everything, or the records of some stretches.
    package var compares: Bool
    package var stretches: [Stretch]
    /// What the donor named it whose state broke off; empty: a new one is wanted.
    package var snapshot: Bytes
    /// What has come of that snapshot.
    package var position: Position

    /// How far a state has come.
    package struct Position: Hashable, Sendable {
        package var parts: UInt32
        package var zone: UInt32
        /// Empty: no record of the zone.
        package var record: Bytes
        package var rows: UInt32

        package init(parts: UInt32 = 0, zone: UInt32 = 0, record: Bytes = [], rows: UInt32 = 0) {
            self.parts = parts
            self.zone = zone
            self.record = record
            self.rows = rows
        }
    }

    /// A run of a zone's records; empty names stand for its first and its last one.
    package struct Stretch: Hashable, Sendable {
        /// A `DatabaseScope`, as a number.
        package var database: UInt32
        package var owner: Bytes
        package var zone: Bytes
        package var after: Bytes
        package var through: Bytes

        package init(
            database: UInt32,
            owner: Bytes,
            zone: Bytes,
            after: Bytes,
            through: Bytes
        ) {
            self.database = database
            self.owner = owner
            self.zone = zone
            self.after = after
            self.through = through
        }
    }

    package init(
        vector: VersionVector,
        format: UInt32,
        compares: Bool = false,
        stretches: [Stretch] = [],
        snapshot: Bytes = [],
        position: Position = Position()
    ) {
        self.vector = vector
        self.format = format
        self.compares = compares
        self.stretches = stretches
        self.snapshot = snapshot
        self.position = position
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.vector(1, vector)
        writer.field(2, varint: UInt64(format))
        writer.field(3, varint: compares ? 1 : 0)
        for stretch in stretches { writer.message(4) { stretch.encode(to: &$0) } }
        writer.field(5, bytes: snapshot)
        if position != Position() { writer.message(6) { position.encode(to: &$0) } }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__state_request__unpack)
        let raw = message.raw
        vector = VersionVector(wire: elements(raw.n_vector, raw.vector))
        format = raw.format
        compares = raw.compares != 0
        stretches = elements(raw.n_stretches, raw.stretches).map {
            Stretch(
                database: $0.database,
                owner: $0.owner.swiftBytes,
                zone: $0.zone.swiftBytes,
                after: $0.after.swiftBytes,
                through: $0.through.swiftBytes
            )
        }
        snapshot = raw.snapshot.swiftBytes
        position = (raw.position?.pointee).map(Position.init(wire:)) ?? Position()
    }
}

package struct StateResponse: Hashable, Sendable {
    package struct Vector: Hashable, Sendable {
        package var incarnation: UInt64
        package var row: Bytes

        package init(incarnation: UInt64, row: Bytes) {
            self.incarnation = incarnation
            self.row = row
        }
    }

    package struct Zone: Hashable, Sendable {
        /// A `DatabaseScope`, as a number.
        package var database: UInt32
        package var owner: Bytes
        package var name: Bytes
        package var row: Bytes
        package var heads: VersionVector
        package var extent: UInt32

        package init(
            database: UInt32,
            owner: Bytes,
            name: Bytes,
            row: Bytes,
            heads: VersionVector,
            extent: UInt32
        ) {
            self.database = database
            self.owner = owner
            self.name = name
            self.row = row
            self.heads = heads
            self.extent = extent
        }
    }

    package struct Register: Hashable, Sendable {
        package var namespace: Bytes
        package var key: [Bytes]
        package var row: Bytes

        package init(namespace: Bytes, key: [Bytes], row: Bytes) {
            self.namespace = namespace
            self.key = key
            self.row = row
        }
    }

    package struct Increment: Hashable, Sendable {
        package var request: Bytes
        /// Identifies the record's life: its birth, or the life's key if `seq` is 0.
        package var identity: Dot
        package var recordName: Bytes
        package var field: Bytes
        package var row: Bytes

        package init(
            request: Bytes,
            identity: Dot,
            recordName: Bytes,
            field: Bytes,
            row: Bytes
        ) {
            self.request = request
            self.identity = identity
            self.recordName = recordName
            self.field = field
            self.row = row
        }
    }

    package struct Record: Hashable, Sendable {
        package var name: Bytes
        package var rows: [Bytes]

        package init(name: Bytes, rows: [Bytes]) {
            self.name = name
            self.rows = rows
        }
    }

    /// What a node holds in a stretch of a zone.
    package struct Digest: Hashable, Sendable {
        /// Which of all zones that were sent.
        package var zone: UInt32
        /// Empty: to the end of the zone.
        package var through: Bytes
        package var records: UInt64
        package var digest: Bytes

        package init(zone: UInt32, through: Bytes, records: UInt64, digest: Bytes) {
            self.zone = zone
            self.through = through
            self.records = records
            self.digest = digest
        }
    }

    package var vectors: [Vector] = []
    package var zones: [Zone] = []
    package var registers: [Register] = []
    package var increments: [Increment] = []
    /// All of the above was sent.
    package var isOffered = false
    /// Of `records`: which of all zones that were sent.
    package var zone: UInt32 = 0
    package var records: [Record] = []
    /// Nothing follows.
    package var isComplete = false
    /// The next response has more rows of the last record.
    package var goesOn = false
    package var digests: [Digest] = []
    /// In the first response: what the donor names the snapshot; empty: it keeps it for nobody.
    package var snapshot: Bytes = []

    package init() {}
}

// MARK: - Encoding

extension StateRequest.Stretch {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: owner)
        writer.field(3, bytes: zone)
        writer.field(4, bytes: after)
        writer.field(5, bytes: through)
    }
}

extension StateRequest.Position {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(parts))
        writer.field(2, varint: UInt64(zone))
        writer.field(3, bytes: record)
        writer.field(4, varint: UInt64(rows))
    }
}

extension StateResponse {
    package func encoded() -> Bytes {
        let size = records.reduce(256) { size, record in
            record.rows.reduce(size + record.name.count + 16) { $0 + $1.count + 8 }
        }
        var writer = CanonicalWriter(reserving: size)
        for vector in vectors { writer.message(1) { vector.encode(to: &$0) } }
        for zone in zones { writer.message(2) { zone.encode(to: &$0) } }
        for register in registers { writer.message(3) { register.encode(to: &$0) } }
        for increment in increments { writer.message(4) { increment.encode(to: &$0) } }
        writer.field(5, varint: isOffered ? 1 : 0)
        writer.field(6, varint: UInt64(zone))
        for record in records { writer.message(7) { record.encode(to: &$0) } }
        writer.field(8, varint: isComplete ? 1 : 0)
        writer.field(9, varint: goesOn ? 1 : 0)
        for digest in digests { writer.message(10) { digest.encode(to: &$0) } }
        writer.field(11, bytes: snapshot)
        return writer.bytes
    }
}

extension StateResponse.Vector {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, fixed64: incarnation)
        writer.field(2, bytes: row)
    }
}

extension StateResponse.Zone {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: owner)
        writer.field(3, bytes: name)
        writer.field(4, bytes: row)
        writer.vector(5, heads)
        writer.field(6, varint: UInt64(extent))
    }
}

extension StateResponse.Register {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: namespace)
        for part in key { writer.present(2, bytes: part) }
        writer.field(3, bytes: row)
    }
}

extension StateResponse.Increment {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: request)
        writer.field(2, fixed64: identity.incarnation.value)
        writer.field(3, varint: identity.seq)
        writer.field(4, bytes: recordName)
        writer.field(5, bytes: field)
        writer.field(6, bytes: row)
    }
}

extension StateResponse.Record {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: name)
        for row in rows { writer.present(2, bytes: row) }
    }
}

extension StateResponse.Digest {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(zone))
        writer.field(2, bytes: through)
        writer.field(3, varint: records)
        writer.field(4, bytes: digest)
    }
}

// MARK: - Decoding

extension StateResponse {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__state_response__unpack)
        let raw = message.raw
        vectors = elements(raw.n_vectors, raw.vectors).map {
            Vector(incarnation: $0.incarnation, row: $0.row.swiftBytes)
        }
        zones = elements(raw.n_zones, raw.zones).map(Zone.init(wire:))
        registers = elements(raw.n_registers, raw.registers).map {
            Register(
                namespace: $0.namespace_.swiftBytes,
                key: elements($0.n_key, $0.key).map(\.swiftBytes),
                row: $0.row.swiftBytes
            )
        }
        increments = elements(raw.n_increments, raw.increments).map(Increment.init(wire:))
        isOffered = raw.is_offered != 0
        zone = raw.zone
        records = elements(raw.n_records, raw.records).map {
            Record(
                name: $0.name.swiftBytes,
                rows: elements($0.n_rows, $0.rows).map(\.swiftBytes)
            )
        }
        isComplete = raw.is_complete != 0
        goesOn = raw.goes_on != 0
        digests = elements(raw.n_digests, raw.digests).map {
            Digest(
                zone: $0.zone,
                through: $0.through.swiftBytes,
                records: $0.records,
                digest: $0.digest.swiftBytes
            )
        }
        snapshot = raw.snapshot.swiftBytes
    }
}

extension StateRequest.Position {
    fileprivate init(wire raw: Cumulus__V1__StatePosition) {
        parts = raw.parts
        zone = raw.zone
        record = raw.record.swiftBytes
        rows = raw.rows
    }
}

extension StateResponse.Zone {
    fileprivate init(wire raw: Cumulus__V1__StateZone) {
        database = raw.database
        owner = raw.owner.swiftBytes
        name = raw.name.swiftBytes
        row = raw.row.swiftBytes
        heads = VersionVector(wire: elements(raw.n_heads, raw.heads))
        extent = raw.extent
    }
}

extension StateResponse.Increment {
    fileprivate init(wire raw: Cumulus__V1__StateIncrement) {
        request = raw.request.swiftBytes
        identity = Dot(Incarnation(raw.incarnation), raw.seq)
        recordName = raw.record_name.swiftBytes
        field = raw.field.swiftBytes
        row = raw.row.swiftBytes
    }
}
