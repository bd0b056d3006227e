// Reads the canonical bytes of a commit.
//
// Bytes that the writer would not have produced are refused. hot: once per commit of another node.

import Crypto
package import CumulusModel

// MARK: - Canonical form: reading

/// The beginning of a commit: enough to find its place in the log.
package struct CommitHead: Equatable, Sendable {
    package var dot: Dot
    /// When the commit was made; zero if it does not say.
    package var time = HybridTime(0)
    /// As in `Commit`.
    package var dep: [Dot] = []

    /// Reads only the head; the rest may be damaged.
    package init(_ bytes: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(bytes)
        var (incarnation, seq) = (UInt64(0), UInt64(0))
        var time = HybridTime(0)
        var dep: [Dot] = []
        loop: while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .fixed64): incarnation = try reader.fixed64()
            case (2, .varint): seq = try reader.varint()
            case (3, .fixed64): time = HybridTime(try reader.fixed64())
            case (4, .delimited): dep.append(try Dot(reading: try reader.message()))
            default: break loop
            }
        }
        dot = Dot(Incarnation(incarnation), seq)
        self.time = time
        self.dep = dep
    }
}

extension Commit {
    /// Reads a commit; refuses bytes that differ from `encoded`.
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

    /// The parts of a commit that have been read so far.
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
        case 6: self = .access(try Commit.Access(reading: content))
        default: throw MalformedBytes("a commit holds an unknown operation")
        }
    }

    private static func delete(
        reading reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Commit.Operation {
        var name = ""
        var births: [Dot] = []
        var keys: [LifeKey] = []
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): name = try reader.text()
            case (2, .delimited): births.append(try Dot(reading: try reader.message()))
            case (3, .delimited): keys.append(try LifeKey(reading: try reader.message()))
            default: throw MalformedBytes("a deletion holds something unknown")
            }
        }
        return .delete(recordName: name, births: births, keys: keys)
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
            if type == .varint {
                switch number {
                case 9: isFull = try reader.varint() == 1
                case 11:
                    let number = UInt8(try reader.count(limit: 255))
                    origin = Commit.Origin(rawValue: number)
                    if origin == nil { throw MalformedBytes("a put of an unknown origin") }
                default: throw MalformedBytes("a put holds something unknown")
                }
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
                _ = try reader.delimited()
                body = (body?.lowerBound ?? start)..<reader.position
            case 12: endedKeys.append(try LifeKey(reading: try reader.message()))
            default: throw MalformedBytes("a put holds something unknown")
            }
        }
        if let body { fields = try RecordBody(stored: reader.bytes, body) }
    }
}

extension Commit.Access {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        self.init(recordName: "", births: [])
        var reader = message
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): recordName = try reader.text()
            case (2, .delimited): births.append(try Dot(reading: try reader.message()))
            case (3, .delimited):
                var entry = try reader.message()
                var (key, value) = (Bytes(), Bytes())
                while let (number, type) = try entry.nextField() {
                    switch (number, type) {
                    case (1, .delimited): key = try entry.delimitedBytes()
                    case (2, .delimited): value = try entry.delimitedBytes()
                    default: throw MalformedBytes("an access entry holds something unknown")
                    }
                }
                entries.append(AccessEntries.Entry(key: key, value: value))
            case (4, .delimited): share = try reader.text()
            default: throw MalformedBytes("an access change holds something unknown")
            }
        }
        _ = try AccessEntries(ascending: entries)
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

extension LifeKey {
    fileprivate init(reading message: CanonicalReader) throws(MalformedBytes) {
        var (reader, value) = (message, UInt64(0))
        while let (number, type) = try reader.nextField() {
            guard (number, type) == (1, .fixed64) else {
                throw MalformedBytes("a life's key holds something unknown")
            }
            value = try reader.fixed64()
        }
        self.init(value)
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
