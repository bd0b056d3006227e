// A commit: what one request changed in one zone, atomically. One entry of the log.
//
// Made by operations (`WriteTransaction.perform`), applied by `ApplyCommit`, stored and sent as the
// canonical bytes that its origin wrote (`log.proto`). hot: once per saved request.

import Crypto
package import CumulusModel

package struct Commit: Hashable, Sendable {
    /// The zone that a commit is about; registers need none.
    package struct Zone: Hashable, Sendable {
        package var database: DatabaseID
        package var name: String
        package var generation: UInt64

        package init(database: DatabaseID, name: String, generation: UInt64) {
            self.database = database
            self.name = name
            self.generation = generation
        }
    }

    package var stamp: Stamp
    /// What the origin had applied: all of it in an incarnation's first commit, then what changed.
    ///
    /// Ascending.
    package var dep: [Dot]
    /// 16 bytes; zeros in an incarnation's first commit.
    package var previousHash: Bytes
    /// 16 bytes, or empty.
    package var requestID: Bytes
    /// Record name of the author; empty: the node itself.
    package var user: String
    package var device: Bytes
    /// The request compared change tags.
    package var isGuarded: Bool
    package var zone: Zone?
    package var operations: [Operation]

    package init(
        stamp: Stamp,
        dep: [Dot],
        previousHash: Bytes,
        requestID: Bytes,
        user: String,
        device: Bytes,
        isGuarded: Bool,
        zone: Zone?,
        operations: [Operation]
    ) {
        self.stamp = stamp
        self.dep = dep
        self.previousHash = previousHash
        self.requestID = requestID
        self.user = user
        self.device = device
        self.isGuarded = isGuarded
        self.zone = zone
        self.operations = operations
    }

    /// Before an incarnation's first commit.
    package static let noHash = Bytes(repeating: 0, count: 16)

    /// The link of the hash chain that follows a commit with these bytes.
    package static func hash(previous: Bytes, commit: Bytes) -> Bytes {
        var hash = SHA256()
        hash.update(data: previous)
        hash.update(data: commit)
        return hash.finalize().first(16)
    }
}

extension SHA256Digest {
    /// Its first bytes.
    func first(_ count: Int) -> Bytes {
        withUnsafeBytes { Bytes($0.prefix(count)) }
    }
}

extension Commit {
    package enum Operation: Hashable, Sendable {
        case put(Put)
        case delete(recordName: String, births: [Dot])
        case zoneCreate
        /// 0 deleted, 1 purged, 2 encrypted data reset.
        case zoneDelete(reason: UInt8)
        case register(Register)
    }

    /// Writes one life of a record.
    package struct Put: Hashable, Sendable {
        package var recordName: String
        /// nil: this commit creates the life.
        package var birth: Dot?
        /// Of a life that is created; else empty.
        package var type: String
        /// Sorted by field.
        package var increments: [Increment]
        /// Counters whose field is set or removed, with the base at which its origin showed 0: from
        /// there a removed one goes on, and so much less is what a set one's value says.
        ///
        /// Sorted by field.
        package var resetCounters: [Increment]
        /// nil: unchanged.
        package var parent: ParentChange?
        /// Sorted by field and element.
        package var targets: [RecordRow.ReferenceTarget]
        /// Births of the other lives that the origin saw, which end here.
        ///
        /// Ascending.
        package var absorbed: [Dot]
        /// The put says all of the record: what older commits set vanishes.
        ///
        /// Sums of counters stay.
        package var isFull: Bool
        /// Fields without a value are removed.
        ///
        /// What sets a counter carries its base.
        package var fields: RecordBody

        package init(recordName: String, birth: Dot?, type: String, fields: RecordBody) {
            self.recordName = recordName
            self.birth = birth
            self.type = type
            self.fields = fields
            increments = []
            resetCounters = []
            targets = []
            absorbed = []
            isFull = false
        }
    }

