// The operator's list of web apps: the valid API tokens, their environments, and the origins whose
// pages may use them.
//
// Read from the file of `cumulusd --web-apps`, the same on all nodes. A mistake in it is told with
// its place; nothing in it is ignored, since a misspelt key would open what it was to close.

import Crypto
package import CumulusModel

package enum WebApps {
    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private static let keys: Set = ["container", "environment", "token", "origins", "callback"]
    private static let shortestToken = 16

    /// The tokens by the SHA-256 of each.
    ///
    /// - Parameter text: A JSON list of objects.
    package static func all(_ text: Bytes) throws(Problem) -> [Bytes: WebAPIToken] {
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(text)
        } catch {
            throw Problem("it is no JSON: \(error.message)")
        }
        guard case .array(let elements) = json else { throw Problem("it must be a list of apps") }
        var apps: [Bytes: WebAPIToken] = [:]
        for (index, element) in elements.enumerated() {
            let app: (digest: Bytes, token: WebAPIToken)
            do throws(WebError) {
                app = try read(try WebObject(element, at: "[\(index)]"))
            } catch {
                throw Problem(error.reason)
            }
            guard apps.updateValue(app.token, forKey: app.digest) == nil else {
                throw Problem("'[\(index)].token' is that of another app too; give each its own")
            }
        }
        return apps
    }

    private static func read(
        _ object: WebObject
    ) throws(WebError) -> (digest: Bytes, token: WebAPIToken) {
        if case .object(let members) = object.json,
            let unknown = members.first(where: { !keys.contains($0.key) })
        {
            let known = keys.sorted().joined(separator: ", ")
            throw .badRequest("'\(object.place(unknown.key))' is none of \(known)")
        }
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
        guard token.utf8.count >= shortestToken, token.utf8.allSatisfy(isPlain) else {
            throw .badRequest(
                "'\(object.place("token"))' must have \(shortestToken) or more letters, digits, "
                    + "- and _"
            )
        }
        let scope = ScopeID(container: container, environment: environment)
        var app = WebAPIToken(scope: scope, origins: try object.strings("origins") ?? [])
        for origin in app.origins where origin.hasSuffix("/") || !origin.contains("://") {
            throw .badRequest(
                "'\(object.place("origins"))' holds origins such as https://app.example.com, not "
                    + "'\(origin)'"
            )
        }
        if let url = try object.string("callback") {
            guard isCallback(url) else {
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

    /// A URL of https, or of a scheme of the app's own, which browsers run no scripts for.
    private static func isCallback(_ url: String) -> Bool {
        if let address = WebAddress(url) { return address.isSecret }
        let scheme = url.prefix { $0 != ":" }
        return scheme.utf8.first?.isASCIILetter == true && scheme.utf8.count < url.utf8.count
            && scheme.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0)
            }
            && !reservedSchemes.contains(scheme.lowercased())
            && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"#\"<>\\;,".utf8.contains($0) }
    }

    private static let reservedSchemes: Set = [
        "http", "https", "javascript", "data", "vbscript", "blob", "file", "about", "filesystem",
    ]

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }
}
