// Subscriptions as web services write them.

package import CumulusModel

extension Subscription {
    /// The subscription of an entry.
    ///
    /// - Parameters:
    ///   - user: The record name of the user who asks: its zones have no other owner here.
    ///   - mapped: The record name that a user has here, by its name there.
    package init(
        source json: JSON,
        at place: String,
        for user: String,
        mapped: (String) -> String
    ) throws(SourceProblem) {
        let object = try SourceObject(json, at: place)
        if let refusal = try SourceRefusal(object) { throw SourceProblem(place, refusal.text) }
        let zone = try object.object("zoneID").map(SourceZone.init).map { zone in
            let isOwn = zone.owner.isEmpty || zone.owner == user
            return isOwn
                ? RecordZone.ID(zoneName: zone.name)
                : RecordZone.ID(zoneName: zone.name, ownerName: mapped(zone.owner))
        }
        let id = try object.needed("subscriptionID")
        switch try object.needed("subscriptionType") {
        case "query":
            guard let query = try object.object("query") else {
                throw SourceProblem(object.place("query"), "is missing")
            }
            let filters = try SourceFilters(query, mapped: mapped)
            let isWide = try object.flag("zoneWide") ?? (zone == nil)
            self.init(
                id: id,
                kind: .query(
                    recordType: try query.needed("recordType"),
                    predicate: filters.predicate,
                    zone: isWide ? nil : zone ?? .default
                ),
                options: try Subscription.options(object)
            )
            allowsExtensions = filters.isExtended
        case "zone": self.init(id: id, kind: zone.map { .zone($0) } ?? .database())
        case "database": self.init(id: id, kind: .database())
        case let type:
            throw SourceProblem(object.place("subscriptionType"), "is the unknown type '\(type)'")
        }
        notificationInfo = try object.object("notificationInfo").map(Subscription.info)
    }

    private static func options(_ object: SourceObject) throws(SourceProblem) -> Options {
        var options: Options = []
        for event in try object.strings("firesOn") {
            switch event {
            case "create": options.insert(.firesOnRecordCreation)
            case "update": options.insert(.firesOnRecordUpdate)
            case "delete": options.insert(.firesOnRecordDeletion)
            default:
                throw SourceProblem(object.place("firesOn"), "has the unknown event '\(event)'")
            }
        }
        if try object.flag("firesOnce") == true { options.insert(.firesOnce) }
        return options
    }

    private static func info(_ object: SourceObject) throws(SourceProblem) -> NotificationInfo {
        var info = NotificationInfo()
        for part in NotificationInfo.texts where part.name != "webhook" {
            info[keyPath: part.path] = try object.string(part.name)
        }
        for part in NotificationInfo.lists {
            let name = part.name == "desiredKeys" ? "additionalFields" : part.name
            info[keyPath: part.path] = try object.strings(name)
        }
        for part in NotificationInfo.flags {
            info[keyPath: part.path] = try object.flag(part.name) ?? false
        }
        return info
    }
}

/// The filters of a query as a predicate: each comparator is what a native client's would be.
struct SourceFilters {
    var predicate: Query.Predicate
    /// Native predicates can't say NOT_LIST_CONTAINS_ALL.
    var isExtended: Bool

    init(_ query: SourceObject, mapped: (String) -> String) throws(SourceProblem) {
        var nodes: [Query.Node] = []
        for (index, json) in try query.list("filterBy").enumerated() {
            let filter = try SourceObject(json, at: "\(query.place("filterBy"))[\(index)]")
            nodes += try SourceFilters.nodes(filter, mapped)
            if index > 0 { nodes.append(.and) }
        }
        predicate = nodes.isEmpty ? .all : Query.Predicate(nodes: nodes)
        isExtended = nodes.contains(.or)
    }

    private static let systemFields: [String: SystemField] = [
        "recordName": .recordID, "share": .share, "parent": .parent,
        "createdUserRecordName": .createdBy, "modifiedUserRecordName": .modifiedBy,
        "createdTimestamp": .createTime, "modifiedTimestamp": .modTime,
    ]

