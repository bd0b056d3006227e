// Queries between Swift and the wire.
//
// `queries.proto`. Requests are decoded as they came, keys unchecked: the session holds them
// against the schema. hot: once per page of a query.

import CCumulusWire
package import CumulusModel

package struct QueryRecordsRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// nil means all zones of the private database, the default zone of the public one.
    package var zone: WireZoneID?
    package var recordType: Bytes
    /// Postfix; empty: all records of the type.
    package var predicate: [Query.Node]
    package var sort: [SortKey] = []
    package var allowsExtensions = false
    /// Most records of the page; 0: the node decides.
    package var limit: UInt32 = 0
    /// nil means all fields.
    package var keys: [Bytes]?
    /// Empty: the first page.
    package var cursor: Bytes = []
    package var counts = false
    package var explains = false

    package struct SortKey: Hashable, Sendable {
        package var key: Bytes
        package var descending: Bool
        package var origin: Location?
    }

    /// The first page of a query.
    package init(_ query: Query, database: DatabaseScope, zone: WireZoneID?) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        recordType = Bytes(query.recordType.utf8)
        predicate = query.predicate.nodes
        sort = query.sortDescriptors.map {
            SortKey(
                key: Bytes($0.key.utf8),
                descending: !$0.ascending,
                origin: $0.relativeLocation
            )
        }
        allowsExtensions = query.allowsExtensions
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 256)
        writeQuestion(to: &writer)
        writer.field(7, varint: UInt64(limit))
        writer.keys(keys, flag: 8, list: 9)
        writer.field(10, bytes: cursor)
        writer.field(11, varint: counts ? 1 : 0)
        writer.field(12, varint: explains ? 1 : 0)
        return writer.bytes
    }

    /// What is the same on all pages of a query.
    package var question: Bytes {
        var writer = CanonicalWriter(reserving: 256)
        writeQuestion(to: &writer)
        return writer.bytes
    }

    private func writeQuestion(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(database))
        zone?.encode(2, to: &writer)
        writer.field(3, bytes: recordType)
        for node in predicate { writer.message(4) { node.encode(to: &$0) } }
        for key in sort {
            writer.message(5) { writer in
                writer.field(1, bytes: key.key)
                writer.field(2, varint: key.descending ? 1 : 0)
                if let origin = key.origin { writer.message(3) { origin.encode(to: &$0) } }
            }
        }
        writer.field(6, varint: allowsExtensions ? 1 : 0)
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__query_records_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        recordType = raw.record_type.swiftBytes
        predicate = []
        for node in elements(raw.n_predicate, raw.predicate) {
            predicate.append(try Query.Node(wire: node))
        }
        sort = elements(raw.n_sort, raw.sort).map { key in
            SortKey(
                key: key.key.swiftBytes,
                descending: key.descending != 0,
                origin: key.origin.map { Location(wire: $0.pointee) }
            )
        }
        allowsExtensions = raw.allows_extensions != 0
        limit = raw.limit
        keys = raw.only_keys == 0 ? nil : elements(raw.n_keys, raw.keys).map(\.swiftBytes)
        cursor = raw.cursor.swiftBytes
        counts = raw.counts != 0
        explains = raw.explains != 0
    }
}

// MARK: - Predicates

extension Query.Node {
    func encode(to writer: inout CanonicalWriter) {
        switch self {
        case .constant(let value): writer.present(1, varint: value ? 1 : 0)
        case .comparison(let comparison): writer.message(2) { comparison.encode(to: &$0) }
        case .and: writer.present(3, varint: 1)
        case .or: writer.present(3, varint: 2)
        case .not: writer.present(3, varint: 3)
        }
    }

    init(wire raw: Cumulus__V1__PredicateNode) throws(MalformedMessage) {
        switch raw.node_case {
        case CUMULUS__V1__PREDICATE_NODE__NODE_CONSTANT: self = .constant(raw.constant != 0)
        case CUMULUS__V1__PREDICATE_NODE__NODE_COMPARISON:
            guard let comparison = raw.comparison else { throw .unknownNode }
            self = .comparison(try Query.Comparison(wire: comparison.pointee))
        case CUMULUS__V1__PREDICATE_NODE__NODE_CONNECTIVE:
            switch raw.connective.rawValue {
            case 1: self = .and
            case 2: self = .or
            case 3: self = .not
            default: throw .unknownNode
            }
        default: throw .unknownNode
        }
    }
}