    package struct Increment: Hashable, Sendable {
        package var field: String
        package var delta: Int64

        package init(field: String, delta: Int64) {
            self.field = field
            self.delta = delta
        }
    }

    package struct ParentChange: Hashable, Sendable {
        /// Empty: removed.
        package var recordName: String
        package var birth: Dot?

        package init(recordName: String, birth: Dot?) {
            self.recordName = recordName
            self.birth = birth
        }
    }

    package struct Register: Hashable, Sendable {
        package var namespace: String
        package var key: [Bytes]
        /// nil: removed.
        package var value: Bytes?

        package init(namespace: String, key: [Bytes], value: Bytes?) {
            self.namespace = namespace
            self.key = key
            self.value = value
        }

        /// Bytes that it takes in a commit, about.
        package var byteCount: Int {
            key.reduce(namespace.utf8.count + (value?.count ?? 0) + 16) { $0 + $1.count + 4 }
        }
    }
}

extension Commit.Put {
    /// Bytes that it takes in a commit, about.
    package var byteCount: Int {
        let counters = (increments + resetCounters).reduce(0) { $0 + $1.field.utf8.count + 24 }
        let references = targets.reduce(0) { $0 + $1.field.utf8.count + 32 }
        let names = recordName.utf8.count + type.utf8.count + (parent?.recordName.utf8.count ?? 0)
        return fields.bytes.count + counters + references + names + 24 * absorbed.count + 96
    }
}

// MARK: - Canonical form: writing

extension Commit {
    /// The bytes of `log.proto`'s `Commit`.
    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 512)
        writer.field(1, fixed64: stamp.dot.incarnation.value)
        writer.field(2, varint: stamp.dot.seq)
        writer.field(3, fixed64: stamp.time.value)
        for dot in dep { writer.field(4, dot: dot) }
        writer.field(5, bytes: previousHash)
        writer.field(6, bytes: requestID)
        writer.field(7, text: user)
        writer.field(8, bytes: device)
        writer.field(9, varint: isGuarded ? 1 : 0)
        if let zone {
            writer.field(10, varint: UInt64(zone.database.kind.rawValue))
            writer.field(11, text: zone.database.owner)
            writer.field(12, text: zone.name)
            writer.field(13, varint: zone.generation)
        }
        for operation in operations {
            writer.message(14) { operation.write(to: &$0) }
        }
        return writer.bytes
    }
}

extension Commit.Operation {
    fileprivate func write(to writer: inout CanonicalWriter) {
        switch self {
        case .put(let put): writer.message(1) { put.write(to: &$0) }
        case .delete(let name, let births):
            writer.message(2) { writer in
                writer.field(1, text: name)
                for birth in births { writer.field(2, dot: birth) }
            }
        case .zoneCreate: writer.message(3) { _ in }
        case .zoneDelete(let reason): writer.message(4) { $0.field(1, varint: UInt64(reason)) }
        case .register(let register): writer.message(5) { register.write(to: &$0) }
        }
    }
}

extension Commit.Put {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.field(1, text: recordName)
        if let birth { writer.field(2, dot: birth) }
        writer.field(3, text: type)
        for increment in increments { writer.field(4, increment: increment) }
        for reset in resetCounters { writer.field(5, increment: reset) }
        if let parent {
            writer.message(6) { writer in
                writer.field(1, text: parent.recordName)
                if let birth = parent.birth { writer.field(2, dot: birth) }
            }
        }
        for target in targets {
            writer.message(7) { writer in
                writer.field(1, text: target.field)
                writer.field(2, varint: UInt64(target.element))
                writer.field(3, dot: target.birth)
            }
        }
        for birth in absorbed { writer.field(8, dot: birth) }
        writer.field(9, varint: isFull ? 1 : 0)
        writer.raw(fields.bytes)
    }
}

extension Commit.Register {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.field(1, text: namespace)
        for part in key { writer.present(2, bytes: part) }
        if let value { writer.present(3, bytes: value) }
    }
}

