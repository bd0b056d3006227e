// The calls of operators about the subscriptions of a user: list them, end them.
//
// `subscriptions.proto`. Requests are read as they came, names unchecked: the node judges them.

package import CumulusModel

/// `UserSubscription`: what an operator is told of a subscription.
package struct WireUserSubscription: Coded, Hashable {
    package enum Kind: UInt32, Sendable {
        case query = 1
        case zone = 2
        case database = 3
    }

    package var database: UInt32 = 0
    package var id: Bytes = []
    /// `Kind`, or a number that this release doesn't know.
    package var kind: UInt32 = 0
    /// Empty: records of all types.
    package var recordType: Bytes = []
    /// In its predicate.
    package var comparisons: UInt32 = 0
    /// How many of them each change of a record of the type makes.
    package var cost: UInt32 = 0
    package var hasFired = false

    package init() {}

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

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.bytes(2, &id)
        try coder.number(3, &kind)
        try coder.bytes(4, &recordType)
        try coder.number(5, &comparisons)
        try coder.number(6, &cost)
        try coder.flag(7, &hasFired)
    }
}

/// The user's name.
package typealias ListUserSubscriptionsRequest = BytesRequest
package typealias ListUserSubscriptionsResponse = MessageList<WireUserSubscription>

package struct EndSubscriptionsRequest: Coded, Hashable {
    /// Name.
    package var user: Bytes = []
    /// Empty: all subscriptions of the user.
    package var ids: [Bytes] = []

    package init() {}

    package init(user: Bytes, ids: [Bytes]) {
        self.user = user
        self.ids = ids
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.list(2, &ids)
    }
}

package struct EndSubscriptionsResponse: WireMessage, Hashable {
    /// How many there were.
    package var count: UInt32 = 0

    package init() {}

    package init(count: Int) {
        self.count = UInt32(clamping: count)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &count)
    }
}
