// Queries, and subscriptions, which have predicates like queries.
//
// `queries.proto` and `subscriptions.proto`. What this release can't read of a predicate is
// refused, with the reason. hot: once per page of a query.

import CCumulusWire
package import CumulusModel
package import CumulusWire

extension QueryRecordsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__query_records_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        recordType = raw.record_type.swiftBytes
        predicate = try nodes(raw.n_predicate, raw.predicate)
        sort = elements(raw.n_sort, raw.sort).map(SortKey.init(wire:))
        allowsExtensions = raw.allows_extensions != 0
        limit = raw.limit
        keys = CumulusRequests.keys(raw.only_keys, raw.n_keys, raw.keys)
        cursor = raw.cursor.swiftBytes
        counts = raw.counts != 0
        explains = raw.explains != 0
    }
}

extension QueryRecordsRequest.SortKey {
    fileprivate init(wire raw: Cumulus__V1__SortKey) {
        self.init()
        key = raw.key.swiftBytes
        descending = raw.descending != 0
        origin = raw.origin.map { Location(wire: $0.pointee) }
    }
}

// MARK: - Predicates

private func nodes(
    _ count: Int,
    _ start: UnsafeMutablePointer<UnsafeMutablePointer<Cumulus__V1__PredicateNode>?>?
) throws(MalformedMessage) -> [Query.Node] {
    try elements(count, start).map { (node) throws(MalformedMessage) in
        try Query.Node(wire: node)
    }
}

extension Query.Node {
    fileprivate init(wire raw: Cumulus__V1__PredicateNode) throws(MalformedMessage) {
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
    fileprivate init(wire raw: Cumulus__V1__Comparison) throws(MalformedMessage) {
        guard let relation = Query.Relation(rawValue: UInt32(raw.relation.rawValue)) else {
            throw MalformedMessage(message: "a comparison's relation is unknown to this server")
        }
        guard let key = raw.key.checkedText else {
            throw MalformedMessage(message: "the key of a comparison is not UTF-8")
        }
        let operands = try elements(raw.n_operands, raw.operands).map {
            (operand) throws(MalformedMessage) in
            try Query.Operand(wire: operand)
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
            let value = try FieldValue(operand: field.pointee)
        else { throw MalformedMessage(message: "a comparison has an operand without a value") }
        self = .value(value)
    }
}

extension FieldValue {
    /// nil for a field without a value, or with one of a kind that this release doesn't know.
    fileprivate init?(operand raw: Cumulus__V1__Field) throws(MalformedMessage) {
        switch raw.value_case {
        case CUMULUS__V1__FIELD__VALUE_STRING: self = .string(try raw.string.operandText)
        case CUMULUS__V1__FIELD__VALUE_INT64: self = .int64(raw.int64)
        case CUMULUS__V1__FIELD__VALUE_DOUBLE: self = .double(raw.double_)
        case CUMULUS__V1__FIELD__VALUE_TIMESTAMP:
            self = .timestamp(Timestamp(millisecondsSince1970: raw.timestamp))
        case CUMULUS__V1__FIELD__VALUE_BYTES: self = .bytes(raw.bytes.swiftBytes)
        case CUMULUS__V1__FIELD__VALUE_LOCATION:
            guard let location = raw.location else { return nil }
            self = .location(Location(wire: location.pointee))
        case CUMULUS__V1__FIELD__VALUE_REFERENCE:
            guard let reference = raw.reference?.pointee else { return nil }
            let action = UInt8(exactly: reference.action.rawValue)
                .flatMap(Record.Reference.Action.init(rawValue:))
            self = .reference(
                Record.Reference(
                    recordName: try reference.record_name.operandText,
                    action: action ?? .none
                )
            )
        case CUMULUS__V1__FIELD__VALUE_ASSET:
            guard let asset = raw.asset?.pointee else { return nil }
            self = .asset(Asset(digest: asset.digest.swiftBytes, size: asset.size))
        case CUMULUS__V1__FIELD__VALUE_LIST:
            throw MalformedMessage(message: "an operand is a list; send its elements")
        default: return nil
        }
    }
}

extension ProtobufCBinaryData {
    /// nil for what is not UTF-8.
    fileprivate var checkedText: String? { String(validating: swiftBytes, as: UTF8.self) }

    fileprivate var operandText: String {
        get throws(MalformedMessage) {
            guard let text = checkedText else {
                throw MalformedMessage(message: "a text in a comparison is not UTF-8")
            }
            return text
        }
    }
}

extension MalformedMessage {
    fileprivate static let unknownNode = MalformedMessage(
        message: "a predicate holds something that this server doesn't know"
    )
}

// MARK: - Subscriptions

extension ModifySubscriptionsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__modify_subscriptions_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        saves = try elements(raw.n_saves, raw.saves).map { (save) throws(MalformedMessage) in
            try WireSubscription(wire: save)
        }
        deletes = elements(raw.n_deletes, raw.deletes).map(\.swiftBytes)
    }
}

