// Web apps that operators register in the cluster: each node knows them, without a file.
//
// Called by the node for operators, and for the doors, which ask which app an API token is of. An
// app is one register; the latest change of it counts. The register of its token leads to it, and
// counts as long as the app still has that token: so a token that was replaced, on another node
// perhaps, is good for nothing. A logo is a register of its own, which no request has to read.

import Crypto
package import CumulusModel
package import CumulusStorage

package enum RegisteredWebApps {
    /// Web apps of one environment of a container at which a node registers no more.
    package static let most = 1_000

    /// The app of an API token; nil if no app has the token.
    ///
    /// - Parameter digest: The SHA-256 of the token.
    package static func find<Reader: RowReader & ~Copyable>(
        token digest: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> WebApp? {
        guard let cluster = try reader.scope(.cluster),
            let value = try reader.register(cluster, AccountRegister.webApp, [tokens, digest])?
                .value
        else { return nil }
        let (scope, name) = try reader.decoding(digest) { () throws(MalformedBytes) in
            try place(value)
        }
        guard let app = try find(name, of: scope, cluster, in: reader),
            self.digest(of: app.token) == digest
        else { return nil }
        return app
    }

    /// The app with a name; nil if no app has it.
    package static func find<Reader: RowReader & ~Copyable>(
        _ name: String,
        of scope: ScopeID,
        in reader: borrowing Reader
    ) throws(EngineError) -> WebApp? {
        guard let cluster = try reader.scope(.cluster) else { return nil }
        return try find(name, of: scope, cluster, in: reader)
    }

    fileprivate static func find<Reader: RowReader & ~Copyable>(
        _ name: String,
        of scope: ScopeID,
        _ cluster: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> WebApp? {
        let key = key(apps, scope, name)
        guard let value = try reader.register(cluster, AccountRegister.webApp, key)?.value else {
            return nil
        }
        return try reader.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try WebApp(value, name: name, scope: scope)
        }
    }

    /// The apps of a scope by their names; each with the bytes of its logo, 0 without one.
    package static func all<Reader: RowReader & ~Copyable>(
        of scope: ScopeID,
        in reader: borrowing Reader
    ) throws(EngineError) -> [(app: WebApp, logoBytes: Int)] {
        var all: [(app: WebApp, logoBytes: Int)] = []
        for name in try names(of: scope, in: reader) {
            guard let app = try find(name, of: scope, in: reader) else { continue }
            all.append((app, try logo(of: app, in: reader).count))
        }
        return all
    }

    private static func names<Reader: RowReader & ~Copyable>(
        of scope: ScopeID,
        in reader: borrowing Reader
    ) throws(EngineError) -> [String] {
        guard let cluster = try reader.scope(.cluster) else { return [] }
        let start = Array(key(apps, scope, "").dropLast())
        return try reader.registers(cluster, AccountRegister.webApp, below: start)
            .compactMap { $0.key.first.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// The picture of an app: PNG or JPEG; empty if it has none.
    package static func logo<Reader: RowReader & ~Copyable>(
        of app: WebApp,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bytes {
        guard let cluster = try reader.scope(.cluster) else { return [] }
        let key = key(logos, app.scope, app.name)
        return try reader.register(cluster, AccountRegister.webApp, key)?.value ?? []
    }

    package static func digest(of token: String) -> Bytes {
        Bytes(SHA256.hash(data: Bytes(token.utf8)))
    }

    package static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "there is no web app '\(name)' in this environment of the container; "
                + "'cumulus web list' shows those that there are"
        )
    }

    // MARK: Keys

    fileprivate static let apps: Bytes = [UInt8(ascii: "a")]
    fileprivate static let logos: Bytes = [UInt8(ascii: "l")]
    fileprivate static let tokens: Bytes = [UInt8(ascii: "t")]

    fileprivate static func key(_ kind: Bytes, _ scope: ScopeID, _ name: String) -> [Bytes] {
        [kind, Bytes(scope.container.utf8), [scope.environment.rawValue], Bytes(name.utf8)]
    }

    fileprivate static func register(_ key: [Bytes], _ value: Bytes?) -> Commit.Register {
        Commit.Register(namespace: AccountRegister.webApp, key: key, value: value)
    }

    /// The registers by which a token leads to an app, or to none any more.
    fileprivate static func register(token: String, of app: WebApp?) -> Commit.Register {
        guard let app else { return register([tokens, digest(of: token)], nil) }
        var value = CanonicalWriter()
        value.scope(app.scope)
        value.delimited(app.name.utf8)
        return register([tokens, digest(of: token)], value.bytes)
    }

    private static func place(
        _ value: Bytes
    ) throws(MalformedBytes) -> (scope: ScopeID, name: String) {
        var reader = CanonicalReader(value)
        return (try reader.scope(), try reader.text())
    }
}

// MARK: - Bytes

extension WebApp {
    /// What the register of an app holds.
    package var value: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(token.utf8)
        writer.varint(UInt64(origins.count))
        for origin in origins { writer.delimited(origin.utf8) }
        writer.delimited(callback.utf8)
        writer.delimited(title.utf8)
        writer.varint(zigzag(created))
        return writer.bytes
    }

    /// Bytes after the known parts belong to a later release.
    package init(_ value: Bytes, name: String, scope: ScopeID) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        self.init(name: name, scope: scope, token: try reader.text())
        for _ in 0..<(try reader.count(limit: WebApp.mostOrigins)) {
            origins.append(try reader.text())
        }
        callback = try reader.text()
        title = try reader.text()
        created = try reader.signed()
    }
}

