// A query that was checked against the schema: every key is a column, every value has its column's
// type, and every comparison has the index that CloudKit requires.
//
// It is made once per page from the request. Invalid queries are refused here, in CloudKit's words
// where it has some. `Candidate` evaluates it.
//
// Folder: how a query is checked against the schema and answered. Read `BoundQuery`, then
// `QueryPlan`, which chooses the way, and `Candidate`, which judges one record.

package import CumulusModel

package struct BoundQuery: Sendable {
    /// A field of the type, or a system field.
    package enum Column: Hashable, Sendable {
        case field(String, FieldType)
        case system(SystemField)

        package var type: FieldType {
            switch self {
            case .field(_, let type): type
            case .system(let field): .one(field.kind)
            }
        }
    }

    /// An element of the postfix list, see `Query.Node`.
    package enum Node: Hashable, Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case and
        case or
        case not
    }

    package struct Comparison: Hashable, Sendable {
        package var relation: Query.Relation
        package var subject: Subject
    }

    /// What a comparison looks at, and its operands.
    package enum Subject: Hashable, Sendable {
        /// Values of the column's type; only equality asks whether one is in the set.
        case values(Column, Set<ComparableValue>)
        /// One value, compared by order or as a prefix.
        case value(Column, ComparableValue)
        /// A place, and a distance in metres.
        case place(Column, Location, metres: Double)
        /// Folded words that any searchable field may hold.
        case words(Set<String>)
        /// No operand: asks whether there is a value.
        case presence(Column)
    }

    package struct SortKey: Hashable, Sendable {
        package var column: Column
        package var ascending: Bool
        /// The point from which distances are measured.
        package var origin: Location?
    }

    /// The stored name.
    package let recordType: String
    package internal(set) var nodes: [Node] = []
    package internal(set) var sortKeys: [SortKey] = []
    /// STRING and LIST<STRING> fields whose words can be searched.
    package let searchable: [Column]
}

extension BoundQuery {
    /// A query for every record of a type, whatever its indexes.
    init(everyRecordOf schema: TypeSchema) {
        recordType = schema.name
        searchable = []
        nodes = [.constant(true)]
    }

    /// Restricts the query to records that a user created.
    ///
    /// It uses an index on `___createdBy` but does not require one.
    ///
    /// - Parameter user: User record name.
    package mutating func restrict(toRecordsOf user: String) {
        let wanted: Set = [ComparableValue.bytes(Bytes(user.utf8))]
        let subject = Subject.values(.system(.createdBy), wanted)
        nodes += [.comparison(Comparison(relation: .equals, subject: subject)), .and]
    }

    /// A query for places near a point, the nearest first, with no other condition.
    package struct Nearest: Hashable, Sendable {
        package let place: Location
        fileprivate let relation: Query.Relation
        fileprivate let metres: Double

        /// Whether that distance is near enough.
        package func reaches(_ distance: Double) -> Bool {
            relation.reaches(distance, metres)
        }
    }

    /// nil if the query has other conditions.
    package var nearest: Nearest? {
        guard nodes.count == 1, case .comparison(let comparison) = nodes[0],
            case .place(let column, let place, let metres) = comparison.subject,
            let key = sortKeys.first, key.column == column, key.origin == place
        else { return nil }
        return Nearest(place: place, relation: comparison.relation, metres: metres)
    }
}

extension Query.Relation {
    /// Whether that distance is near enough.
    func reaches(_ distance: Double, _ metres: Double) -> Bool {
        self == .isNearerThan ? distance < metres : distance <= metres
    }
}
