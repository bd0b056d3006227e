// How users find each other: profiles, handles, and the look-up of handles.
//
// `accounts.proto`. Names and handles are bytes here; the node checks them.

package import CumulusModel

/// `Handle`.
package struct WireHandle: Coded, Hashable {
    /// `HandleKind`, or a number that this release doesn't know.
    package var kind: UInt32 = 0
    package var value: Bytes = []
    /// Empty in requests.
    package var verifiedBy = ""

    package init() {}

    package init(kind: UInt32, value: Bytes, verifiedBy: String = "") {
        self.kind = kind
        self.value = value
        self.verifiedBy = verifiedBy
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &kind)
        try coder.bytes(2, &value)
        try coder.text(3, &verifiedBy)
    }
}

/// A user's name, of operators; empty: the caller's own.
package typealias ProfileRequest = BytesRequest

/// A `ProfileResponse`.
package struct WireProfile: WireMessage, Hashable {
    package var displayName = ""
    package var isDiscoverable = false
    package var handles: [WireHandle] = []

    package init() {}

    package init(displayName: String, isDiscoverable: Bool, handles: [WireHandle]) {
        self.displayName = displayName
        self.isDiscoverable = isDiscoverable
        self.handles = handles
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &displayName)
        try coder.flag(2, &isDiscoverable)
        try coder.list(3, &handles)
    }
}

package struct SetProfileRequest: Coded, Hashable {
    /// A name, of operators; empty: the caller's own.
    package var user: Bytes = []
    package var displayName: Bytes = []
    package var isDiscoverable = false

    package init() {}

    package init(user: Bytes = [], displayName: Bytes, isDiscoverable: Bool) {
        self.user = user
        self.displayName = displayName
        self.isDiscoverable = isDiscoverable
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.bytes(2, &displayName)
        try coder.flag(3, &isDiscoverable)
    }
}

/// Whether it changed.
package typealias SetProfileResponse = FlagMessage

package struct DiscoverRequest: Coded, Hashable {
    package var handles: [WireHandle] = []
    /// User record names.
    package var users: [Bytes] = []

    package init() {}

    package init(handles: [WireHandle] = [], users: [Bytes] = []) {
        self.handles = handles
        self.users = users
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &handles)
        try coder.list(2, &users)
    }
}

/// The user to whom a handle or a user record name leads.
package struct DiscoveredUser: Coded, Hashable {
    /// User record name; empty if no discoverable user has the handle or the name.
    package var user = ""
    package var displayName = ""

    package init() {}

    package init(user: String, displayName: String) {
        self.user = user
        self.displayName = displayName
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &user)
        try coder.text(2, &displayName)
    }
}

/// In the order of the request.
package typealias DiscoverResponse = MessageList<DiscoveredUser>

package struct SetHandleRequest: Coded, Hashable {
    package var user: Bytes = []
    package var handle = WireHandle()
    /// False: it is taken away from the user.
    package var isHeld = false

    package init() {}

    package init(user: Bytes, handle: WireHandle, isHeld: Bool) {
        self.user = user
        self.handle = handle
        self.isHeld = isHeld
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.message(2, &handle)
        try coder.flag(3, &isHeld)
    }
}

package struct SetHandleResponse: WireMessage, Hashable {
    /// The user had it before.
    package var existed = false
    /// Another user had it before.
    package var isMoved = false

    package init() {}

    package init(existed: Bool, isMoved: Bool) {
        self.existed = existed
        self.isMoved = isMoved
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.flag(1, &existed)
        try coder.flag(2, &isMoved)
    }
}
