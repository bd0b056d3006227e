// Queries between Swift and the wire.
//
// `queries.proto`. Requests are read as they came, keys unchecked: the session holds them against
// the schema. hot: once per page of a query.

package import CumulusModel

package struct QueryRecordsRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// nil means all zones of the private database, the default zone of the public one.
    package var zone: WireZoneID?
    package var recordType: Bytes = []
    /// Postfix; empty: all records of the type.
    package var predicate: [Query.Node] = []
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

    package struct SortKey: Coded, Hashable {
        package var key: Bytes = []
        package var descending = false
        package var origin: Location?

        package init() {}

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &key)
            try coder.flag(2, &descending)
            try coder.message(3, &origin)
        }
    }

    package init() {}

    /// The first page of a query.
    package init(_ query: Query, database: DatabaseScope, zone: WireZoneID?) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        recordType = Bytes(query.recordType.utf8)
        predicate = query.predicate.nodes
        sort = query.sortDescriptors.map {
            var key = SortKey()
            key.key = Bytes($0.key.utf8)
            key.descending = !$0.ascending
            key.origin = $0.relativeLocation
            return key
        }
        allowsExtensions = query.allowsExtensions
    }

    package var roughCount: Int { 256 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try codeQuestion(&coder)
        try coder.number(7, &limit)
        try coder.keys(&keys, flag: 8, list: 9)
        try coder.bytes(10, &cursor)
        try coder.flag(11, &counts)
        try coder.flag(12, &explains)
    }

    private mutating func codeQuestion(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.message(2, &zone)
        try coder.bytes(3, &recordType)
        try coder.list(4, &predicate)
        try coder.list(5, &sort)
        try coder.flag(6, &allowsExtensions)
    }

    /// What is the same on all pages of a query.
    package var question: Bytes {
        var question = QueryRecordsRequest()
        question.database = database
        question.zone = zone
        question.recordType = recordType
        question.predicate = predicate
        question.sort = sort
        question.allowsExtensions = allowsExtensions
        return question.encoded()
    }
}

// MARK: - Predicates

/// `PredicateNode`.
extension Query.Node: Coded {
    package init() { self = .constant(false) }

    private var number: Int {
        switch self {
        case .constant: 1
        case .comparison: 2
        case .and, .or, .not: 3
        }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        switch try coder.choice(1...3, number) {
        case 1:
            var value = if case .constant(let value) = self { value } else { false }
            try coder.member(1, &value)
            self = .constant(value)
        case 2:
            var comparison = Query.Comparison()
            if case .comparison(let value) = self { comparison = value }
            try coder.member(2, &comparison)
            self = .comparison(comparison)
        case 3:
            var number = connective
            try coder.member(3, &number)
            self = try Query.Node(connective: number)
        default: throw .unknownNode
        }
    }

    /// `Connective`; 0 for what is none.
    private var connective: UInt32 {
        switch self {
        case .and: 1
        case .or: 2
        case .not: 3
        case .constant, .comparison: 0
        }
    }

    private init(connective: UInt32) throws(MalformedBytes) {
        switch connective {
        case 1: self = .and
        case 2: self = .or
        case 3: self = .not
        default: throw .unknownNode
        }
    }
}

/// `Comparison`.
extension Query.Comparison: Coded {
    package init() { self.init("", .equals, []) }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.checkedText(1, &key)
        var number = relation.rawValue
        try coder.number(2, &number)
        guard let relation = Query.Relation(rawValue: number) else { throw .unknownNode }
        self.relation = relation
        try coder.list(3, &operands)
    }
}

/// `Operand`.
extension Query.Operand: Coded {
    package init() { self = .now }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        switch try coder.choice(1...2, self == .now ? 2 : 1) {
        case 1:
            var field = WireRecordField("", nil)
            if case .value(let value) = self { field.value = value }
            try coder.member(1, &field)
            guard let value = field.value, value.list == nil else { throw .unknownNode }
            self = .value(value)
        case 2:
            var isNow = true
            try coder.member(2, &isNow)
            self = .now
        default: throw .unknownNode
        }
    }
}

extension MalformedBytes {
    fileprivate static let unknownNode = MalformedBytes(
        "a predicate holds something that this release doesn't know"
    )
}

// MARK: - Answers

package struct QueryRecordsResponse: WireMessage {
    package var foundRecords: [Embedded<WireRecord>] = []
    /// Empty: there are no more.
    package var cursor: Bytes = []
    package var count: UInt64 = 0
    /// nil means not wanted.
    package var work: Work?

    /// `QueryWork`.
    package struct Work: Coded, Hashable {
        package var plan: Bytes = []
        package var rowsRead: UInt64 = 0
        package var rowsKept: UInt64 = 0
        package var microseconds: UInt64 = 0

        package init() {}

        package init(plan: Bytes, rowsRead: UInt64, rowsKept: UInt64, microseconds: UInt64) {
            self.plan = plan
            self.rowsRead = rowsRead
            self.rowsKept = rowsKept
            self.microseconds = microseconds
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &plan)
            try coder.number(2, &rowsRead)
            try coder.number(3, &rowsKept)
            try coder.number(4, &microseconds)
        }
    }

    package init() {}

    /// - Parameter records: Each an encoded `Record`.
    package init(records: [Bytes], cursor: Bytes, count: UInt64, work: Work?) {
        foundRecords = records.map { .encoded($0) }
        self.cursor = cursor
        self.count = count
        self.work = work
    }

    package var roughCount: Int {
        foundRecords.reduce(64 + cursor.count) { $0 + ($1.exactCount ?? 0) + 4 }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &foundRecords)
        try coder.bytes(2, &cursor)
        try coder.number(3, &count)
        try coder.message(4, &work)
    }

    package var records: [Record] { foundRecords.compactMap(\.record) }
}
