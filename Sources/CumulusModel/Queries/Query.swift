// A query: the records of one type that satisfy a predicate, in an order.
//
// Part of the client's surface; the same value travels to the node, is judged there against the
// schema, and is sealed into the cursors of further pages. Predicates are a flat postfix list, so
// that neither a decoder nor an evaluator ever recurses on what a stranger sent.
//
// Folder: what a query asks for, and the ways to write one. Read `Query`, then `PredicateBuilder`
// and `Query+Format`.

/// A question about the records of one type.
public struct Query: Hashable, Sendable {
    /// The type whose records are searched.
    public var recordType: String
    /// The predicate that records must satisfy.
    public var predicate: Predicate
    /// The wanted order, the most important key first.
    ///
    /// Between equals the record names decide, in the direction of the last key.
    public var sortDescriptors: [SortDescriptor]
    /// Allows what CloudKit has not: `OR`, and tests for nil.
    ///
    /// Such a query is refused by CloudKit, and here unless it says so.
    public var allowsExtensions = false

    /// A question about the records of a type.
    public init(
        recordType: String,
        predicate: Predicate = .all,
        sortDescriptors: [SortDescriptor] = []
    ) {
        self.recordType = recordType
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
    }

    /// A key by which results are ordered.
    public struct SortDescriptor: Hashable, Sendable {
        /// A field of the type, or a system field such as `creationDate`.
        public var key: String
        /// Records without a value come first if ascending, last otherwise.
        public var ascending: Bool
        /// Order by the distance of a LOCATION field from here.
        public var relativeLocation: Location?

        /// Order by the values of a field.
        public init(key: String, ascending: Bool = true) {
            self.key = key
            self.ascending = ascending
        }

        /// Order by the distance of a LOCATION field from a place, the nearest first.
        public init(key: String, relativeLocation: Location) {
            self.key = key
            ascending = true
            self.relativeLocation = relativeLocation
        }
    }

    /// A condition for records, with the meaning of CloudKit's predicates.
    ///
    /// A comparison with a field that a record doesn't have is neither true nor false, nor is its
    /// negation: such a record is not found by either.
    public struct Predicate: Hashable, Sendable {
        /// Postfix: a comparison pushes its outcome, `and` and `or` take two, `not` takes one.
        package var nodes: [Node]

        package init(nodes: [Node]) {
            self.nodes = nodes
        }

        /// Every record of the type (`TRUEPREDICATE`).
        public static let all = Predicate(nodes: [.constant(true)])
        /// No record (`FALSEPREDICATE`).
        public static let none = Predicate(nodes: [.constant(false)])
    }

    /// An element of a predicate's postfix list.
    package enum Node: Hashable, Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case and
        case or
        case not
    }

    /// One field of a record held against values.
    package struct Comparison: Hashable, Sendable {
        /// The key as the caller wrote it; empty for the token operators, which search the whole
        /// record.
        package var key: String
        package var relation: Relation
        /// As many operands as the relation requires.
        package var operands: [Operand]

        package init(_ key: String, _ relation: Relation, _ operands: [Operand]) {
            self.key = key
            self.relation = relation
            self.operands = operands
        }
    }

    /// The value that a field is compared with.
    package enum Operand: Hashable, Sendable {
        /// Never a list.
        case value(FieldValue)
        /// The moment when the node looks (`NOW()`).
        case now
    }

    /// How a field and the operands must relate.
    ///
    /// The numbers are the ones of queries.proto.
    package enum Relation: UInt32, CaseIterable, Sendable {
        /// One operand each.
        case equals = 1
        case notEquals = 2
        case lessThan = 3
        case lessThanOrEquals = 4
        case greaterThan = 5
        case greaterThanOrEquals = 6
        case beginsWith = 7
        /// The field equals one of the operands, at least one.
        case isIn = 8
        /// A list holds the operand.
        case listContains = 9
        /// A list holds one of the operands, at least one.
        case listContainsAny = 10
        /// A list of strings holds one that begins with the operand.
        case listMemberBeginsWith = 11
        /// The words of the operand, a string: one of them occurs in a searchable field.
        case containsAnyToken = 12
        /// The words of the operand, a string: each occurs in a searchable field.
        case containsAllTokens = 13
        /// A LOCATION and a DOUBLE: the field is nearer to the place than so many metres.
        case isNearerThan = 14
        /// The same, or exactly as near.
        case isAtMostAsFarAs = 15
        /// Beyond CloudKit: no operand; the record doesn't have the field.
        case isNil = 16
    }
}

extension Query.Relation {
    /// How many operands it wants.
    package var operandCount: ClosedRange<Int> {
        switch self {
        case .isNil: 0...0
        case .isNearerThan, .isAtMostAsFarAs: 2...2
        case .isIn, .listContainsAny: 1...Int.max
        default: 1...1
        }
    }
}
