// The calls on records: fetch, modify, list.
//
// `records.proto`, and `node.proto` where the node leaves fields as bytes. Requests are read as
// they came, names unchecked: the session judges them. hot: once per call.
//
// Folder: the messages of clients: records, zones, queries, changes, assets. Read `Records+Wire`,
// then the family that you need, such as `Queries+Wire`.

package import CumulusModel

// MARK: - Fetch

package struct FetchRecordsRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    package var ids: [WireRecordID] = []
    /// nil means all fields.
    package var keys: [Bytes]?

    package init() {}

    package init(database: DatabaseScope, ids: [WireRecordID], keys: [Bytes]? = nil) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
        self.keys = keys
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.list(2, &ids)
        try coder.keys(&keys, flag: 3, list: 4)
    }
}

/// The record or the error of one item.
package typealias RecordResult = Result<Record, ServiceError>
/// `RecordResult` of records.proto.
package typealias WireRecordResult = WireResult<Embedded<WireRecord>>

extension WireRecordResult {
    /// - Parameter record: Encoded.
    package static func encoded(_ record: Bytes) -> WireRecordResult { .value(.encoded(record)) }

    fileprivate var record: RecordResult { result { $0.message.flatMap { Record($0) } } }
}

package typealias FetchRecordsResponse = MessageList<WireRecordResult>

extension FetchRecordsResponse {
    package var results: [RecordResult] { elements.map(\.record) }
}

// MARK: - Modify

/// The client's form of a modify request.
package struct ModifyRecordsRequest: Coded, Hashable {
    package var database: UInt32 = 0
    package var policy: UInt32 = 0
    package var isAtomic = true
    /// Encoded `SaveRecord`s.
    package var saves: [Bytes] = []
    package var deletes: [WireRecordID] = []
    /// None, or one per deletion, of which an empty one asks for nothing.
    package var deleteTags: [Bytes] = []

    package init() {}

    package init(
        database: DatabaseScope,
        policy: UInt32,
        isAtomic: Bool,
        saves: [Bytes],
        deletes: [WireRecordID],
        deleteTags: [Bytes] = []
    ) {
        self.database = UInt32(database.rawValue)
        self.policy = policy
        self.isAtomic = isAtomic
        self.saves = saves
        self.deletes = deletes
        self.deleteTags = deleteTags
    }

    package var roughCount: Int { saves.reduce(64) { $0 + $1.count + 4 } }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.number(2, &policy)
        var isNotAtomic = !isAtomic
        try coder.flag(3, &isNotAtomic)
        isAtomic = !isNotAtomic
        try coder.list(4, &saves)
        try coder.list(5, &deletes)
        try coder.list(6, &deleteTags)
    }
}

/// The node's form of a modify request.
package struct NodeModifyRecordsRequest: Coded, Hashable {
    /// `NodeSaveRecord`.
    package struct Save: Coded, Hashable {
        package var record = NodeRecord()
        package var increments: [WireIncrement] = []

        package init() {}

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &record)
            try coder.list(2, &increments)
        }
    }

    package struct NodeRecord: Coded, Hashable {
        package var id: WireRecordID?
        package var type: Bytes = []
        package var changeTag: Bytes = []
        /// nil means unchanged; empty: removed.
        package var parent: BytesMessage?
        /// Encoded `Field`s.
        package var fields: [Bytes] = []
        /// nil: not a share, or its parts stay as they are.
        package var share: WireShareParts?

        package init() {}

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &id)
            try coder.bytes(2, &type)
            try coder.bytes(3, &changeTag)
            try coder.message(8, &parent)
            try coder.list(10, &fields)
            try coder.message(11, &share)
        }
    }

    package var database: UInt32 = 0
    package var policy: UInt32 = 0
    package var isAtomic = true
    package var saves: [Save] = []
    package var deletes: [WireRecordID] = []
    /// None, or as many as there are deletions; an empty one asks for nothing.
    package var deleteTags: [Bytes] = []

    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.number(2, &policy)
        var isNotAtomic = !isAtomic
        try coder.flag(3, &isNotAtomic)
        isAtomic = !isNotAtomic
        try coder.list(4, &saves)
        try coder.list(5, &deletes)
        try coder.list(6, &deleteTags)
    }
}

extension NodeModifyRecordsRequest.Save {
    /// What the save names; empty names where it names nothing.
    package var id: WireRecordID { record.id ?? WireRecordID() }
}

/// Results in the order of the request.
package struct ModifyRecordsResponse: WireMessage {
    package var saveResults: [WireRecordResult] = []
    package var deleteResults: [WireOutcome] = []

    package init() {}

    package init(saves: [WireRecordResult] = [], deletes: [WireOutcome] = []) {
        saveResults = saves
        deleteResults = deletes
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &saveResults)
        try coder.list(2, &deleteResults)
    }

    package var saves: [RecordResult] { saveResults.map(\.record) }
    /// nil means deleted, or not there.
    package var deletes: [ServiceError?] { deleteResults.map(\.failure) }
}

extension WireOutcome {
    package var failure: ServiceError? { error.map { ServiceError($0) } }
}

// MARK: - List

package struct ListRecordsRequest: Coded, Hashable {
    package var database: UInt32 = 0
    /// nil means the default zone.
    package var zone: WireZoneID?
    /// nil means all fields.
    package var keys: [Bytes]?
    /// The record name behind which the list begins; empty means that it begins with the first.
    package var after: Bytes = []

    package init() {}

    package init(
        database: DatabaseScope,
        zone: WireZoneID?,
        keys: [Bytes]? = nil,
        after: Bytes = []
    ) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        self.keys = keys
        self.after = after
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.message(2, &zone)
        try coder.keys(&keys, flag: 3, list: 4)
        try coder.bytes(5, &after)
    }
}

package typealias ListRecordsResponse = MessageList<Embedded<WireRecord>>

extension ListRecordsResponse {
    /// - Parameter records: Encoded.
    package init(encoded records: some Sequence<Bytes>) {
        self.init(records.map { .encoded($0) })
    }

    package var records: [Record] { elements.compactMap(\.record) }
}

extension Embedded<WireRecord> {
    /// The client's form; nil for a record without an id.
    package var record: Record? { message.flatMap { Record($0) } }
}
