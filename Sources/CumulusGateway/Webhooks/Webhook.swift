// A webhook that the operator registered: an endpoint that subscriptions may name, and how requests
// to it are signed.
//
// Read from the file of `cumulusd --webhooks`, the same on all nodes. A mistake in it is told with
// its place; nothing in it is ignored, since a misspelt key would send elsewhere what it was to
// send.
//
// Folder: notifications that a node sends to servers. Read `Webhook`, then `WebhookCourier` with
// `WebhookProgress`, and `WebhookRunner`.

import Crypto
package import CumulusModel

package struct Webhook: Hashable, Sendable {
    /// One element of the file.
    package struct Entry: Hashable, Sendable {
        /// Names the webhook in subscriptions, in the log and in metrics.
        package var name: String
        package var address: WebAddress
        /// The containers whose subscriptions may name it; nil means all.
        package var containers: Set<String>?
        /// Whether it may lead to addresses that are not public.
        package var isPrivate: Bool
        /// The file with what signatures are made with.
        package var secretFile: String

        /// Whether a container's subscriptions may name it.
        package func serves(_ container: String) -> Bool {
            containers?.contains(container) ?? true
        }
    }

    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    package let entry: Entry
    private let secret: Bytes

    package static let shortestSecret = 16

    package init(_ entry: Entry, secret: String) throws(Problem) {
        guard secret.utf8.count >= Webhook.shortestSecret else {
            throw Problem(
                "\(entry.secretFile) must hold a secret of \(Webhook.shortestSecret) or more "
                    + "characters, such as 'openssl rand -hex 32' makes"
            )
        }
        self.entry = entry
        self.secret = Bytes(secret.utf8)
    }

    // MARK: Signatures

    /// The header that shows who sent a body, and when.
    package static let signatureHeader = "Cumulus-Signature"

    /// "t=SECONDS,v1=HMAC": the HMAC-SHA-256 of the seconds since 1970 UTC, a full stop and the
    /// body.
    package func signature(of body: Bytes, seconds: Int64) -> String {
        let content = Bytes("\(seconds).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: secret))
        return "t=\(seconds),v1=\(Bytes(code).hex)"
    }

    // MARK: The file

    private static let keys: Set = ["name", "url", "secretFile", "containers", "private"]
    private static let longestName = 64

    /// - Parameter text: A JSON list of objects.
    package static func entries(_ text: Bytes) throws(Problem) -> [Entry] {
        do throws(WebError) {
            var entries: [Entry] = []
            for object in try WebObject.list(text, of: "webhooks") {
                let entry = try read(object)
                guard !entries.contains(where: { $0.name == entry.name }) else {
                    throw .badRequest("'\(object.path).name' is that of another webhook too")
                }
                entries.append(entry)
            }
            return entries
        } catch {
            throw Problem(error.reason)
        }
    }

    private static func read(_ object: WebObject) throws(WebError) -> Entry {
        try object.check(keys: keys)
        let name = try object.needed("name")
        guard name.utf8.count <= longestName, name.utf8.allSatisfy(isPlain) else {
            throw .badRequest(
                "'\(object.place("name"))' must have at most \(longestName) letters, digits, -, _ "
                    + "and full stops"
            )
        }
        let containers = try object.containers()
        let isPrivate = try object.flag("private") ?? false
        return Entry(
            name: name,
            address: try address(object, isPrivate: isPrivate),
            containers: containers.map { Set($0) },
            isPrivate: isPrivate,
            secretFile: try object.needed("secretFile")
        )
    }

    private static func address(
        _ object: WebObject,
        isPrivate: Bool
    ) throws(WebError) -> WebAddress {
        let url = try object.needed("url")
        guard let address = WebAddress(url), address.isSecure || address.isSecret && isPrivate
        else {
            throw .badRequest(
                "'\(object.place("url"))' must be a URL with https, such as "
                    + "https://hooks.example.com/notes; http is for this machine only, with "
                    + "\"private\": true"
            )
        }
        return address
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-_.".utf8.contains(byte)
    }
}