extension WireSubscription {
    fileprivate init(wire raw: Cumulus__V1__Subscription) throws(MalformedMessage) {
        self.init()
        id = raw.id.swiftBytes
        switch raw.kind_case {
        case CUMULUS__V1__SUBSCRIPTION__KIND_QUERY:
            kind = .query(try QueryKind(wire: raw.query.pointee))
        case CUMULUS__V1__SUBSCRIPTION__KIND_ZONE:
            let zone = raw.zone.pointee
            kind = .zone(
                ZoneKind(
                    zone.zone.map { WireZoneID(wire: $0.pointee) } ?? WireZoneID(),
                    recordType: zone.record_type.swiftBytes
                )
            )
        case CUMULUS__V1__SUBSCRIPTION__KIND_DATABASE:
            kind = .database(DatabaseKind(raw.database.pointee.record_type.swiftBytes))
        default: break
        }
        if let info = raw.notification_info {
            self.info = try Subscription.NotificationInfo(wire: info.pointee)
        }
    }
}

extension WireSubscription.QueryKind {
    fileprivate init(wire raw: Cumulus__V1__QuerySubscription) throws(MalformedMessage) {
        self.init()
        recordType = raw.record_type.swiftBytes
        predicate = try nodes(raw.n_predicate, raw.predicate)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        options = raw.options
        allowsExtensions = raw.allows_extensions != 0
    }
}

extension Subscription.NotificationInfo {
    fileprivate init(wire raw: Cumulus__V1__NotificationInfo) throws(MalformedMessage) {
        self.init()
        let texts = [
            raw.alert_body, raw.alert_localization_key, raw.title, raw.title_localization_key,
            raw.subtitle, raw.subtitle_localization_key, raw.alert_action_localization_key,
            raw.alert_launch_image, raw.sound_name, raw.category, raw.collapse_id_key,
            raw.webhook,
        ]
        for (text, part) in zip(texts, Self.texts) where text.len > 0 {
            self[keyPath: part.path] = try text.notificationText
        }
        let lists = [
            elements(raw.n_alert_localization_args, raw.alert_localization_args),
            elements(raw.n_title_localization_args, raw.title_localization_args),
            elements(raw.n_subtitle_localization_args, raw.subtitle_localization_args),
            elements(raw.n_desired_keys, raw.desired_keys),
        ]
        for (names, part) in zip(lists, Self.lists) {
            for name in names { self[keyPath: part.path].append(try name.notificationText) }
        }
        shouldBadge = raw.should_badge != 0
        shouldSendContentAvailable = raw.should_send_content_available != 0
        shouldSendMutableContent = raw.should_send_mutable_content != 0
    }
}

extension ProtobufCBinaryData {
    fileprivate var notificationText: String {
        get throws(MalformedMessage) {
            guard let text = checkedText else {
                throw MalformedMessage(message: "a text of a notification is not UTF-8")
            }
            return text
        }
    }
}

extension FetchSubscriptionsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_subscriptions_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        ids = raw.all == 0 ? elements(raw.n_ids, raw.ids).map(\.swiftBytes) : nil
    }
}

extension EndSubscriptionsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__end_subscriptions_request__unpack)
        self.init()
        user = message.raw.user.swiftBytes
        ids = elements(message.raw.n_ids, message.raw.ids).map(\.swiftBytes)
    }
}
