// The endpoint of a request: the URL's parts, judged before anything else.
//
// Called once per request. Behind a proxy something may stand in front of `/database` or `/device`;
// it is skipped, and no part of what a server's key signs.
//
// A request's target and method become a `WebRoute`, its query and fields `WebCredentials`, and its
// body a `WebObject`. `WebContext` makes calls of the binary protocol of them, which go through the
// `WebDoor` into the node.
//
// Folder: what a request means, before any node is asked. Read `WebRoute`.

package import CumulusModel

/// The endpoints of web services, by the last parts of their URLs.
package enum WebEndpoint: String, CaseIterable, Sendable {
    case recordsQuery = "records/query"
    case recordsModify = "records/modify"
    case recordsLookup = "records/lookup"
    case recordsChanges = "records/changes"
    case recordsResolve = "records/resolve"
    case recordsAccept = "records/accept"
    case changesDatabase = "changes/database"
    case changesZone = "changes/zone"
    case zonesList = "zones/list"
    case zonesLookup = "zones/lookup"
    case zonesModify = "zones/modify"
    case zonesChanges = "zones/changes"
    case subscriptionsList = "subscriptions/list"
    case subscriptionsLookup = "subscriptions/lookup"
    case subscriptionsModify = "subscriptions/modify"
    case usersCaller = "users/caller"
    case usersCurrent = "users/current"
    case usersDiscover = "users/discover"
    case usersLookupEmail = "users/lookup/email"
    case usersLookupID = "users/lookup/id"
    case usersLookupContacts = "users/lookup/contacts"
    /// Ends the session of the caller; CloudKit has no such endpoint.
    case usersSignOut = "users/signout"
    case assetsUpload = "assets/upload"
    case assetsRereference = "assets/rereference"
    case tokensCreate = "tokens/create"
    case tokensRegister = "tokens/register"

    /// The methods that it takes.
    package var methods: [String] {
        switch self {
        case .zonesList, .subscriptionsList, .usersDiscover: ["GET", "POST"]
        case .usersCaller, .usersCurrent: ["GET"]
        default: ["POST"]
        }
    }

    /// The databases in whose URLs it stands; empty: its URL names none.
    package var databases: Set<DatabaseScope> {
        switch self {
        case .tokensCreate, .tokensRegister: []
        case .recordsChanges, .changesDatabase, .changesZone, .zonesChanges: [.private, .shared]
        case .zonesModify: [.private]
        case .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupContacts,
            .usersSignOut, .recordsResolve, .recordsAccept:
            [.public]
        default: [.public, .private, .shared]
        }
    }

    /// A caller without a user may use it, in the public database.
    package var isOpen: Bool {
        switch self {
        case .recordsQuery, .recordsLookup, .recordsResolve: true
        default: false
        }
    }
}

package struct WebRoute: Hashable, Sendable {
    package var scope: ScopeID
    /// The public database for endpoints whose URLs name none.
    package var database: DatabaseScope
    package var endpoint: WebEndpoint
    /// The answer is to have the `syncToken` of its zone or database.
    package var wantsSyncToken = false
    /// Tells the tabs of one sign-in apart; empty if the URL has no `clientId`.
    package var clientID = ""

    /// The path after a possible prefix, as it was sent: a server's key signs it.
    package static func signedPath(_ target: some StringProtocol) -> Substring? {
        let target = Substring(target)
        for service in ["/database/1/", "/device/1/"] {
            if let range = WebText.range(of: service, in: target) {
                return target[range.lowerBound...]
            }
        }
        return nil
    }

    /// - Parameters:
    ///   - method: The request's method.
    ///   - target: Path and query as they were sent.
    package init(method: String, target: String) throws(WebError) {
        let path = WebText.path(of: target)
        guard let own = WebRoute.signedPath(path) else { throw WebRoute.unknown(path) }
        var parts = own.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst(3).map { Substring($0) }
        guard parts.count >= 4 else { throw WebRoute.unknown(own) }
        let container = parts.removeFirst()
        guard let environment = Environment(name: String(parts.removeFirst())) else {
            throw WebError(
                .notFound,
                "the URL names no environment; use development or production"
            )
        }
        scope = ScopeID(container: try WebRoute.name(container), environment: environment)
        // Push tokens belong to no database, whichever form their URL has.
        let named = parts.first.flatMap { DatabaseScope(name: String($0)) }
        if named != nil { parts.removeFirst() }
        guard let endpoint = WebEndpoint(rawValue: parts.joined(separator: "/")) else {
            throw WebRoute.unknown(own)
        }
        self.endpoint = endpoint
        database = named ?? .public
        let query = WebText.query(of: target)
        // Clients in Python write True.
        wantsSyncToken = query["getCurrentSyncToken"]?.lowercased() == "true"
        clientID = query["clientId"].map { WebText.percentDecoded($0) ?? $0 } ?? ""
        try check(method: method, named: named)
    }

    /// The container of a URL, by the rule of the binary protocol.
    private static func name(_ part: Substring) throws(WebError) -> String {
        guard let text = WebText.percentDecoded(part) else {
            throw .badRequest("the URL's container is not percent-encoded UTF-8")
        }
        do {
            return try Names.checkIdentifier(Bytes(text.utf8)[...], "the URL's container")
        } catch {
            throw WebError(error)
        }
    }

    private func check(method: String, named: DatabaseScope?) throws(WebError) {
        guard endpoint.methods.contains(method) else {
            let list = endpoint.methods.joined(separator: ", ")
            throw .methodNotAllowed(
                "\(endpoint.rawValue) takes \(list), not \(method)",
                allowed: endpoint.methods
            )
        }
        let databases = endpoint.databases
        if databases.isEmpty { return }
        guard let named else {
            throw WebError(
                .notFound,
                "the URL names no database; put public, private or shared before "
                    + endpoint.rawValue
            )
        }
        guard databases.contains(named) else {
            throw .badRequest(
                "endpoint not applicable in the database type '\(named.name)db'"
            )
        }
    }

    /// A text that may be the token of a link is not shown.
    private static func unknown(_ path: Substring) -> WebError {
        var shown = String(path.prefix(200))
        for secret in [WebLink.path, CourierToken.path] {
            if let range = WebText.range(of: secret, in: path) {
                shown = path[..<range.upperBound] + "..."
            }
        }
        return WebError(.notFound, "could not find handler for endpoint '\(shown)'")
    }
}
