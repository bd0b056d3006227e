// Subscriptions as web services write them, both ways.
//
// A query of a subscription is kept as a predicate, like one that a native client made; it is
// written as filters again where filters can say it.

package import CumulusModel

package struct WebSubscription {
    /// The fields of the searched type in the schema.
    let columns: [String: FieldType]
    /// The caller's user record name.
    let user: String

    package init(columns: [String: FieldType], user: String) {
        self.columns = columns
        self.user = user
    }

    /// The type that a query subscription watches; nil: it is of another kind.
    package static func recordType(_ object: WebObject) throws(WebError) -> String? {
        try object.object("query")?.string("recordType")
    }

    /// - Parameter newID: Made by the server where the request has none.
    package func subscription(
        _ object: WebObject,
        newID: () -> String
    ) throws(WebError) -> Subscription {
        let id = try object.string("subscriptionID") ?? newID()
        var subscription: Subscription
        switch try object.needed("subscriptionType") {
        case "query": subscription = try query(object, id)
        case "zone":
            try WebSubscription.refuseQuery(in: object)
            let zone = try WebZone.id(in: object, for: user)
            let isWide = try object.flag("zoneWide")
            if zone != nil, isWide == true {
                throw .badRequest(
                    "'\(object.place("zoneID"))' names one zone, and 'zoneWide' all; leave one out"
                )
            }
            if zone == nil, isWide == false {
                throw .badRequest(
                    "'\(object.place("zoneWide"))' is false, and no 'zoneID' names a zone; name "
                        + "one, or leave 'zoneWide' out"
                )
            }
            subscription = Subscription(id: id, kind: zone.map { .zone($0) } ?? .database())
        case "database":
            try WebSubscription.refuseQuery(in: object)
            guard try WebZone.id(in: object, for: user) == nil else {
                throw .badRequest(
                    "'\(object.place("zoneID"))' is of a zone's subscription; leave it out"
                )
            }
            guard try object.flag("zoneWide") != false else {
                throw .badRequest(
                    "'\(object.place("zoneWide"))' is false, and a database's subscription tells "
                        + "of all zones; leave it out"
                )
            }
            subscription = Subscription(id: id, kind: .database())
        case let type:
            throw .badRequest(
                "'\(object.place("subscriptionType"))' must be query, zone or database, not "
                    + "'\(type)'"
            )
        }
        if let info = try object.object("notificationInfo") {
            subscription.notificationInfo = try WebSubscription.info(info)
        }
        return subscription
    }

    /// Refuses what only a query's subscription can mean: the others tell of all changes, each
    /// time.
    private static func refuseQuery(in object: WebObject) throws(WebError) {
        guard object["query"] == nil else {
            throw .badRequest(
                "'\(object.place("query"))' is of a query's subscription; leave it out"
            )
        }
        let events = try object.strings("firesOn").map { Set($0) }
        guard events == nil || events == Set(WebSubscription.events.map(\.name)) else {
            throw .badRequest(
                "'\(object.place("firesOn"))' must be create, update and delete, or be left out: "
                    + "only a query's subscription tells of some changes"
            )
        }
        guard try object.flag("firesOnce") != true else {
            throw .badRequest(
                "'\(object.place("firesOnce"))' is of a query's subscription; leave it out"
            )
        }
    }

    private func query(_ object: WebObject, _ id: String) throws(WebError) -> Subscription {
        guard let body = try object.object("query") else {
            throw .badRequest("'\(object.place("query"))' is missing")
        }
        let named = try WebZone.id(in: object, for: user)
        let isWide = try object.flag("zoneWide") ?? (named == nil)
        let zone = isWide ? nil : named ?? .default
        let reader = WebFieldReader(zone: zone ?? .default, user: user)
        let query = try WebQuery(columns: columns, reader).query(body)
        var options: Subscription.Options = []
        for event in try object.strings("firesOn") ?? [] {
            guard let option = WebSubscription.events.first(where: { $0.name == event })?.option
            else {
                throw .badRequest(
                    "'\(object.place("firesOn"))' holds create, update and delete, not '\(event)'"
                )
            }
            options.insert(option)
        }
        guard !options.isEmpty else { throw .badRequest("'\(object.place("firesOn"))' is missing") }
        if try object.flag("firesOnce") == true { options.insert(.firesOnce) }
        var subscription = Subscription(
            id: id,
            kind: .query(recordType: query.recordType, predicate: query.predicate, zone: zone),
            options: options
        )
        subscription.allowsExtensions = query.allowsExtensions
        return subscription
    }

    private static let events: [(name: String, option: Subscription.Options)] = [
        ("create", .firesOnRecordCreation), ("update", .firesOnRecordUpdate),
        ("delete", .firesOnRecordDeletion),
    ]

    private static func info(
        _ object: WebObject
    ) throws(WebError) -> Subscription.NotificationInfo {
        var info = Subscription.NotificationInfo()
        for part in Subscription.NotificationInfo.texts {
            if let text = try object.string(part.name) { info[keyPath: part.path] = text }
        }
        guard info.webhook != "" else {
            throw .badRequest(
                "'\(object.place("webhook"))' is empty; name a webhook, or leave it out"
            )
        }
        for part in Subscription.NotificationInfo.lists {
            if let names = try object.strings(webName(part.name)) {
                info[keyPath: part.path] = names
            }
        }
        for part in Subscription.NotificationInfo.flags {
            if let flag = try object.flag(part.name) { info[keyPath: part.path] = flag }
        }
        return info
    }

    /// Native clients say desiredKeys for what web clients call additionalFields.
    private static func webName(_ name: String) -> String {
        name == "desiredKeys" ? "additionalFields" : name
    }

    // MARK: Answers

    package func json(_ subscription: Subscription) -> JSON {
        var members = [JSON.Member("subscriptionID", .string(subscription.id))]
        func add(_ key: String, _ value: JSON) { members.append(JSON.Member(key, value)) }
        switch subscription.kind {
        case .query(let type, let predicate, let zone):
            add("subscriptionType", "query")
            var query = [JSON.Member("recordType", .string(type))]
            if let filters = WebFilters(columns: columns, user: user).filters(of: predicate) {
                query.append(JSON.Member("filterBy", .array(filters)))
            }
            add("query", .object(query))
            if let zone { add("zoneID", WebZone.json(zone, user: user)) }
            add("zoneWide", .bool(zone == nil))
            let events = WebSubscription.events.filter {
                subscription.options.contains($0.option)
            }
            add("firesOn", .array(events.map { .string($0.name) }))
            add("firesOnce", .bool(subscription.options.contains(.firesOnce)))
        case .zone(let zone, _):
            add("subscriptionType", "zone")
            add("zoneID", WebZone.json(zone, user: user))
        case .database: add("subscriptionType", "database")
        }
        if let info = subscription.notificationInfo {
            add("notificationInfo", WebSubscription.json(info))
        }
        return .object(members)
    }

    private static func json(_ info: Subscription.NotificationInfo) -> JSON {
        let texts = Subscription.NotificationInfo.texts.compactMap { part in
            info[keyPath: part.path].map { JSON.Member(part.name, .string($0)) }
        }
        let lists = Subscription.NotificationInfo.lists.compactMap { part -> JSON.Member? in
            let names = info[keyPath: part.path]
            if names.isEmpty { return nil }
            return JSON.Member(webName(part.name), .array(names.map { .string($0) }))
        }
        let flags = Subscription.NotificationInfo.flags.compactMap { part in
            info[keyPath: part.path] ? JSON.Member(part.name, .bool(true)) : nil
        }
        return .object(texts + lists + flags)
    }

    /// One entry of a list of results for a subscription that failed.
    package static func entry(_ error: WebError, _ id: String, uuid: String) -> JSON {
        error.entry(JSON.Member("subscriptionID", .string(id)), uuid: uuid)
    }
}
