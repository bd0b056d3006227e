// What a node hands over of a scope where its log doesn't reach back far enough.
//
// `peers.proto`. Rows travel as the bytes that a node keeps, and are not looked into here; names
// are bytes until the node that takes them over has checked them.

package import CumulusModel

package struct StateRequest: WireMessage, Hashable {
    /// What the caller has.
    package var vector = VersionVector()
    /// The format of the rows that the caller can read.
    package var format: UInt32 = 0
    /// It takes nothing, and wants digests of everything, or the records of some stretches.
    package var compares = false
    package var stretches: [Stretch] = []
    /// What the donor named it whose state broke off; empty: a new one is wanted.
    package var snapshot: Bytes = []
    /// What has come of that snapshot.
    package var position = Position()

    /// `StatePosition`: how far a state has come.
    package struct Position: Coded, Hashable {
        package var parts: UInt32 = 0
        package var zone: UInt32 = 0
        /// Empty: no record of the zone.
        package var record: Bytes = []
        package var rows: UInt32 = 0

        package init() {}

        package init(parts: UInt32, zone: UInt32, record: Bytes, rows: UInt32) {
            self.parts = parts
            self.zone = zone
            self.record = record
            self.rows = rows
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.number(1, &parts)
            try coder.number(2, &zone)
            try coder.bytes(3, &record)
            try coder.number(4, &rows)
        }
    }

    /// `StateStretch`: a run of a zone's records; empty names stand for its first and its last one.
    package struct Stretch: Coded, Hashable {
        /// A `DatabaseScope`, as a number.
        package var database: UInt32 = 0
        package var owner: Bytes = []
        package var zone: Bytes = []
        package var after: Bytes = []
        package var through: Bytes = []

        package init() {}

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

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.number(1, &database)
            try coder.bytes(2, &owner)
            try coder.bytes(3, &zone)
            try coder.bytes(4, &after)
            try coder.bytes(5, &through)
        }
    }

    package init() {}

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

    package static var growth: Int { 16 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.vector(1, &vector)
        try coder.number(2, &format)
        try coder.flag(3, &compares)
        try coder.list(4, &stretches)
        try coder.bytes(5, &snapshot)
        var known = position == Position() ? nil : position
        try coder.message(6, &known)
        position = known ?? Position()
    }
}

package struct StateResponse: WireMessage, Hashable {
    /// `StateVector`.
    package struct Vector: Coded, Hashable {
        package var incarnation: UInt64 = 0
        package var row: Bytes = []

        package init() {}

        package init(incarnation: UInt64, row: Bytes) {
            self.incarnation = incarnation
            self.row = row
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.fixed64(1, &incarnation)
            try coder.bytes(2, &row)
        }
    }

    /// `StateZone`.
    package struct Zone: Coded, Hashable {
        /// A `DatabaseScope`, as a number.
        package var database: UInt32 = 0
        package var owner: Bytes = []
        package var name: Bytes = []
        package var row: Bytes = []
        package var heads = VersionVector()
        package var extent: UInt32 = 0

        package init() {}

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

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.number(1, &database)
            try coder.bytes(2, &owner)
            try coder.bytes(3, &name)
            try coder.bytes(4, &row)
            try coder.vector(5, &heads)
            try coder.number(6, &extent)
        }
    }

    /// `StateRegister`.
    package struct Register: Coded, Hashable {
        package var namespace: Bytes = []
        package var key: [Bytes] = []
        package var row: Bytes = []

        package init() {}

        package init(namespace: Bytes, key: [Bytes], row: Bytes) {
            self.namespace = namespace
            self.key = key
            self.row = row
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &namespace)
            try coder.list(2, &key)
            try coder.bytes(3, &row)
        }
    }

    /// `StateIncrement`.
    package struct Increment: Coded, Hashable {
        package var request: Bytes = []
        /// Identifies the record's life: its birth, or the life's key if `seq` is 0.
        package var identity = Dot()
        package var recordName: Bytes = []
        package var field: Bytes = []
        package var row: Bytes = []

        package init() {}

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

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &request)
            try coder.fixed64(2, &identity.incarnation.value)
            try coder.number(3, &identity.seq)
            try coder.bytes(4, &recordName)
            try coder.bytes(5, &field)
            try coder.bytes(6, &row)
        }
    }

    /// `StateRecord`.
    package struct Record: Coded, Hashable {
        package var name: Bytes = []
        package var rows: [Bytes] = []

        package init() {}

        package init(name: Bytes, rows: [Bytes]) {
            self.name = name
            self.rows = rows
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &name)
            try coder.list(2, &rows)
        }
    }

    /// `StretchDigest`: what a node holds in a stretch of a zone.
    package struct Digest: Coded, Hashable {
        /// Which of all zones that were sent.
        package var zone: UInt32 = 0
        /// Empty: to the end of the zone.
        package var through: Bytes = []
        package var records: UInt64 = 0
        package var digest: Bytes = []

        package init() {}

        package init(zone: UInt32, through: Bytes, records: UInt64, digest: Bytes) {
            self.zone = zone
            self.through = through
            self.records = records
            self.digest = digest
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.number(1, &zone)
            try coder.bytes(2, &through)
            try coder.number(3, &records)
            try coder.bytes(4, &digest)
        }
    }

    package var vectors: [Vector] = []
    package var zones: [Zone] = []
    package var registers: [Register] = []
    package var increments: [Increment] = []
    /// All of the above was sent.
    package var isOffered = false
    /// The zone of `records`, as a place among all zones that were sent.
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

    package var roughCount: Int {
        records.reduce(256) { size, record in
            record.rows.reduce(size + record.name.count + 16) { $0 + $1.count + 8 }
        }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &vectors)
        try coder.list(2, &zones)
        try coder.list(3, &registers)
        try coder.list(4, &increments)
        try coder.flag(5, &isOffered)
        try coder.number(6, &zone)
        try coder.list(7, &records)
        try coder.flag(8, &isComplete)
        try coder.flag(9, &goesOn)
        try coder.list(10, &digests)
        try coder.bytes(11, &snapshot)
    }
}
