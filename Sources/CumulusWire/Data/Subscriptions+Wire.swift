// The calls on subscriptions: save and delete, fetch.
//
// `subscriptions.proto`. Requests are decoded as they came, names unchecked: the node judges them.

import CCumulusWire
package import CumulusModel

/// A subscription as a message holds it.
package struct WireSubscription: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case query(QueryKind)
        /// Of the records of one type; empty: of all.
        case zone(WireZoneID, recordType: Bytes)
        case database(recordType: Bytes)
    }

    package struct QueryKind: Hashable, Sendable {
        package var recordType: Bytes
        /// Postfix; empty: all records of the type.
        package var predicate: [Query.Node]
        /// nil means all zones.
        package var zone: WireZoneID?
        package var options: UInt32
        package var allowsExtensions: Bool

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
    }

    package var id: Bytes
    /// nil for one that this release doesn't know.
    package var kind: Kind?
    package var info: Subscription.NotificationInfo?

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
            kind = .zone(WireZoneID(zone), recordType: Bytes((type ?? "").utf8))
        case .database(let type): kind = .database(recordType: Bytes((type ?? "").utf8))
        }
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
        case .zone(let zone, let type):
            let kind = Subscription.Kind.zone(zone.id, recordType: WireSubscription.text(type))
            return Subscription(id: id, kind: kind, notificationInfo: info)
        case .database(let type):
            let kind = Subscription.Kind.database(recordType: WireSubscription.text(type))
            return Subscription(id: id, kind: kind, notificationInfo: info)
        case nil: return nil
        }
    }

    private static func text(_ bytes: Bytes) -> String? {
        bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Bytes of it in a message.
    package var byteCount: Int {
        var writer = CanonicalWriter()
        encode(to: &writer)
        return writer.bytes.count
    }

    func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: id)
        switch kind {
        case .query(let query): writer.message(2) { query.encode(to: &$0) }
        case .zone(let zone, let type):
            writer.message(3) { writer in
                zone.encode(1, to: &writer)
                writer.field(2, bytes: type)
            }
        case .database(let type): writer.message(4) { $0.field(1, bytes: type) }
        case nil: break
        }
        if let info { writer.message(5) { info.encode(to: &$0) } }
    }

    init(wire raw: Cumulus__V1__Subscription) throws(MalformedMessage) {
        id = raw.id.swiftBytes
        switch raw.kind_case {
        case CUMULUS__V1__SUBSCRIPTION__KIND_QUERY:
            kind = .query(try QueryKind(wire: raw.query.pointee))
        case CUMULUS__V1__SUBSCRIPTION__KIND_ZONE:
            let zone = raw.zone.pointee
            kind = .zone(
                zone.zone.map { WireZoneID(wire: $0.pointee) } ?? WireZoneID(name: [], owner: []),
                recordType: zone.record_type.swiftBytes
            )
        case CUMULUS__V1__SUBSCRIPTION__KIND_DATABASE:
            kind = .database(recordType: raw.database.pointee.record_type.swiftBytes)
        default: kind = nil
        }
        if let info = raw.notification_info {
            self.info = try Subscription.NotificationInfo(wire: info.pointee)
        }
    }
}

extension WireSubscription.QueryKind {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: recordType)
        for node in predicate { writer.message(2) { node.encode(to: &$0) } }
        zone?.encode(3, to: &writer)
        writer.field(4, varint: UInt64(options))
        writer.field(5, varint: allowsExtensions ? 1 : 0)
    }

    fileprivate init(wire raw: Cumulus__V1__QuerySubscription) throws(MalformedMessage) {
        recordType = raw.record_type.swiftBytes
        predicate = []
        for node in elements(raw.n_predicate, raw.predicate) {
            predicate.append(try Query.Node(wire: node))
        }
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        options = raw.options
        allowsExtensions = raw.allows_extensions != 0
    }
}

extension Subscription.NotificationInfo {
    init(wire raw: Cumulus__V1__NotificationInfo) throws(MalformedMessage) {
        self.init()
        let texts = [
            raw.alert_body, raw.alert_localization_key, raw.title, raw.title_localization_key,
            raw.subtitle, raw.subtitle_localization_key, raw.alert_action_localization_key,
            raw.alert_launch_image, raw.sound_name, raw.category, raw.collapse_id_key,
            raw.webhook,
        ]
        for (text, part) in zip(texts, Self.texts) where text.len > 0 {
            self[keyPath: part.path] = try text.checkedText
        }
        let lists = [
            elements(raw.n_alert_localization_args, raw.alert_localization_args),
            elements(raw.n_title_localization_args, raw.title_localization_args),
            elements(raw.n_subtitle_localization_args, raw.subtitle_localization_args),
            elements(raw.n_desired_keys, raw.desired_keys),
        ]
        for (names, part) in zip(lists, Self.lists) {
            for name in names { self[keyPath: part.path].append(try name.checkedText) }
        }
        shouldBadge = raw.should_badge != 0
        shouldSendContentAvailable = raw.should_send_content_available != 0
        shouldSendMutableContent = raw.should_send_mutable_content != 0
    }
}