extension CanonicalWriter {
    fileprivate mutating func field(_ field: Int, dot: Dot) {
        message(field) { writer in
            writer.field(1, fixed64: dot.incarnation.value)
            writer.field(2, varint: dot.seq)
        }
    }

    fileprivate mutating func field(_ field: Int, increment: Commit.Increment) {
        message(field) { writer in
            writer.field(1, text: increment.field)
            writer.field(2, signed: increment.delta)
        }
    }
}

// MARK: - Canonical form: reading

/// The beginning of a commit: enough to put it in its place.
package struct CommitHead: Equatable, Sendable {
    package var dot: Dot
    /// As in `Commit`.
    package var dep: [Dot] = []

    /// Reads no further than it has to: what follows may be damaged.
    package init(_ bytes: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(bytes)
        var (incarnation, seq) = (UInt64(0), UInt64(0))
        var dep: [Dot] = []
        loop: while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .fixed64): incarnation = try reader.fixed64()
            case (2, .varint): seq = try reader.varint()
            case (3, .fixed64): _ = try reader.fixed64()
            case (4, .delimited): dep.append(try Dot(reading: try reader.message()))
            default: break loop
            }
        }
        dot = Dot(Incarnation(incarnation), seq)
        self.dep = dep
    }
}

extension Commit {
    /// Reads a commit; other bytes than `encoded` would write are refused.
    package init(_ bytes: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(bytes)
        var fields = Parts()
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .fixed64): fields.incarnation = try reader.fixed64()
            case (2, .varint): fields.seq = try reader.varint()
            case (3, .fixed64): fields.time = try reader.fixed64()
            case (4, .delimited): fields.dep.append(try Dot(reading: try reader.message()))
            case (5, .delimited): fields.previousHash = try reader.delimitedBytes()
            case (6, .delimited): fields.requestID = try reader.delimitedBytes()
            case (7, .delimited): fields.user = try reader.text()
            case (8, .delimited): fields.device = try reader.delimitedBytes()
            case (9, .varint): fields.flags = try reader.varint()
            case (10, .varint): fields.database = try reader.varint()
            case (11, .delimited): fields.owner = try reader.text()
            case (12, .delimited): fields.zone = try reader.text()
            case (13, .varint): fields.generation = try reader.varint()
            case (14, .delimited):
                fields.operations.append(try Operation(reading: try reader.message()))
            default: throw MalformedBytes("a commit holds something unknown")
            }
        }
        try self.init(fields)
        guard areEqual(encoded(), bytes) else { throw MalformedBytes("a commit is not canonical") }
    }

    /// The parts of a commit as they are read.
    private struct Parts {
        var incarnation: UInt64 = 0
        var seq: UInt64 = 0
        var time: UInt64 = 0
        var dep: [Dot] = []
        var previousHash: Bytes = []
        var requestID: Bytes = []
        var user = ""
        var device: Bytes = []
        var flags: UInt64 = 0
        var database: UInt64 = 0
        var owner = ""
        var zone = ""
        var generation: UInt64 = 0
        var operations: [Operation] = []
    }

    private init(_ parts: Parts) throws(MalformedBytes) {
        guard parts.seq > 0, parts.previousHash.count == 16 else {
            throw MalformedBytes("a commit has no number or no link to the one before it")
        }
        var zone: Zone?
        if parts.database != 0 {
            guard let raw = UInt8(exactly: parts.database), let kind = DatabaseScope(rawValue: raw)
            else {
                throw MalformedBytes("a commit names an unknown database")
            }
            let database = DatabaseID(kind: kind, owner: parts.owner)
            zone = Zone(database: database, name: parts.zone, generation: parts.generation)
        }
        let dot = Dot(Incarnation(parts.incarnation), parts.seq)
        self.init(
            stamp: Stamp(HybridTime(parts.time), dot),
            dep: parts.dep,
            previousHash: parts.previousHash,
            requestID: parts.requestID,
            user: parts.user,
            device: parts.device,
            isGuarded: parts.flags & 1 != 0,
            zone: zone,
            operations: parts.operations
        )
    }
}

