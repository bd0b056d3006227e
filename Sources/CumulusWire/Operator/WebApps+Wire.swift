// The calls of operators about web apps: list, register or change, remove.
//
// `accounts.proto`. Names are bytes in requests; the node checks them.

package import CumulusModel

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
