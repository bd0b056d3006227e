// The calls on push addresses: register, list, end, and which services there are.
//
// `pushes.proto`. Requests are read as they came, names unchecked: the node judges them.

package import CumulusModel

package struct RegisterPushRequest: Coded, Hashable {
    /// `PushService`, or a number that this release doesn't know.
    package var service: UInt32 = 0
    package var token: Bytes = []
    package var topic: Bytes = []
    package var isSandbox = false
    package var publicKey: Bytes = []
    package var secret: Bytes = []
    package var label = ""

    package init() {}

    package init(_ address: PushAddress) {
        service = address.service.rawValue
        token = Bytes(address.token.utf8)
        topic = Bytes(address.topic.utf8)
        isSandbox = address.isSandbox
        publicKey = address.publicKey
        secret = address.secret
        label = address.label
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &service)
        try coder.bytes(2, &token)
        try coder.bytes(3, &topic)
        try coder.flag(4, &isSandbox)
        try coder.bytes(5, &publicKey)
        try coder.bytes(6, &secret)
        try coder.text(7, &label)
    }
}

package struct RegisterPushResponse: WireMessage, Hashable {
    package var id: Bytes = []
    package var isChanged = false

    package init() {}

    package init(id: Bytes, isChanged: Bool) {
        self.id = id
        self.isChanged = isChanged
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.flag(2, &isChanged)
    }
}

/// A user's name, of operators; empty: the caller's own.
package typealias ListPushesRequest = BytesRequest
package typealias ListPushesResponse = MessageList<WirePush>

/// `Push`, as its user and operators see it.
package struct WirePush: Coded, Hashable {
    package var id: Bytes = []
    /// `PushService`, or a number that this release doesn't know.
    package var service: UInt32 = 0
    package var topic: Bytes = []
    package var isSandbox = false
    package var label = ""
    package var device: Bytes = []
    package var registered: Int64 = 0
    package var isOfThis = false

    package init() {}

    package init(
        id: Bytes,
        _ address: PushAddress,
        device: Bytes,
        registered: Int64,
        isOfThis: Bool
    ) {
        self.id = id
        service = address.service.rawValue
        topic = Bytes(address.topic.utf8)
        isSandbox = address.isSandbox
        label = address.label
        self.device = device
        self.registered = registered
        self.isOfThis = isOfThis
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.number(2, &service)
        try coder.bytes(3, &topic)
        try coder.flag(4, &isSandbox)
        try coder.text(5, &label)
        try coder.bytes(6, &device)
        try coder.signed(7, &registered)
        try coder.flag(8, &isOfThis)
    }
}

package struct EndPushesRequest: Coded, Hashable {
    /// Empty: all of the user's.
    package var id: Bytes = []
    /// Name.
    package var user: Bytes = []

    package init() {}

    package init(id: Bytes, user: Bytes = []) {
        self.id = id
        self.user = user
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.bytes(2, &user)
    }
}

package struct EndPushesResponse: WireMessage, Hashable {
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

package typealias PushServicesResponse = MessageList<WirePushOffer>

/// `PushOffer`: what a cluster pushes with.
package struct WirePushOffer: Coded, Hashable {
    /// `PushService`, or a number that this release doesn't know.
    package var service: UInt32 = 0
    package var topics: [Bytes] = []
    package var publicKey: Bytes = []

    package init() {}

    package init(_ offer: PushOffer) {
        service = offer.service.rawValue
        topics = offer.topics.map { Bytes($0.utf8) }
        publicKey = offer.publicKey
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &service)
        try coder.list(2, &topics)
        try coder.bytes(3, &publicKey)
    }
}
