// Queries as web services write them: filters that all must hold, and keys to sort by.
//
// Each comparator becomes what a native client's predicate would be, so that the node plans and
// judges both alike.

package import CumulusModel

package struct WebQuery {
    /// The fields of the searched type in the schema.
    let columns: [String: FieldType]
    let reader: WebFieldReader

    package init(columns: [String: FieldType], _ reader: WebFieldReader) {
        self.columns = columns
        var reader = reader
        reader.isOfFilters = true
        self.reader = reader
    }

    /// The name of the type that a query searches.
    package static func recordType(_ query: WebObject) throws(WebError) -> String {
        try query.needed("recordType")
    }

    package func query(_ object: WebObject) throws(WebError) -> Query {
        var nodes: [Query.Node] = []
        var isExtended = false
        let filters = try object.listOrOne("filterBy")
        for (index, json) in filters.enumerated() {
            let filter = try WebObject(json, at: object.place("filterBy[\(index)]"))
            let part = try self.filter(filter)
            isExtended = isExtended || part.contains(.or)
            nodes += part
            if index > 0 { nodes.append(.and) }
        }
        var query = Query(
            recordType: try WebQuery.recordType(object),
            predicate: nodes.isEmpty ? .all : Query.Predicate(nodes: nodes)
        )
        // Native predicates can't say NOT_LIST_CONTAINS_ALL.
        query.allowsExtensions = isExtended
        let sorts = try object.listOrOne("sortBy")
        for (index, json) in sorts.enumerated() {
            let sort = try WebObject(json, at: object.place("sortBy[\(index)]"))
            query.sortDescriptors.append(try self.sort(sort))
        }
        return query
    }

    // MARK: Keys

    /// The field that a filter or a sort names, and its type.
    private func key(_ object: WebObject) throws(WebError) -> (name: String, column: FieldType?) {
        let (field, system) = (try object.string("fieldName"), try object.string("systemFieldName"))
        switch (field, system) {
        case (let field?, nil):
            let name = field == "___recordId" ? SystemField.recordID.rawValue : field
            if let system = SystemField(rawValue: name) { return (name, .one(system.kind)) }
            return (name, columns[name])
        case (nil, let system?):
            guard let known = WebQuery.systemFields[system] else {
                throw .badRequest(
                    "'\(object.place("systemFieldName"))' is no system field: '\(system)'"
                )
            }
            return (known.rawValue, .one(known.kind))
        default:
            let place = object.path
            throw .badRequest("'\(place)' must have either a fieldName or a systemFieldName")
        }
    }

    private static let systemFields: [String: SystemField] = [
        "recordName": .recordID, "share": .share, "parent": .parent,
        "createdUserRecordName": .createdBy, "modifiedUserRecordName": .modifiedBy,
        "createdTimestamp": .createTime, "modifiedTimestamp": .modTime,
    ]

    private func sort(_ object: WebObject) throws(WebError) -> Query.SortDescriptor {
        let key = try key(object).name
        let ascending = try object.flag("ascending") ?? true
        var descriptor = Query.SortDescriptor(key: key, ascending: ascending)
        if let origin = try object.object("relativeLocation") {
            // A field value, or a bare location.
            let place = object.place("relativeLocation")
            descriptor.relativeLocation = try reader.location(
                origin["value"] ?? origin.json,
                at: place
            )
        }
        return descriptor
    }

    // MARK: Filters

    private func filter(_ object: WebObject) throws(WebError) -> [Query.Node] {
        let text = try object.needed("comparator")
        guard let comparator = WebComparator(rawValue: text) else {
            throw .badRequest("'\(object.place("comparator"))' is no comparator: '\(text)'")
        }
        guard comparator == .near || object["distance"] == nil else {
            throw .badRequest("'\(object.place("distance"))' belongs to NEAR, not to \(text)")
        }
        switch comparator {
        case .containsAllTokens, .containsAnyToken:
            // They search all searchable fields of a record, whichever is named.
            let value = try operand(object, column: .one(.string))
            return [comparison("", comparator, [value])]
        case .near:
            let key = try key(object)
            guard let distance = object["distance"]?.number, distance >= 0 else {
                throw .badRequest("'\(object.place("distance"))' must be a number of metres")
            }
            let place = try operand(object, column: .one(.location))
            return [comparison(key.name, comparator, [place, .double(distance)])]
        default: break
        }
        let key = try key(object)
        if comparator.takesList {
            return try listFilter(object, comparator, key.name, column: key.column)
        }
        var column = key.column
        if comparator.looksIntoList, case .list(let kind)? = column { column = .one(kind) }
        let value = try operand(object, column: column)
        if case .list = value {
            throw .badRequest("'\(object.place("fieldValue"))' must be one value for \(text)")
        }
        let node = comparison(key.name, comparator, [value])
        return comparator.isNegated ? [node, .not] : [node]
    }

    private func listFilter(
        _ object: WebObject,
        _ comparator: WebComparator,
        _ key: String,
        column: FieldType?
    ) throws(WebError) -> [Query.Node] {
        var listed = column
        if case .one(let kind)? = column { listed = .list(kind) }
        guard case .list(let members) = try operand(object, column: listed) else {
            throw .badRequest(
                "Unexpected input: '\(object.place("fieldValue"))' must be a list, with a type "
                    + "such as STRING_LIST"
            )
        }
        guard comparator.wantsAll else {
            if members.isEmpty { return [.constant(comparator.isNegated)] }
            let node = comparison(key, comparator, members)
            return comparator.isNegated ? [node, .not] : [node]
        }
        if members.isEmpty { return [.constant(!comparator.isNegated)] }
        var nodes: [Query.Node] = []
        for (index, member) in members.enumerated() {
            nodes.append(comparison(key, comparator, [member]))
            if comparator.isNegated { nodes.append(.not) }
            if index > 0 { nodes.append(comparator.isNegated ? .or : .and) }
        }
        return nodes
    }

    private func comparison(
        _ key: String,
        _ comparator: WebComparator,
        _ values: [FieldValue]
    ) -> Query.Node {
        .comparison(.init(key, comparator.relation, values.map { .value($0) }))
    }

    private func operand(
        _ object: WebObject,
        column: FieldType?
    ) throws(WebError) -> FieldValue {
        let place = object.place("fieldValue")
        guard let json = object["fieldValue"] else { throw .badRequest("'\(place)' is missing") }
        if let value = try named(json, at: place, column: column) { return value }
        guard let value = try reader.value(json, at: place, column: column) else {
            throw .badRequest("'\(place)' must have a value")
        }
        return value
    }

    /// A reference may be compared with a record's name alone.
    private func named(
        _ json: JSON,
        at place: String,
        column: FieldType?
    ) throws(WebError) -> FieldValue? {
        func reference(_ json: JSON) -> FieldValue? {
            guard case .string(let name) = json else { return nil }
            return .reference(Record.Reference(recordName: name))
        }
        let isName = column == .one(.reference) || column == .list(.reference)
        guard isName, let value = json["value"] else { return nil }
        guard case .array(let elements) = value else { return reference(value) }
        let references = elements.compactMap(reference)
        return references.count == elements.count && !elements.isEmpty ? .list(references) : nil
    }
}

