// The calls of the console's pages: the only place where each is listed, with its handler.
//
// Asked by `Console` for each request. A name stands behind /console/api/ in the URL. Handlers make
// calls of the binary protocol.

struct ConsoleRoute: Sendable {
    typealias Handler = @Sendable (ConsoleCall) async throws -> ConsoleReply

    let name: String
    /// Taken by POST only, and with the session's secret in a header.
    let changes: Bool
    let run: Handler

    private init(_ name: String, changes: Bool, _ run: @escaping Handler) {
        self.name = name
        self.changes = changes
        self.run = run
    }

    private static func read(_ name: String, _ run: @escaping Handler) -> ConsoleRoute {
        ConsoleRoute(name, changes: false, run)
    }

    private static func act(_ name: String, _ run: @escaping Handler) -> ConsoleRoute {
        ConsoleRoute(name, changes: true, run)
    }

    /// Its body is a file, which `Console` hands to `ConsoleCall` while it comes.
    static let upload = "asset/upload"

    static let all: [ConsoleRoute] = [
        .act("session/end") { try await $0.signOut() },
        .act("user") { try await $0.actAsUser() },
        .act("user/end") { .session(await $0.withoutUser()) },

        .read("status") { try await $0.status() },
        .read("live") { try await $0.live() },
        .read("members") { try await $0.members() },
        .read("conflicts") { try await $0.conflicts() },
        .read("containers") { try await $0.containers() },
        .act("containers/create") { try await $0.createContainer() },
        .read("zones") { try await $0.zones() },

        .read("schema") { try await $0.schema() },
        .read("schema/difference") { try await $0.schemaDifference() },
        .act("schema/parse") { try await $0.parseSchema() },
        .act("schema/import") { try await $0.importSchema() },
        .act("schema/deploy") { try await $0.deploySchema() },
        .read("indexes") { try await $0.indexes() },
        .read("roles") { try await $0.roles() },
        .act("roles/set") { try await $0.setRole() },

        .read("users") { try await $0.users() },
        .act("users/add") { try await $0.addUser() },
        .act("users/state") { try await $0.setUserState() },
        .act("users/password") { try await $0.setPassword() },
        .act("users/token") { try await $0.addToken() },
        .read("profile") { try await $0.profile() },
        .read("refusals") { try await $0.refusals() },
        .read("sessions") { try await $0.sessions() },
        .act("sessions/revoke") { try await $0.revokeSessions() },
        .read("keys") { try await $0.keys() },
        .act("keys/revoke") { try await $0.revokeKey() },
        .read("shares") { try await $0.shares() },
        .act("shares/stop") { try await $0.stopShare() },

        .act("query") { try await $0.query() },
        .read("list") { try await $0.list() },
        .read("asset") { try await $0.asset() },
        .act(upload) { _ in throw WebError.badRequest("the body of \(upload) must be a file") },
        .read("feed") { try await $0.feed() },

        .read("audit") { try await $0.audit() },
        .read("logs") { try await $0.logs() },
        .read("settings") { try await $0.settings() },
        .read("backups") { try await $0.backups() },
        .act("backups/make") { try await $0.makeBackup() },
        .read("webapps") { try await $0.webApps() },
        .act("webapps/set") { try await $0.setWebApp() },
        .act("webapps/remove") { try await $0.removeWebApp() },
        .read("webhooks") { try await $0.webhooks() },
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// All of web services, as the operator or as the user for whom it acts.
    private static let webServices = act("database") { try await $0.webServices() }

    static func find(_ method: String, _ name: String) throws(WebError) -> ConsoleRoute {
        guard let route = byName[name] ?? (name.hasPrefix("database/1/") ? webServices : nil) else {
            throw WebError(.notFound, "the console has no call '\(name.prefix(200))'")
        }
        let wanted = route.changes ? "POST" : "GET"
        guard method == wanted else {
            throw .methodNotAllowed(
                "\(name.prefix(200)) takes \(wanted), not \(method)",
                allowed: [wanted]
            )
        }
        return route
    }
}
