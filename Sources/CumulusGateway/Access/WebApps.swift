// The operator's list of web apps: the valid API tokens, their environments, and the origins whose
// pages may use them.
//
// Read from the file of `cumulusd --web-apps`, the same on all nodes. A mistake in it is told with
// its place; nothing in it is ignored, since a misspelt key would open what it was to close. Web
// apps that operators register in the cluster need no file; where both name one, the cluster's
// counts, see `NodeDoor`.

import Crypto
package import CumulusModel

package enum WebApps {
    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private static let keys: Set = [
        "callback", "container", "environment", "name", "origins", "title", "token",
    ]

    /// The tokens by the SHA-256 of each.
    ///
    /// - Parameter text: A JSON list of objects.
    package static func all(_ text: Bytes) throws(Problem) -> [Bytes: WebAPIToken] {
        do throws(WebError) {
            var apps: [Bytes: WebAPIToken] = [:]
            for object in try WebObject.list(text, of: "apps") {
                let app = try read(object)
                guard apps.updateValue(app.token, forKey: app.digest) == nil else {
                    throw .badRequest(
                        "'\(object.path).token' is that of another app too; give each its own"
                    )
                }
            }
            return apps
        } catch {
            throw Problem(error.reason)
        }
    }

    private static func read(
        _ object: WebObject
    ) throws(WebError) -> (digest: Bytes, token: WebAPIToken) {
        try object.check(keys: keys)
        let container = try object.needed("container")
        guard (try? Names.checkIdentifier(Bytes(container.utf8)[...], "container")) != nil else {
            throw .badRequest("'\(object.place("container"))' is no name of a container")
        }
        guard let environment = Environment(name: try object.needed("environment")) else {
            throw .badRequest(
                "'\(object.place("environment"))' must be development or production"
            )
        }
        let token = try object.needed("token")
        guard WebApp.isToken(token) else {
            throw .badRequest(
                "'\(object.place("token"))' must have \(WebApp.shortestToken) or more letters, "
                    + "digits, - and _"
            )
        }
        let scope = ScopeID(container: container, environment: environment)
        var app = WebAPIToken(scope: scope, origins: try object.strings("origins") ?? [])
        app.name = try object.string("name") ?? ""
        app.title = try object.string("title") ?? ""
        for origin in app.origins where !WebApp.isOrigin(origin) {
            throw .badRequest(
                "'\(object.place("origins"))' holds origins such as https://app.example.com, not "
                    + "'\(origin)'"
            )
        }
        if let url = try object.string("callback") {
            guard WebApp.isCallback(url) else {
                throw .badRequest(
                    "'\(object.place("callback"))' is a URL of the app, such as "
                        + "https://app.example.com/signed-in or app:signed-in; http is for this "
                        + "machine only"
                )
            }
            app.callback = .redirect(url)
        }
        return (Bytes(SHA256.hash(data: Bytes(token.utf8))), app)
    }
}
