// The calls on changes: of a database's zones, and of a zone's records.
//
// `changes.proto`. Requests are read as they came: the session judges them.

package import CumulusModel

// MARK: - Zones

package struct FetchDatabaseChangesRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// Empty: from the beginning.
    package var token: Bytes = []
    /// Most zones of the answer; 0: the node decides.
    package var limit: UInt32 = 0
    /// The answer has a token of now, and no zones.
    package var onlyToken = false

    package init() {}

    package init(database: DatabaseScope, token: Bytes, limit: UInt32) {
        self.database = UInt32(database.rawValue)
        self.token = token
        self.limit = limit
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.bytes(2, &token)
        try coder.number(3, &limit)
        try coder.flag(4, &onlyToken)
    }
}

package struct FetchDatabaseChangesResponse: WireMessage, Hashable {
    /// `DeletedZone`.
    package struct Deletion: Coded, Hashable {
        package var id = WireZoneID()
        /// 0 deleted, 1 purged, 2 encrypted data reset.
        package var cause: UInt32 = 0

        package init() {}

        package init(id: WireZoneID, cause: UInt32) {
            self.id = id
            self.cause = cause
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &id)
            try coder.number(2, &cause)
        }
    }

    package var changed: [WireZoneID] = []
    package var deleted: [Deletion] = []
    package var token: Bytes = []
    package var moreComing = false

    package init() {}

    package init(changed: [WireZoneID], deleted: [Deletion], token: Bytes, moreComing: Bool) {
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.moreComing = moreComing
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &changed)
        try coder.list(2, &deleted)
        try coder.bytes(3, &token)
        try coder.flag(4, &moreComing)
    }
}

// MARK: - Records

package struct FetchZoneChangesRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// nil means the default zone.
    package var zone: WireZoneID?
    /// Empty: from the beginning.
    package var token: Bytes = []
    /// Most records and deletions of the answer; 0: the node decides.
    package var limit: UInt32 = 0
    /// nil means all fields.
    package var keys: [Bytes]?
    /// The answer has a token of now, and no records.
    package var onlyToken = false

    package init() {}

    package init(
        database: DatabaseScope,
        zone: WireZoneID?,
        token: Bytes,
        limit: UInt32,
        keys: [Bytes]? = nil
    ) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        self.token = token
        self.limit = limit
        self.keys = keys
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.message(2, &zone)
        try coder.bytes(3, &token)
        try coder.number(4, &limit)
        try coder.keys(&keys, flag: 5, list: 6)
        try coder.flag(7, &onlyToken)
    }
}

package struct FetchZoneChangesResponse: WireMessage {
    /// `DeletedRecord`.
    package struct Deletion: Coded, Hashable {
        package var id = WireRecordID()
        package var type: Bytes = []

        package init() {}

        package init(id: WireRecordID, type: Bytes) {
            self.id = id
            self.type = type
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &id)
            try coder.bytes(2, &type)
        }
    }

    package var changedRecords: [Embedded<WireRecord>] = []
    package var deleted: [Deletion] = []
    package var token: Bytes = []
    package var moreComing = false

    package init() {}

    /// - Parameter changed: Each an encoded `Record`.
    package init(changed: [Bytes], deleted: [Deletion], token: Bytes, moreComing: Bool) {
        changedRecords = changed.map { .encoded($0) }
        self.deleted = deleted
        self.token = token
        self.moreComing = moreComing
    }

    package var roughCount: Int { 1_024 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &changedRecords)
        try coder.list(2, &deleted)
        try coder.bytes(3, &token)
        try coder.flag(4, &moreComing)
    }

    package var changed: [Record] { changedRecords.compactMap(\.record) }
}
