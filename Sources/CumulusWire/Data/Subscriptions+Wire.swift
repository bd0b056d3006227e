// The calls on subscriptions: save and delete, fetch.
//
// `subscriptions.proto`. Requests are read as they came, names unchecked: the node judges them.

package import CumulusModel

/// `Subscription`, as a message holds it.
package struct WireSubscription: Coded, Hashable {
    package enum Kind: Hashable, Sendable {
        case query(QueryKind)
        case zone(ZoneKind)
        case database(DatabaseKind)
    }

    /// `QuerySubscription`.
    package struct QueryKind: Coded, Hashable {
        package var recordType: Bytes = []
        /// Postfix; empty: all records of the type.
        package var predicate: [Query.Node] = []
        /// nil means all zones.
        package var zone: WireZoneID?
        package var options: UInt32 = 0
        package var allowsExtensions = false

        package init() {}

        package init(
            recordType: Bytes,
            predicate: [Query.Node],
            zone: WireZoneID?,
            options: UInt32,
            allowsExtensions: Bool
        ) {
            self.recordType = recordType
            self.predicate = predicate
            self.zone = zone
            self.options = options
            self.allowsExtensions = allowsExtensions
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &recordType)
            try coder.list(2, &predicate)
            try coder.message(3, &zone)
            try coder.number(4, &options)
            try coder.flag(5, &allowsExtensions)
        }
    }

    /// `ZoneSubscription`.
    package struct ZoneKind: Coded, Hashable {
        package var zone = WireZoneID()
        /// Only records of this type count; empty: of any type.
        package var recordType: Bytes = []

        package init() {}

        package init(_ zone: WireZoneID, recordType: Bytes) {
            self.zone = zone
            self.recordType = recordType
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &zone)
            try coder.bytes(2, &recordType)
        }
    }

    /// `DatabaseSubscription`: the record type; empty: all types.
    package typealias DatabaseKind = BytesMessage

    package var id: Bytes = []
    /// nil for one that this release doesn't know.
    package var kind: Kind?
    package var info: Subscription.NotificationInfo?

    package init() {}

    package init(id: Bytes, kind: Kind?, info: Subscription.NotificationInfo? = nil) {
        self.id = id
        self.kind = kind
        self.info = info
    }

    package init(_ subscription: Subscription) {
        id = Bytes(subscription.id.utf8)
        info = subscription.notificationInfo
        switch subscription.kind {
        case .query(let type, let predicate, let zone):
            kind = .query(
                QueryKind(
                    recordType: Bytes(type.utf8),
                    predicate: predicate.nodes,
                    zone: zone.map { WireZoneID($0) },
                    options: subscription.options.rawValue,
                    allowsExtensions: subscription.allowsExtensions
                )
            )
        case .zone(let zone, let type):
            kind = .zone(ZoneKind(WireZoneID(zone), recordType: Bytes((type ?? "").utf8)))
        case .database(let type): kind = .database(DatabaseKind(Bytes((type ?? "").utf8)))
        }
    }

    private var number: Int? {
        switch kind {
        case .query: 2
        case .zone: 3
        case .database: 4
        case nil: nil
        }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        switch try coder.choice(2...4, number) {
        case 2:
            var query = if case .query(let query) = kind { query } else { QueryKind() }
            try coder.member(2, &query)
            kind = .query(query)
        case 3:
            var zone = if case .zone(let zone) = kind { zone } else { ZoneKind() }
            try coder.member(3, &zone)
            kind = .zone(zone)
        case 4:
            var type = if case .database(let type) = kind { type } else { DatabaseKind() }
            try coder.member(4, &type)
            kind = .database(type)
        default: break
        }
        try coder.message(5, &info)
    }

    /// The client's form; nil without a kind.
    package var subscription: Subscription? {
        let id = String(decoding: id, as: UTF8.self)
        switch kind {
        case .query(let query):
            var subscription = Subscription(
                id: id,
                kind: .query(
                    recordType: String(decoding: query.recordType, as: UTF8.self),
                    predicate: query.predicate.isEmpty
                        ? .all : Query.Predicate(nodes: query.predicate),
                    zone: query.zone?.id
                ),
                options: Subscription.Options(rawValue: query.options),
                notificationInfo: info
            )
            subscription.allowsExtensions = query.allowsExtensions
            return subscription
        case .zone(let kind):
            let type = WireSubscription.text(kind.recordType)
            let zone = Subscription.Kind.zone(kind.zone.id, recordType: type)
            return Subscription(id: id, kind: zone, notificationInfo: info)
        case .database(let type):
            let kind = Subscription.Kind.database(recordType: WireSubscription.text(type.bytes))
            return Subscription(id: id, kind: kind, notificationInfo: info)
        case nil: return nil
        }
    }

    private static func text(_ bytes: Bytes) -> String? {
        bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Bytes of it in a message.
    package var byteCount: Int { encoded().count }
}

// MARK: - Save and delete

package struct ModifySubscriptionsRequest: Coded, Hashable {
    package var database: UInt32 = 0
    package var saves: [WireSubscription] = []
    package var deletes: [Bytes] = []

    package init() {}

    package init(database: DatabaseScope, saves: [WireSubscription], deletes: [Bytes]) {
        self.database = UInt32(database.rawValue)
        self.saves = saves
        self.deletes = deletes
    }

    package var roughCount: Int { 256 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.list(2, &saves)
        try coder.list(3, &deletes)
    }
}

package struct ModifySubscriptionsResponse: WireMessage {
    package var saveResults: [WireOutcome] = []
    package var deleteResults: [WireOutcome] = []

    package init() {}

    /// - Parameters:
    ///   - saves: nil where the item is done.
    ///   - deletes: The same.
    package init(saves: [ServiceError?], deletes: [ServiceError?]) {
        saveResults = saves.map { WireOutcome($0) }
        deleteResults = deletes.map { WireOutcome($0) }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &saveResults)
        try coder.list(2, &deleteResults)
    }

    package var saves: [ServiceError?] { saveResults.map(\.failure) }
    package var deletes: [ServiceError?] { deleteResults.map(\.failure) }
}

// MARK: - Fetch

package struct FetchSubscriptionsRequest: Coded, Hashable {
    package var database: UInt32 = 0
    /// nil means all.
    package var ids: [Bytes]? = []

    package init() {}

    package init(database: DatabaseScope, ids: [Bytes]?) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        var isAll = ids == nil
        try coder.flag(2, &isAll)
        var names = ids ?? []
        try coder.list(3, &names)
        if coder.reads { ids = isAll ? nil : names }
    }
}

package typealias SubscriptionResult = Result<Subscription, ServiceError>
package typealias FetchSubscriptionsResponse = MessageList<WireResult<WireSubscription>>

extension FetchSubscriptionsResponse {
    package init(_ results: [SubscriptionResult]) {
        self.init(results.map { result in WireResult(result.map { WireSubscription($0) }) })
    }

    package var results: [SubscriptionResult] {
        elements.map { $0.result(\.subscription) }
    }
}
