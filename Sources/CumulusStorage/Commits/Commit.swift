// A commit holds what one request changed in one zone, atomically. It is one entry of the log.
//
// Operations make it (`WriteTransaction.perform`), and `ApplyCommit` applies it. It is stored and
// sent as the canonical bytes that its origin wrote (`log.proto`). hot: once per saved request.

import Crypto
package import CumulusModel

package struct Commit: Hashable, Sendable {
    /// The zone that a commit changes; a commit of registers needs none.
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
    /// What the origin had applied: the whole vector in an incarnation's first commit, later only
    /// the changes.
    ///
    /// The dots ascend.
    package var dep: [Dot]
    /// 16 bytes; zeros in an incarnation's first commit.
    package var previousHash: Bytes
    /// 16 bytes, or empty.
    package var requestID: Bytes
    /// Record name of the author; empty if the node itself is the author.
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

    /// The previous hash of an incarnation's first commit.
    package static let noHash = Bytes(repeating: 0, count: 16)

    /// The next link of the hash chain, after a commit with these bytes.
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
        /// - Parameter keys: Keys of the lives that increments began, ascending.
        case delete(recordName: String, births: [Dot], keys: [LifeKey] = [])
        case zoneCreate
        /// 0 deleted, 1 purged, 2 encrypted data reset.
        case zoneDelete(reason: UInt8)
        case register(Register)
        case access(Access)

        package var isDelete: Bool {
            switch self {
            case .delete, .zoneDelete: true
            case .put, .zoneCreate, .register, .access: false
            }
        }
    }

    /// Writes one life of a record.
    package struct Put: Hashable, Sendable {
        package var recordName: String
        /// nil means this commit creates the life.
        package var birth: Dot?
        /// Type of a life that is created; else empty.
        package var type: String
        /// Sorted by field.
        package var increments: [Increment]
        /// Counters whose field is set or removed, with the base at which their origin showed 0.
        ///
        /// A removed counter goes on from its base; a set value is the amount above it. Sorted by
        /// field.
        package var resetCounters: [Increment]
        /// nil means unchanged.
        package var parent: ParentChange?
        /// Sorted by field and element.
        package var targets: [RecordRow.ReferenceTarget]
        /// Births of the other lives that the origin saw and that this put ends.
        ///
        /// The dots ascend.
        package var absorbed: [Dot]
        /// True if the put states the whole record: values of older commits vanish.
        ///
        /// Sums of counters stay.
        package var isFull: Bool
        /// Why other commits may create the same life; nil if the put changes a record or creates a
        /// life of its own.
        package var origin: Origin?
        /// Keys of the other lives that increments began and that this put ends, ascending.
        package var endedKeys: [LifeKey]
        /// Fields without a value are removed.
        ///
        /// A value that sets a counter carries the counter's base.
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
            endedKeys = []
        }
    }

    /// What caused a creation.
    package enum Origin: UInt8, Sendable {
        /// A request: its retry at another node creates the same life.
        case request = 1
        /// Increments of a record that does not exist: all nodes that receive such increments begin
        /// one life.
        case increments = 2
    }

    /// Writes who may do what in a share, or which share a record belongs to.
    package struct Access: Hashable, Sendable {
        package var recordName: String
        /// Births of all lives that the origin saw; empty means the life that this commit creates.
        ///
        /// The dots ascend.
        package var births: [Dot]
        /// Entries of a share's record, ascending by key.
        package var entries: [AccessEntries.Entry]
        /// Name of the share of a root record; empty if the root is not shared any more; nil if
        /// unchanged.
        package var share: String?

        package init(
            recordName: String,
            births: [Dot],
            entries: [AccessEntries.Entry] = [],
            share: String? = nil
        ) {
            self.recordName = recordName
            self.births = births
            self.entries = entries
            self.share = share
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
        /// An empty name means removed.
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
        /// nil means removed.
        package var value: Bytes?

        package init(namespace: String, key: [Bytes], value: Bytes?) {
            self.namespace = namespace
            self.key = key
            self.value = value
        }

        /// Approximate number of bytes in a commit.
        package var byteCount: Int {
            key.reduce(namespace.utf8.count + (value?.count ?? 0) + 16) { $0 + $1.count + 4 }
        }
    }
}

extension Commit.Put {
    /// Approximate number of bytes in a commit.
    package var byteCount: Int {
        let counters = (increments + resetCounters).reduce(0) { $0 + $1.field.utf8.count + 24 }
        let references = targets.reduce(0) { $0 + $1.field.utf8.count + 32 }
        let names = recordName.utf8.count + type.utf8.count + (parent?.recordName.utf8.count ?? 0)
        return fields.bytes.count + counters + references + names + 24 * absorbed.count
            + 8 * endedKeys.count + 96
    }
}

/// The author of a commit, and the request it belongs to.
package struct Author: Sendable {
    package var requestID: RequestID?
    /// User record name; empty: the node or its operator.
    package var user: String
    package var device: Bytes
    /// True if the request compares change tags.
    package var isGuarded: Bool

    package init(
        requestID: RequestID? = nil,
        user: String = "",
        device: Bytes = [],
        isGuarded: Bool = false
    ) {
        self.requestID = requestID
        self.user = user
        self.device = device
        self.isGuarded = isGuarded
    }
}
