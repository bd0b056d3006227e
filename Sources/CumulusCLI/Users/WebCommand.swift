// `cumulus web`: the web apps of the cluster, as the operator adds, changes and removes them.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct WebCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web",
        abstract: "Register web apps, change, list and remove them, as the operator.",
        discussion: help(
            "cumulus web add notes --origin https://notes.example.com",
            "cumulus web list --json"
        ),
        subcommands: [Add.self, List.self, Change.self, Remove.self]
    )

    static let note = """
        A web app is pages in browsers that call web services with an API token. All nodes of the \
        cluster know it as soon as they hear of it. The token is no secret, since it stands in the \
        app's pages; the origins say whose pages may use it.
        """
}

/// What a web app may say, besides its name.
struct WebAppOptions: ParsableArguments {
    @Option(help: "Origin of its pages, such as https://notes.example.com; may be repeated.")
    var origin: [String] = []
    @Flag(help: "Let pages of all origins use the token.") var anyOrigin = false
    @Option(help: "URL of the app to which users come back after signing in.")
    var redirect: String?
    @Option(help: "Name that the page to sign in at shows.") var title: String?
    @Option(help: "PNG or JPEG of at most 64 KiB, which that page shows.") var logo: String?
    @Option(help: "API token that it has already, in place of a new one.") var token: String?

    func validate() throws {
        if anyOrigin, !origin.isEmpty {
            throw ValidationError("Give --origin or --any-origin.")
        }
    }

    /// The picture of the file; nil if no file is named.
    func picture() throws -> Bytes? {
        guard let logo else { return nil }
        guard let data = FileManager.default.contents(atPath: logo) else {
            throw InputProblem("the logo \(logo) can't be read")
        }
        do {
            try WebApp.check(logo: Bytes(data))
        } catch {
            throw InputProblem("\(logo): \(error.message)")
        }
        return Bytes(data)
    }

    /// Puts what is said into an app.
    func apply(to app: inout WebApp) {
        if anyOrigin || !origin.isEmpty { app.origins = origin }
        if let redirect { app.callback = redirect }
        if let title { app.title = title }
        if let token { app.token = token }
    }
}

extension ScopeOptions {
    fileprivate func id() throws -> ScopeID {
        ScopeID(container: containerName, environment: try environmentValue())
    }
}

