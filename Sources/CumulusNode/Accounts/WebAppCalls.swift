// The calls on web apps, for operators: register or change, list, remove.
//
// `MethodTable` lists them. They are about the scope that the call's header names.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum WebAppCalls {
    static let methods: [MethodEntry] = [
        .init(
            .webAppsList,
            .parts,
            .operator,
            parse: unread,
            read: list,
            encode: { apps, _ in ListWebAppsResponse(apps).encoded() }
        ),
        .init(
            .webAppsSet,
            .message,
            .act,
            parse: decoded(SetWebAppRequest.init(wire:)),
            change: set,
            encode: oneMessage { set in
                SetWebAppResponse(WireWebApp(set.app, logoBytes: set.logoBytes)).encoded()
            }
        ),
        .init(
            .webAppsRemove,
            .message,
            .act,
            parse: decoded { try RemoveWebAppRequest(wire: $0).bytes },
            change: remove,
            encode: removed
        ),
    ]

    /// An app may have 100 origins of 2 KiB, and a frame has room for ten of those.
    private static let perPart = 10

    private static func list(
        _: Void,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireWebApp>>? {
        let scope = try context.scope()
        return .onDisk { context in
            let apps = try RegisteredWebApps.all(of: scope, in: context.reader)
            let list = apps.map { WireWebApp($0.app, logoBytes: $0.logoBytes) }
            return Part(list: list[...], perPart: perPart)
        }
    }

    private static func set(
        _ request: SetWebAppRequest,
        _ context: CallContext
    ) throws -> SetWebApp {
        var dice = NodeDice(context.node.environment)
        let freshToken = dice.bytes(32).hex
        var app = try app(request.app, context)
        let hasToken = !app.token.isEmpty
        if !hasToken { app.token = freshToken }
        try app.check()
        if !hasToken { app.token = "" }
        if !request.logo.isEmpty { try WebApp.check(logo: request.logo) }
        context.concerns(target(app.name))
        let logo: SetWebApp.Logo =
            if !request.logo.isEmpty {
                .set(request.logo)
            } else {
                request.removesLogo ? .removed : .kept
            }
        return SetWebApp(app, isNew: request.isNew, logo: logo, freshToken: freshToken)
    }

    private static func app(_ wire: WireWebApp, _ context: CallContext) throws -> WebApp {
        WebApp(
            name: try Names.checkIdentifier(wire.name[...], "name of a web app"),
            scope: try context.scope(),
            token: wire.token,
            origins: wire.origins,
            callback: wire.callback,
            title: wire.title.isEmpty
                ? "" : try Names.checkText(Bytes(wire.title.utf8)[...], "title")
        )
    }

    private static func remove(_ raw: Bytes, _ context: CallContext) throws -> RemoveWebApp {
        let name = try Names.checkIdentifier(raw[...], "name of a web app")
        context.concerns(target(name))
        return RemoveWebApp(name, of: try context.scope())
    }

    private static func removed(
        _ existed: Bool,
        _ raw: Bytes,
        _ context: CallContext
    ) -> [Bytes] {
        if !existed { context.concernsNothing() }
        return [RemoveWebAppResponse(existed).encoded()]
    }

    /// The target of a line in the audit log.
    private static func target(_ name: String) -> String { "web app \(name)" }
}
