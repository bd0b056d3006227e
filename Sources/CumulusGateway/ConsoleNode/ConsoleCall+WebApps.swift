// The console's page about web apps: it shows and changes what is registered in the cluster, and
// shows what the operator's file names.
//
// The tokens of registered apps are shown, as 'cumulus web list' does: they stand in the apps'
// pages. Tokens of the file are not, since nothing says how public they are.

import CumulusModel
import CumulusWire

extension ConsoleCall {
    /// With a container, the registered apps of its environment, too.
    func webApps() async throws -> ConsoleReply {
        try await checkOperator()
        let apps = (sources.webApps?() ?? [:]).map { digest, token -> (id: String, json: JSON) in
            let id = Bytes(digest.prefix(4)).hex
            return (id, ConsoleCall.json(token, id: id))
        }
        let sorted = apps.sorted { $0.id < $1.id }.map(\.json)
        var registered: [JSON] = []
        if values.names("container") {
            let pages = try await ask(.webAppsList, in: try scope()) {
                try ListWebAppsResponse(wire: $0).elements
            }
            registered = pages.flatMap { $0 }.map(ConsoleCall.json)
        }
        return .json([
            .init("isSet", .bool(sources.webApps != nil)), .init("apps", .array(sorted)),
            .init("registered", .array(registered)),
        ])
    }

    private static func json(_ token: WebAPIToken, id: String) -> JSON {
        var callback = JSON.null
        if case .redirect(let url) = token.callback { callback = .string(url) }
        return [
            "id": .string(id), "container": .string(token.scope.container),
            "environment": .string(token.scope.environment.name), "name": .string(token.name),
            "origins": .array(token.origins.map { .string($0) }), "callback": callback,
        ]
    }

    private static func json(_ app: WireWebApp) -> JSON {
        [
            "name": .string(String(decoding: app.name, as: UTF8.self)),
            "token": .string(app.token), "title": .string(app.title),
            "origins": .array(app.origins.map { .string($0) }), "callback": .string(app.callback),
            "created": .integer(app.created), "logoBytes": .integer(Int64(app.logoBytes)),
        ]
    }

    /// Registers an app, or with `isNew` false changes all of one; a logo is base64.
    func setWebApp() async throws -> ConsoleReply {
        var app = WireWebApp()
        app.name = try bytes("name")
        app.token = try values.string("token") ?? ""
        app.origins = try values.strings("origins") ?? []
        app.callback = try values.string("callback") ?? ""
        app.title = try values.string("title") ?? ""
        guard let logo = Base64.decode(try values.string("logo") ?? "") else {
            throw WebError.badRequest("'logo' must be base64")
        }
        let request = SetWebAppRequest(
            app,
            isNew: try values.flag("isNew") ?? false,
            logo: logo,
            removesLogo: try values.flag("removesLogo") ?? false
        )
        let answer = try await askOnce(.webAppsSet, request.encoded(), in: try scope()) {
            try SetWebAppResponse(wire: $0).app
        }
        return .json([.init("app", ConsoleCall.json(answer))])
    }

    func removeWebApp() async throws -> ConsoleReply {
        let message = RemoveWebAppRequest(try bytes("name")).encoded()
        let existed = try await askOnce(.webAppsRemove, message, in: try scope()) {
            try RemoveWebAppResponse(wire: $0).flag
        }
        return .json([.init("existed", .bool(existed))])
    }
}