// MARK: - Changes

/// Registers a web app, or gives one that is registered other values.
package struct SetWebApp: AccountChange {
    /// What becomes of an app's logo.
    package enum Logo: Hashable, Sendable {
        case kept
        case set(Bytes)
        case removed
    }

    private let app: WebApp
    private let isNew: Bool
    private let logo: Logo
    private let freshToken: String

    package struct Outcome: Hashable, Sendable {
        package var app: WebApp
        package var logoBytes: Int
    }

    /// - Parameters:
    ///   - app: Without a token, it keeps its own, or gets `freshToken`.
    ///   - isNew: True makes an app, and is refused if its name is taken; false changes one.
    package init(_ app: WebApp, isNew: Bool, logo: Logo = .kept, freshToken: String) {
        self.app = app
        self.isNew = isNew
        self.logo = logo
        self.freshToken = freshToken
    }

    package static var isOperators: Bool { true }

    package func keeps(_ outcome: Outcome) -> Bool { true }

    package func plan(
        for asker: Asker,
        in cluster: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard try transaction.scope(app.scope) != nil else {
            return .failure(Containers.unknown(app.scope.container))
        }
        let known = try RegisteredWebApps.find(app.name, of: app.scope, cluster, in: transaction)
        if let refusal = try refusal(known, transaction) { return .failure(refusal) }
        var app = app
        if app.token.isEmpty { app.token = known?.token ?? freshToken }
        let holder = try RegisteredWebApps.find(
            token: RegisteredWebApps.digest(of: app.token),
            in: transaction
        )
        if let holder, (holder.scope, holder.name) != (app.scope, app.name) {
            return .failure(SetWebApp.invalid("another web app has this API token; name another"))
        }
        app.created = known?.created ?? transaction.now
        let logoBytes: Int =
            switch logo {
            case .kept: try RegisteredWebApps.logo(of: app, in: transaction).count
            case .set(let bytes): bytes.count
            case .removed: 0
            }
        return .success((registers(app, known), Outcome(app: app, logoBytes: logoBytes)))
    }

    private func refusal(
        _ known: WebApp?,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard isNew else { return known == nil ? RegisteredWebApps.unknown(app.name) : nil }
        if known != nil {
            return SetWebApp.invalid(
                "there is a web app '\(app.name)' already; change it with 'cumulus web set'"
            )
        }
        guard
            try RegisteredWebApps.all(of: app.scope, in: transaction).count
                < RegisteredWebApps.most
        else {
            return ServiceError(
                .limitExceeded,
                "there are \(RegisteredWebApps.most) web apps; remove one that is not used"
            )
        }
        return nil
    }

    private func registers(_ app: WebApp, _ known: WebApp?) -> [Commit.Register] {
        let logoKey = RegisteredWebApps.key(RegisteredWebApps.logos, app.scope, app.name)
        var registers = [
            RegisteredWebApps.register(
                RegisteredWebApps.key(RegisteredWebApps.apps, app.scope, app.name),
                app.value
            ),
            RegisteredWebApps.register(token: app.token, of: app),
        ]
        if let known, known.token != app.token {
            registers.append(RegisteredWebApps.register(token: known.token, of: nil))
        }
        switch logo {
        case .kept: break
        case .set(let bytes): registers.append(RegisteredWebApps.register(logoKey, bytes))
        case .removed: registers.append(RegisteredWebApps.register(logoKey, nil))
        }
        return registers
    }

    private static func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}

/// Removes a web app: its API token is good for nothing from then on.
package struct RemoveWebApp: AccountChange {
    private let name: String
    private let scope: ScopeID

    package init(_ name: String, of scope: ScopeID) {
        self.name = name
        self.scope = scope
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func keeps(_ existed: Bool) -> Bool { existed }

    package func plan(
        for asker: Asker,
        in cluster: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        guard let known = try RegisteredWebApps.find(name, of: scope, cluster, in: transaction)
        else { return .success(([], false)) }
        let keys = [RegisteredWebApps.apps, RegisteredWebApps.logos].map {
            RegisteredWebApps.key($0, scope, name)
        }
        let registers = keys.map { RegisteredWebApps.register($0, nil) }
        let token = RegisteredWebApps.register(token: known.token, of: nil)
        return .success((registers + [token], true))
    }
}