    private static func key(_ filter: SourceObject) throws(SourceProblem) -> String {
        if let name = try filter.string("fieldName") {
            return name == "___recordId" ? SystemField.recordID.rawValue : name
        }
        let name = try filter.needed("systemFieldName")
        guard let field = systemFields[name] else {
            throw SourceProblem(filter.place("systemFieldName"), "is the unknown field '\(name)'")
        }
        return field.rawValue
    }

    private static func nodes(
        _ filter: SourceObject,
        _ mapped: (String) -> String
    ) throws(SourceProblem) -> [Query.Node] {
        let word = try filter.needed("comparator")
        let isNegated = word.hasPrefix("NOT_") && word != "NOT_EQUALS"
        let plain = isNegated ? String(word.dropFirst(4)) : word
        guard let relation = relations[plain] else {
            throw SourceProblem(filter.place("comparator"), "is the unknown '\(word)'")
        }
        let values = try operands(filter, mapped)
        let isOfWords = relation == .containsAllTokens || relation == .containsAnyToken
        let key = isOfWords ? "" : try key(filter)
        var found: [Query.Node]
        switch plain {
        case "NEAR":
            let distance = try filter.number("distance") ?? 0
            found = [node(key, relation, values + [.double(distance)])]
        case "LIST_CONTAINS_ALL":
            // All, or with a negation at least one that is not there.
            found = values.isEmpty ? [.constant(!isNegated)] : []
            for (index, value) in values.enumerated() {
                found.append(node(key, relation, [value]))
                if isNegated { found.append(.not) }
                if index > 0 { found.append(isNegated ? .or : .and) }
            }
            return found
        case "IN", "LIST_CONTAINS_ANY":
            if values.isEmpty { return [.constant(isNegated)] }
            found = [node(key, relation, values)]
        default:
            guard values.count == 1 else {
                throw SourceProblem(filter.place("fieldValue"), "must be one value for \(word)")
            }
            found = [node(key, relation, values)]
        }
        if isNegated { found.append(.not) }
        return found
    }

    private static let relations: [String: Query.Relation] = [
        "EQUALS": .equals, "NOT_EQUALS": .notEquals, "LESS_THAN": .lessThan,
        "LESS_THAN_OR_EQUALS": .lessThanOrEquals, "GREATER_THAN": .greaterThan,
        "GREATER_THAN_OR_EQUALS": .greaterThanOrEquals, "NEAR": .isAtMostAsFarAs,
        "CONTAINS_ALL_TOKENS": .containsAllTokens, "CONTAINS_ANY_TOKENS": .containsAnyToken,
        "IN": .isIn, "BEGINS_WITH": .beginsWith, "LIST_CONTAINS": .listContains,
        "LIST_CONTAINS_ANY": .listContainsAny, "LIST_CONTAINS_ALL": .listContains,
        "LIST_MEMBER_BEGINS_WITH": .listMemberBeginsWith,
    ]

    private static func node(
        _ key: String,
        _ relation: Query.Relation,
        _ values: [FieldValue]
    ) -> Query.Node {
        .comparison(Query.Comparison(key, relation, values.map { .value($0) }))
    }

    /// One value, or the members of a list.
    private static func operands(
        _ filter: SourceObject,
        _ mapped: (String) -> String
    ) throws(SourceProblem) -> [FieldValue] {
        let place = filter.place("fieldValue")
        // References of filters may name any zone.
        let value = try SourceValue(
            filter["fieldValue"] ?? .null,
            in: try zone(of: filter),
            at: place
        )
        guard case .plain(let read)? = value else {
            throw SourceProblem(place, "must have a value")
        }
        let members = read.list ?? [read]
        return members.map { $0.mappingUsers(mapped) }
    }

    private static func zone(of filter: SourceObject) throws(SourceProblem) -> String {
        let value = filter["fieldValue"]?["value"]
        guard case .string(let name)? = value?["zoneID"]?["zoneName"] else {
            return Names.defaultZone
        }
        return name
    }
}

extension FieldValue {
    /// The same value, with references to users changed.
    ///
    /// Only users have names of that form.
    package func mappingUsers(_ mapped: (String) -> String) -> FieldValue {
        switch self {
        case .reference(var reference) where Names.isUserRecordName(reference.recordName):
            reference.recordName = mapped(reference.recordName)
            return .reference(reference)
        case .list(let elements): return .list(elements.map { $0.mappingUsers(mapped) })
        default: return self
        }
    }
}