extension Commit.Operation {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        var reader = message
        guard let (number, type) = try reader.nextField(), type == .delimited else {
            throw MalformedBytes("a commit holds an empty operation")
        }
        var content = try reader.message()
        guard reader.isAtEnd else { throw MalformedBytes("an operation holds two things") }
        switch number {
        case 1: self = .put(try Commit.Put(reading: content))
        case 2: self = try Commit.Operation.delete(reading: &content)
        case 3: self = .zoneCreate
        case 4:
            var reason: UInt64 = 0
            if try content.nextField() != nil { reason = try content.varint() }
            self = .zoneDelete(reason: UInt8(truncatingIfNeeded: reason))
        case 5: self = .register(try Commit.Register(reading: content))
        default: throw MalformedBytes("a commit holds an unknown operation")
        }
    }

    private static func delete(
        reading reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Commit.Operation {
        var name = ""
        var births: [Dot] = []
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): name = try reader.text()
            case (2, .delimited): births.append(try Dot(reading: try reader.message()))
            default: throw MalformedBytes("a deletion holds something unknown")
            }
        }
        return .delete(recordName: name, births: births)
    }
}

extension Commit.Put {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(recordName: "", birth: nil, type: "", fields: RecordBody())
        var reader = message
        var body: Range<Int>?
        while true {
            let start = reader.position
            guard let (number, type) = try reader.nextField() else { break }
            if number == 9, type == .varint {
                isFull = try reader.varint() == 1
                continue
            }
            guard type == .delimited else { throw MalformedBytes("a put holds something unknown") }
            switch number {
            case 1: recordName = try reader.text()
            case 2: birth = try Dot(reading: try reader.message())
            case 3: self.type = try reader.text()
            case 4: increments.append(try Commit.Increment(reading: try reader.message()))
            case 5: resetCounters.append(try Commit.Increment(reading: try reader.message()))
            case 6: parent = try Commit.ParentChange(reading: try reader.message())
            case 7:
                targets.append(try RecordRow.ReferenceTarget(reading: try reader.message()))
            case 8: absorbed.append(try Dot(reading: try reader.message()))
            case RecordBody.fieldNumber:
                body = start..<reader.end
                _ = try reader.take(reader.end - reader.position)
            default: throw MalformedBytes("a put holds something unknown")
            }
        }
        if let body { fields = try RecordBody(stored: reader.bytes, body) }
    }
}

extension Commit.Register {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(namespace: "", key: [], value: nil)
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): namespace = try reader.text()
            case (2, .delimited): key.append(try reader.delimitedBytes())
            case (3, .delimited): value = try reader.delimitedBytes()
            default: throw MalformedBytes("a register holds something unknown")
            }
        }
    }
}

extension Commit.Increment {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(field: "", delta: 0)
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): field = try reader.text()
            case (2, .varint): delta = try reader.signed()
            default: throw MalformedBytes("an increment holds something unknown")
            }
        }
    }
}

extension Commit.ParentChange {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(recordName: "", birth: nil)
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): recordName = try reader.text()
            case (2, .delimited): birth = try Dot(reading: try reader.message())
            default: throw MalformedBytes("a parent holds something unknown")
            }
        }
    }
}

extension RecordRow.ReferenceTarget {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(field: "", element: 0, birth: Dot(Incarnation(0), 0))
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): field = try reader.text()
            case (2, .varint): element = try reader.count()
            case (3, .delimited): birth = try Dot(reading: try reader.message())
            default: throw MalformedBytes("a reference's target holds something unknown")
            }
        }
    }
}

extension Dot {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(Incarnation(0), 0)
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .fixed64): incarnation = Incarnation(try reader.fixed64())
            case (2, .varint): seq = try reader.varint()
            default: throw MalformedBytes("a dot holds something unknown")
            }
        }
    }
}
