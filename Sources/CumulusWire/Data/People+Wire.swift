// How users find each other: profiles, handles, and the look-up of handles.
//
// `accounts.proto`. Names and handles are bytes here; the node checks them.

import CCumulusWire
package import CumulusModel

package struct WireHandle: Hashable, Sendable {
    /// `HandleKind`, or a number that this release doesn't know.
    package var kind: UInt32
    package var value: Bytes
    /// Empty in requests.
    package var verifiedBy: String

    package init(kind: UInt32, value: Bytes, verifiedBy: String = "") {
        self.kind = kind
        self.value = value
        self.verifiedBy = verifiedBy
    }

    func encode(to writer: inout CanonicalWriter) {
        writer.field(1, varint: UInt64(kind))
        writer.field(2, bytes: value)
        writer.field(3, text: verifiedBy)
    }

    init(_ raw: Cumulus__V1__Handle) {
        kind = UInt32(raw.kind.rawValue)
        value = raw.value.swiftBytes
        verifiedBy = raw.verified_by.swiftText
    }
}

/// `ProfileRequest`.
package enum ProfileMessages {
    /// - Parameter name: Of operators; empty: the caller's own.
    package static func request(ofUser name: Bytes) -> Bytes {
        OperatorMessages.request(name: name)
    }

    package static func user(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        try CMessage(bytes[...], cumulus__v1__profile_request__unpack).raw.user.swiftBytes
    }
}

/// A `ProfileResponse`.
package struct WireProfile: Hashable, Sendable {
    package var displayName: String
    package var isDiscoverable: Bool
    package var handles: [WireHandle]

    package init(displayName: String, isDiscoverable: Bool, handles: [WireHandle]) {
        self.displayName = displayName
        self.isDiscoverable = isDiscoverable
        self.handles = handles
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, text: displayName)
        writer.field(2, varint: isDiscoverable ? 1 : 0)
        for handle in handles { writer.message(3) { handle.encode(to: &$0) } }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__profile_response__unpack)
        displayName = message.raw.display_name.swiftText
        isDiscoverable = message.raw.is_discoverable != 0
        handles = elements(message.raw.n_handles, message.raw.handles).map { WireHandle($0) }
    }
}

package struct SetProfileRequest: Hashable, Sendable {
    /// A name, of operators; empty: the caller's own.
    package var user: Bytes
    package var displayName: Bytes
    package var isDiscoverable: Bool

    package init(user: Bytes = [], displayName: Bytes, isDiscoverable: Bool) {
        self.user = user
        self.displayName = displayName
        self.isDiscoverable = isDiscoverable
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, bytes: displayName)
        writer.field(3, varint: isDiscoverable ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_profile_request__unpack)
        user = message.raw.user.swiftBytes
        displayName = message.raw.display_name.swiftBytes
        isDiscoverable = message.raw.is_discoverable != 0
    }
}

package struct DiscoverRequest: Hashable, Sendable {
    package var handles: [WireHandle]
    /// User record names.
    package var users: [Bytes]

    package init(handles: [WireHandle] = [], users: [Bytes] = []) {
        self.handles = handles
        self.users = users
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        for handle in handles { writer.message(1) { handle.encode(to: &$0) } }
        for user in users { writer.present(2, bytes: user) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__discover_request__unpack)
        handles = elements(message.raw.n_handles, message.raw.handles).map { WireHandle($0) }
        users = elements(message.raw.n_users, message.raw.users).map(\.swiftBytes)
    }
}

/// Whom a handle or a user record name leads to.
package struct DiscoveredUser: Hashable, Sendable {
    /// User record name; empty if no discoverable user has the handle or the name.
    package var user: String
    package var displayName: String

    package init(user: String, displayName: String) {
        self.user = user
        self.displayName = displayName
    }

    /// The bytes of a `DiscoverResponse`, in the order of the request.
    package static func answer(_ users: [DiscoveredUser]) -> Bytes {
        var writer = CanonicalWriter()
        for user in users {
            writer.message(1) { writer in
                writer.field(1, text: user.user)
                writer.field(2, text: user.displayName)
            }
        }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [DiscoveredUser] {
        let message = try CMessage(answer: bytes, cumulus__v1__discover_response__unpack)
        return elements(message.raw.n_users, message.raw.users).map { raw in
            DiscoveredUser(user: raw.user.swiftText, displayName: raw.display_name.swiftText)
        }
    }
}

package struct SetHandleRequest: Hashable, Sendable {
    package var user: Bytes
    package var handle: WireHandle
    /// False: it is taken away from the user.
    package var isHeld: Bool

    package init(user: Bytes, handle: WireHandle, isHeld: Bool) {
        self.user = user
        self.handle = handle
        self.isHeld = isHeld
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.message(2) { handle.encode(to: &$0) }
        writer.field(3, varint: isHeld ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_handle_request__unpack)
        user = message.raw.user.swiftBytes
        let raw = message.raw.handle?.pointee
        handle = raw.map { WireHandle($0) } ?? WireHandle(kind: 0, value: [])
        isHeld = message.raw.is_held != 0
    }
}

package struct SetHandleResponse: Hashable, Sendable {
    /// The user had it before.
    package var existed: Bool
    /// Another user had it before.
    package var isMoved: Bool

    package init(existed: Bool, isMoved: Bool) {
        self.existed = existed
        self.isMoved = isMoved
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: existed ? 1 : 0)
        writer.field(2, varint: isMoved ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_handle_response__unpack)
        existed = message.raw.existed != 0
        isMoved = message.raw.moved != 0
    }
}