/// The comparators of filters.
package enum WebComparator: String, CaseIterable, Sendable {
    case equals = "EQUALS"
    case notEquals = "NOT_EQUALS"
    case lessThan = "LESS_THAN"
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    case greaterThan = "GREATER_THAN"
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    case near = "NEAR"
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    case containsAnyToken = "CONTAINS_ANY_TOKENS"
    case isIn = "IN"
    case isNotIn = "NOT_IN"
    case beginsWith = "BEGINS_WITH"
    case notBeginsWith = "NOT_BEGINS_WITH"
    case listContains = "LIST_CONTAINS"
    case notListContains = "NOT_LIST_CONTAINS"
    case listContainsAny = "LIST_CONTAINS_ANY"
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    case listContainsAll = "LIST_CONTAINS_ALL"
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

    var relation: Query.Relation {
        switch self {
        case .equals: .equals
        case .notEquals: .notEquals
        case .lessThan: .lessThan
        case .lessThanOrEquals: .lessThanOrEquals
        case .greaterThan: .greaterThan
        case .greaterThanOrEquals: .greaterThanOrEquals
        case .near: .isAtMostAsFarAs
        case .containsAllTokens: .containsAllTokens
        case .containsAnyToken: .containsAnyToken
        case .isIn, .isNotIn: .isIn
        case .beginsWith, .notBeginsWith: .beginsWith
        case .listContains, .notListContains, .listContainsAll, .notListContainsAll:
            .listContains
        case .listContainsAny, .notListContainsAny: .listContainsAny
        case .listMemberBeginsWith, .notListMemberBeginsWith: .listMemberBeginsWith
        }
    }

    var isNegated: Bool {
        switch self {
        case .isNotIn, .notBeginsWith, .notListContains, .notListContainsAny,
            .notListContainsAll, .notListMemberBeginsWith:
            true
        default: false
        }
    }

    /// The value is a list.
    var takesList: Bool {
        switch self {
        case .isIn, .isNotIn, .listContainsAny, .notListContainsAny, .listContainsAll,
            .notListContainsAll:
            true
        default: false
        }
    }

    /// The field is a list, and the value is like one of its members.
    var looksIntoList: Bool {
        switch self {
        case .listContains, .notListContains, .listMemberBeginsWith, .notListMemberBeginsWith:
            true
        default: false
        }
    }

    /// Each member of the value counts.
    var wantsAll: Bool { self == .listContainsAll || self == .notListContainsAll }
}
