// The calls of operators about the subscriptions of a user: list them, end them.
//
// `subscriptions.proto`. Requests are decoded as they came, names unchecked: the node judges them.

import CCumulusWire
package import CumulusModel

/// What an operator is told of a subscription.
package struct WireUserSubscription: Hashable, Sendable {
    package enum Kind: UInt32, Sendable {
        case query = 1
        case zone = 2
        case database = 3
    }

    package var database: UInt32
    package var id: Bytes
    /// `Kind`, or a number that this release doesn't know.
    package var kind: UInt32
    /// Empty: records of all types.
    package var recordType: Bytes
    /// In its predicate.
    package var comparisons: UInt32
    /// How many of them each change of a record of the type makes.
    package var cost: UInt32
    package var hasFired: Bool

    package init(
        database: DatabaseScope,
        id: Bytes,
        kind: Kind,
        recordType: Bytes,
        comparisons: UInt32,
        cost: UInt32,
        hasFired: Bool
    ) {
        self.database = UInt32(database.rawValue)
        self.id = id
        self.kind = kind.rawValue
        self.recordType = recordType
        self.comparisons = comparisons
        self.cost = cost
        self.hasFired = hasFired
    }

    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: id)
        writer.field(3, varint: UInt64(kind))
        writer.field(4, bytes: recordType)
        writer.field(5, varint: UInt64(comparisons))
        writer.field(6, varint: UInt64(cost))
        writer.field(7, varint: hasFired ? 1 : 0)
    }

    fileprivate init(wire raw: Cumulus__V1__UserSubscription) {
        database = UInt32(raw.database.rawValue)
        id = raw.id.swiftBytes
        kind = UInt32(raw.kind.rawValue)
        recordType = raw.record_type.swiftBytes
        comparisons = raw.comparisons
        cost = raw.cost
        hasFired = raw.has_fired != 0
    }
}

package struct ListUserSubscriptionsRequest: Hashable, Sendable {
    /// Name.
    package var user: Bytes

    package init(user: Bytes) {
        self.user = user
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            bytes[...],
            cumulus__v1__list_user_subscriptions_request__unpack
        )
        user = message.raw.user.swiftBytes
    }
}

package enum ListUserSubscriptionsResponse {
    package static func answer(_ subscriptions: ArraySlice<WireUserSubscription>) -> Bytes {
        var writer = CanonicalWriter()
        for subscription in subscriptions {
            writer.message(1) { subscription.encode(to: &$0) }
        }
        return writer.bytes
    }

    package static func subscriptions(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> [WireUserSubscription] {
        let message = try CMessage(
            answer: bytes,
            cumulus__v1__list_user_subscriptions_response__unpack
        )
        return elements(message.raw.n_subscriptions, message.raw.subscriptions)
            .map(WireUserSubscription.init(wire:))
    }
}

package struct EndSubscriptionsRequest: Hashable, Sendable {
    /// Name.
    package var user: Bytes
    /// Empty: all subscriptions of the user.
    package var ids: [Bytes]

    package init(user: Bytes, ids: [Bytes]) {
        self.user = user
        self.ids = ids
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        for id in ids { writer.present(2, bytes: id) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__end_subscriptions_request__unpack)
        user = message.raw.user.swiftBytes
        ids = elements(message.raw.n_ids, message.raw.ids).map(\.swiftBytes)
    }
}

package enum EndSubscriptionsResponse {
    package static func encoded(count: Int) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(clamping: count))
        return writer.bytes
    }

    /// How many there were.
    package static func count(wire bytes: Bytes) throws(MalformedMessage) -> Int {
        Int(try CMessage(answer: bytes, cumulus__v1__end_subscriptions_response__unpack).raw.ended)
    }
}