extension WebCommand {
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a web app, and show its API token.",
            discussion: help(
                "cumulus web add notes --origin https://notes.example.com --title Notes",
                "cumulus web add notes --any-origin --logo notes.png --environment production",
                "cumulus web add phone --any-origin --redirect notes:signed-in --json",
                note: WebCommand.note + """
                     A token is good for one environment of a container: add the app in each. With \
                    --token an app of the file of 'cumulusd --web-apps' keeps its token; from then \
                    on what is registered counts.
                    """
            )
        )

        @Argument(help: "Its name, by which it is changed and removed.") var name: String
        @OptionGroup var app: WebAppOptions
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard app.anyOrigin || !app.origin.isEmpty else {
                throw ValidationError(
                    "Say which pages may use the token, with --origin, or give --any-origin."
                )
            }
        }

        func run() async throws {
            var wanted = WebApp(name: name, scope: try scope.id(), token: "")
            app.apply(to: &wanted)
            let (logo, ready) = (try app.picture(), wanted)
            let (added, logoBytes) = try await connection.withOperator {
                try await $0.setWebApp(ready, isNew: true, logo: logo ?? [])
            }
            try output.show(added, logoBytes)
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Change a web app; what is not named stays.",
            discussion: help(
                "cumulus web set notes --origin https://a.example.com --origin https://b.example",
                "cumulus web set notes --title Notes --logo notes.png --json",
                "cumulus web set notes --new-token --token-file operator.token",
                note: WebCommand.note + """
                     The origins replace those that it had. With --new-token or --token its former \
                    token is good for nothing from then on, and its users sign in anew. Where two \
                    operators change an app at the same time, the later change counts.
                    """
            )
        )

        @Argument(help: "The app's name.") var name: String
        @OptionGroup var app: WebAppOptions
        @Flag(help: "Give it a new API token.") var newToken = false
        @Flag(help: "Let it have no logo.") var noLogo = false
        @Flag(help: "Send users' tokens by a message to its pages, not by a redirect.")
        var noRedirect = false
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func validate() throws {
            let pairs = [
                (newToken && app.token != nil, "--token or --new-token"),
                (noLogo && app.logo != nil, "--logo or --no-logo"),
                (noRedirect && app.redirect != nil, "--redirect or --no-redirect"),
            ]
            if let (_, pair) = pairs.first(where: \.0) { throw ValidationError("Give \(pair).") }
        }

        func run() async throws {
            let (scope, name) = (try scope.id(), name)
            let logo: Bytes? = try noLogo ? nil : app.picture() ?? []
            let (set, logoBytes) = try await connection.withOperator { admin in
                let apps = try await admin.webApps(in: scope)
                guard let known = apps.first(where: { $0.app.name == name })?.app else {
                    throw ServiceError(
                        .unknownItem,
                        "there is no web app '\(name)' here; 'cumulus web list' shows those that "
                            + "there are"
                    )
                }
                return try await admin.setWebApp(changed(known), isNew: false, logo: logo)
            }
            try output.show(set, logoBytes)
        }

        private func changed(_ known: WebApp) -> WebApp {
            var changed = known
            app.apply(to: &changed)
            if newToken { changed.token = Change.freshToken() }
            if noRedirect { changed.callback = "" }
            return changed
        }

        private static func freshToken() -> String {
            var dice = SystemRandomNumberGenerator()
            return (0..<32).map { _ in UInt8.random(in: 0...255, using: &dice) }.hex
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the web apps of a container's environment.",
            discussion: help(
                "cumulus web list --token-file operator.token",
                "cumulus web list --environment production --json",
                note: WebCommand.note + """
                     Apps of the file of 'cumulusd --web-apps' are not listed: the console shows \
                    them.
                    """
            )
        )

        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let scope = try scope.id()
            let apps = try await connection.withOperator { try await $0.webApps(in: scope) }
            try output.show(
                apps,
                columns: ["NAME", "TITLE", "ORIGINS", "REDIRECT", "API TOKEN"],
                json: { .object(members(of: $0.app, $0.logoBytes)) },
                row: { found in
                    let app = found.app
                    let origins = app.origins.isEmpty ? "any" : app.origins.joined(separator: ",")
                    return [app.name, app.title, origins, app.callback, app.token]
                }
            )
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a web app: its API token is good for nothing from then on.",
            discussion: help(
                "cumulus web remove notes --token-file operator.token",
                note: "What its users saved stays. Each node refuses the token as soon as it hears."
            )
        )

        @Argument(help: "The app's name.") var name: String
        @OptionGroup var scope: ScopeOptions
        @OptionGroup var connection: OperatorConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (scope, name) = (try scope.id(), name)
            let existed = try await connection.withOperator {
                try await $0.removeWebApp(name, in: scope)
            }
            try output.show(
                ["name": .string(name), "existed": .bool(existed)],
                rows: [["web app", name], ["state", existed ? "removed" : "there was none"]]
            )
        }
    }
}

private func members(of app: WebApp, _ logoBytes: Int) -> [JSON.Member] {
    [
        .init("name", .string(app.name)), .init("title", .string(app.title)),
        .init("container", .string(app.scope.container)),
        .init("environment", .string(app.scope.environment.name)),
        .init("apiToken", .string(app.token)),
        .init("origins", .array(app.origins.map { .string($0) })),
        .init("redirect", app.callback.isEmpty ? .null : .string(app.callback)),
        .init("logoBytes", .integer(Int64(logoBytes))),
        .init("added", .string(Timestamp(millisecondsSince1970: app.created).text)),
    ]
}

extension OutputOptions {
    fileprivate func show(_ app: WebApp, _ logoBytes: Int) throws {
        try show(
            .object(members(of: app, logoBytes)),
            rows: [
                ["web app", app.name], ["API token", app.token],
                ["container", "\(app.scope.container), \(app.scope.environment.name)"],
                ["origins", app.origins.isEmpty ? "any" : app.origins.joined(separator: ", ")],
                ["redirect", app.callback.isEmpty ? "none" : app.callback],
                ["title", app.title],
                ["logo", logoBytes == 0 ? "none" : counted(logoBytes, "byte")],
            ]
        )
    }
}
