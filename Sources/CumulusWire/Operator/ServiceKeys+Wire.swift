// Service keys and web apps: what a server signs in its greeting, and how operators register, list
// and end what may come in that is no user's device.
//
// `accounts.proto`. The node checks what requests say.

package import CumulusModel

/// What a server signs to show that it holds the private half of a service key.
package enum ServiceKeyProof {
    package static let nonceBytes = 32

    /// The bytes that are signed: good for one connection, one cluster and one scope; over TLS for
    /// one certificate, so that nobody in between can pass the signature on.
    ///
    /// Fixed by proto/accounts.md.
    ///
    /// - Parameters:
    ///   - scope: The one that the greeting names.
    ///   - certificate: The digest of the listener's, as the signer saw it; empty over plain TCP.
    package static func content(
        serverNonce: Bytes,
        clientNonce: Bytes,
        clusterID: Bytes,
        scope: ScopeID,
        certificate: Bytes
    ) -> Bytes {
        // No container's name holds a zero byte.
        let scope = Bytes(scope.container.utf8) + [0, scope.environment.rawValue]
        return Bytes("cumulus service key".utf8) + serverNonce + clientNonce + clusterID + scope
            + certificate
    }
}

/// `ServiceKey`, as operators see it.
package struct WireServiceKey: Coded, Hashable {
    package var id: Bytes = []
    package var publicKey: Bytes = []
    package var label = ""
    package var created: Int64 = 0
    /// 0: never.
    package var expires: Int64 = 0
    /// User record name.
    package var user = ""

    package init() {}

    package init(
        id: Bytes,
        publicKey: Bytes,
        label: String,
        created: Int64,
        expires: Int64,
        user: String
    ) {
        self.id = id
        self.publicKey = publicKey
        self.label = label
        self.created = created
        self.expires = expires
        self.user = user
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.bytes(2, &publicKey)
        try coder.text(3, &label)
        try coder.signed(4, &created)
        try coder.signed(5, &expires)
        try coder.text(6, &user)
    }
}

package typealias ListKeysResponse = MessageList<WireServiceKey>

package struct AddKeyRequest: Coded, Hashable {
    package var publicKey: Bytes = []
    package var label = ""
    /// 0: never.
    package var expires: Int64 = 0

    package init() {}

    package init(publicKey: Bytes, label: String, expires: Int64) {
        self.publicKey = publicKey
        self.label = label
        self.expires = expires
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &publicKey)
        try coder.text(2, &label)
        try coder.signed(3, &expires)
    }
}

package struct AddKeyResponse: WireMessage, Hashable {
    package var key = WireServiceKey()
    package var existed = false

    package init() {}

    package init(key: WireServiceKey, existed: Bool) {
        self.key = key
        self.existed = existed
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        guard try coder.has(1, true) else { throw MalformedBytes("it holds no key") }
        try coder.message(1, &key)
        try coder.flag(2, &existed)
    }
}

/// The key's id.
package typealias RevokeKeyRequest = BytesRequest
/// Whether it existed.
package typealias RevokeKeyResponse = FlagMessage

// MARK: - Web apps

/// `WebApp`, as operators send and see it.
package struct WireWebApp: Coded, Hashable {
    package var name: Bytes = []
    /// The API token.
    package var token = ""
    package var origins: [String] = []
    package var callback = ""
    package var title = ""
    package var created: Int64 = 0
    /// 0: it has no logo.
    package var logoBytes: UInt32 = 0

    package init() {}

    package init(_ app: WebApp, logoBytes: Int = 0) {
        name = Bytes(app.name.utf8)
        token = app.token
        origins = app.origins
        callback = app.callback
        title = app.title
        created = app.created
        self.logoBytes = UInt32(clamping: logoBytes)
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &name)
        try coder.text(2, &token)
        try coder.list(3, &origins)
        try coder.text(4, &callback)
        try coder.text(5, &title)
        try coder.signed(6, &created)
        try coder.number(7, &logoBytes)
    }
}

package typealias ListWebAppsResponse = MessageList<WireWebApp>

package struct SetWebAppRequest: Coded, Hashable {
    package var app = WireWebApp()
    package var isNew = false
    /// Empty: the app keeps its own.
    package var logo: Bytes = []
    package var removesLogo = false

    package init() {}

    package init(_ app: WireWebApp, isNew: Bool, logo: Bytes = [], removesLogo: Bool = false) {
        self.app = app
        self.isNew = isNew
        self.logo = logo
        self.removesLogo = removesLogo
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        guard try coder.has(1, true) else { throw MalformedBytes("it names no web app") }
        try coder.message(1, &app)
        try coder.flag(2, &isNew)
        try coder.bytes(3, &logo)
        try coder.flag(4, &removesLogo)
    }
}

package struct SetWebAppResponse: WireMessage, Hashable {
    package var app = WireWebApp()

    package init() {}

    package init(_ app: WireWebApp) {
        self.app = app
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        guard try coder.has(1, true) else { throw MalformedBytes("it holds no web app") }
        try coder.message(1, &app)
    }
}

/// The app's name.
package typealias RemoveWebAppRequest = BytesRequest
/// Whether it existed.
package typealias RemoveWebAppResponse = FlagMessage