extension Query.Comparison {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: Bytes(key.utf8))
        writer.field(2, varint: UInt64(relation.rawValue))
        for operand in operands {
            writer.message(3) { writer in
                switch operand {
                case .value(let value): writer.message(1) { value.encode(to: &$0) }
                case .now: writer.present(2, varint: 1)
                }
            }
        }
    }

    fileprivate init(wire raw: Cumulus__V1__Comparison) throws(MalformedMessage) {
        guard let relation = Query.Relation(rawValue: UInt32(raw.relation.rawValue)) else {
            throw MalformedMessage(message: "a comparison's relation is unknown to this server")
        }
        guard let key = String(validating: raw.key.swiftBytes, as: UTF8.self) else {
            throw MalformedMessage(message: "the key of a comparison is not UTF-8")
        }
        var operands: [Query.Operand] = []
        for operand in elements(raw.n_operands, raw.operands) {
            operands.append(try Query.Operand(wire: operand))
        }
        self.init(key, relation, operands)
    }
}

extension Query.Operand {
    fileprivate init(wire raw: Cumulus__V1__Operand) throws(MalformedMessage) {
        if raw.operand_case == CUMULUS__V1__OPERAND__OPERAND_NOW {
            self = .now
            return
        }
        guard raw.operand_case == CUMULUS__V1__OPERAND__OPERAND_VALUE, let field = raw.value,
            let value = FieldValue(wire: field.pointee)
        else { throw MalformedMessage(message: "a comparison has an operand without a value") }
        if case .list = value {
            throw MalformedMessage(message: "an operand is a list; send its elements")
        }
        guard FieldValue.isText(field.pointee) else {
            throw MalformedMessage(message: "a text in a comparison is not UTF-8")
        }
        self = .value(value)
    }
}

extension FieldValue {
    /// False for a text, or a record name, that is no UTF-8.
    fileprivate static func isText(_ raw: Cumulus__V1__Field) -> Bool {
        switch raw.value_case {
        case CUMULUS__V1__FIELD__VALUE_STRING:
            String(validating: raw.string.swiftBytes, as: UTF8.self) != nil
        case CUMULUS__V1__FIELD__VALUE_REFERENCE:
            String(
                validating: raw.reference?.pointee.record_name.swiftBytes ?? [],
                as: UTF8.self
            ) != nil
        default: true
        }
    }
}

extension MalformedMessage {
    fileprivate static let unknownNode = MalformedMessage(
        message: "a predicate holds something that this server doesn't know"
    )
}

// MARK: - Answers

package struct QueryRecordsResponse: Sendable {
    package var records: [Record]
    /// Empty: there are no more.
    package var cursor: Bytes
    package var count: UInt64
    /// nil means not wanted.
    package var work: Work?

    package struct Work: Hashable, Sendable {
        package var plan: Bytes
        package var rowsRead: UInt64
        package var rowsKept: UInt64
        package var microseconds: UInt64

        package init(plan: Bytes, rowsRead: UInt64, rowsKept: UInt64, microseconds: UInt64) {
            self.plan = plan
            self.rowsRead = rowsRead
            self.rowsKept = rowsKept
            self.microseconds = microseconds
        }
    }

    package init(records: [Record], cursor: Bytes, count: UInt64, work: Work?) {
        self.records = records
        self.cursor = cursor
        self.count = count
        self.work = work
    }

    /// - Parameter records: Each an encoded `Record`.
    package static func encoded(
        records: [Bytes],
        cursor: Bytes,
        count: UInt64,
        work: Work?
    ) -> Bytes {
        let room = records.reduce(64 + cursor.count) { $0 + $1.count + 4 }
        var writer = CanonicalWriter(reserving: room)
        for record in records { writer.present(1, bytes: record) }
        writer.field(2, bytes: cursor)
        writer.field(3, varint: count)
        if let work {
            writer.message(4) { writer in
                writer.field(1, bytes: work.plan)
                writer.field(2, varint: work.rowsRead)
                writer.field(3, varint: work.rowsKept)
                writer.field(4, varint: work.microseconds)
            }
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__query_records_response__unpack)
        let raw = message.raw
        records = elements(raw.n_records, raw.records).compactMap(Record.init(wire:))
        cursor = raw.cursor.swiftBytes
        count = raw.count
        work = raw.work.map { work in
            Work(
                plan: work.pointee.plan.swiftBytes,
                rowsRead: work.pointee.rows_read,
                rowsKept: work.pointee.rows_kept,
                microseconds: work.pointee.microseconds
            )
        }
    }
}