extension ProtobufCBinaryData {
    fileprivate var checkedText: String {
        get throws(MalformedMessage) {
            guard let text = String(validating: swiftBytes, as: UTF8.self) else {
                throw MalformedMessage(message: "a text of a notification is not UTF-8")
            }
            return text
        }
    }
}

// MARK: - Save and delete

package struct ModifySubscriptionsRequest: Hashable, Sendable {
    package var database: UInt32
    package var saves: [WireSubscription]
    package var deletes: [Bytes]

    package init(database: DatabaseScope, saves: [WireSubscription], deletes: [Bytes]) {
        self.database = UInt32(database.rawValue)
        self.saves = saves
        self.deletes = deletes
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 256)
        writer.field(1, varint: UInt64(database))
        for subscription in saves { writer.message(2) { subscription.encode(to: &$0) } }
        for id in deletes { writer.present(3, bytes: id) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__modify_subscriptions_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        saves = []
        for save in elements(raw.n_saves, raw.saves) {
            saves.append(try WireSubscription(wire: save))
        }
        deletes = elements(raw.n_deletes, raw.deletes).map(\.swiftBytes)
    }
}

package struct ModifySubscriptionsResponse: Sendable {
    /// nil where the item is done.
    package var saves: [ServiceError?]
    package var deletes: [ServiceError?]

    package init(saves: [ServiceError?], deletes: [ServiceError?]) {
        self.saves = saves
        self.deletes = deletes
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 64)
        for (field, errors) in [(1, saves), (2, deletes)] {
            for error in errors {
                writer.message(field) { writer in
                    if let error { writer.present(1, bytes: error.encoded()) }
                }
            }
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            answer: bytes,
            cumulus__v1__modify_subscriptions_response__unpack
        )
        let raw = message.raw
        saves = elements(raw.n_saves, raw.saves).map(error)
        deletes = elements(raw.n_deletes, raw.deletes).map(error)
    }
}

private func error(_ change: Cumulus__V1__SubscriptionChange) -> ServiceError? {
    change.error.map { ServiceError(wire: $0.pointee) }
}

// MARK: - Fetch

package struct FetchSubscriptionsRequest: Hashable, Sendable {
    package var database: UInt32
    /// nil means all.
    package var ids: [Bytes]?

    package init(database: DatabaseScope, ids: [Bytes]?) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        writer.field(2, varint: ids == nil ? 1 : 0)
        for id in ids ?? [] { writer.present(3, bytes: id) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_subscriptions_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        ids = raw.all == 0 ? elements(raw.n_ids, raw.ids).map(\.swiftBytes) : nil
    }
}

package typealias SubscriptionResult = Result<Subscription, ServiceError>

package enum FetchSubscriptionsResponse {
    package static func encoded(_ results: [SubscriptionResult]) -> Bytes {
        var writer = CanonicalWriter(reserving: 256)
        for result in results {
            writer.message(1) { writer in
                switch result {
                case .success(let subscription):
                    writer.message(1) { WireSubscription(subscription).encode(to: &$0) }
                case .failure(let error): writer.present(2, bytes: error.encoded())
                }
            }
        }
        return writer.bytes
    }

    package static func results(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> [SubscriptionResult] {
        let message = try CMessage(answer: bytes, cumulus__v1__fetch_subscriptions_response__unpack)
        var results: [SubscriptionResult] = []
        for raw in elements(message.raw.n_results, message.raw.results) {
            results.append(try result(raw))
        }
        return results
    }

    private static func result(
        _ raw: Cumulus__V1__SubscriptionResult
    ) throws(MalformedMessage) -> SubscriptionResult {
        switch raw.result_case {
        case CUMULUS__V1__SUBSCRIPTION_RESULT__RESULT_SUBSCRIPTION:
            if let subscription = try WireSubscription(wire: raw.subscription.pointee).subscription
            {
                return .success(subscription)
            }
        case CUMULUS__V1__SUBSCRIPTION_RESULT__RESULT_ERROR:
            return .failure(ServiceError(wire: raw.error.pointee))
        default: break
        }
        return .failure(ServiceError(.internalError, "the server's answer holds an empty result"))
    }
}
