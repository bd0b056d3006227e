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
        /// - Parameter keys: Of the lives that increments began; ascending.
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
        /// Of a life that is created; else empty.
        package var type: String
        /// Sorted by field.
        package var increments: [Increment]
        /// Counters whose field is set or removed, with the base at which its origin showed 0: from
        /// there a removed one goes on, and so much less is what a set one's value says.
        ///
        /// Sorted by field.
        package var resetCounters: [Increment]
        /// nil means unchanged.
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
        /// Why other commits may create the same life; nil if the put changes a record, or
        /// creates a life of its own.
        package var origin: Origin?
        /// Keys of the other lives that increments began and that end here; ascending.
        package var endedKeys: [LifeKey]
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
            endedKeys = []
        }
    }

    /// What a creation stems from.
    package enum Origin: UInt8, Sendable {
        /// A request: its repeat at another node creates the same life.
        case request = 1
        /// Increments of what is not there: all nodes that do so begin one life.
        case increments = 2
    }

    /// Writes who may do what in a share, or which share is of a record.
    package struct Access: Hashable, Sendable {
        package var recordName: String
        /// Of all lives that the origin saw; empty: of the one that this commit creates.
        ///
        /// Ascending.
        package var births: [Dot]
        /// Of a share's record; ascending by key.
        package var entries: [AccessEntries.Entry]
        /// Of a root: the name of its share; empty: the root is not shared now; nil: unchanged.
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
        /// nil means removed.
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
        return fields.bytes.count + counters + references + names + 24 * absorbed.count
            + 8 * endedKeys.count + 96
    }
}
