// Who asks web services: a server by its key, a user by its token.
//
// A key signs the date, the body and the path of each request; a token goes into the query, or into
// a header of a node. The service may give a user a new token with each answer.

import Crypto
import CumulusModel
import CumulusTerminal

package enum SourceCredentials: Sendable {
    case key(SourceKey)
    /// - Parameter api: The app's token; nil: the source is a node, and the token is a script's.
    case user(token: String, api: String?)

    /// What goes behind the path: `?` and the query; empty for none.
    package var query: String {
        switch self {
        case .key, .user(_, nil): ""
        case .user(let token, let api?):
            "?ckAPIToken=\(SourceCredentials.escaped(api))"
                + "&ckWebAuthToken=\(SourceCredentials.escaped(token))"
        }
    }

    /// The headers of a request.
    ///
    /// - Parameters:
    ///   - target: Path and query, from `/database` on.
    ///   - body: The bytes of the body.
    ///   - now: Milliseconds since 1970 UTC.
    package func headers(
        of target: String,
        body: String,
        now: Int64
    ) throws -> [(name: String, value: String)] {
        switch self {
        case .key(let key): try key.headers(of: target, body: body, now: now)
        case .user(_, _?): []
        case .user(let token, nil): [("Authorization", "Bearer \(token)")]
        }
    }

    /// Takes a token that the service gave in place of the last one; true if it is another one.
    package mutating func renew(_ token: String?) -> Bool {
        guard let token, !token.isEmpty, case .user(let old, let api?) = self, old != token else {
            return false
        }
        self = .user(token: token, api: api)
        return true
    }

    /// The token of a user; nil for a server.
    package var userToken: String? { if case .user(let token, _) = self { token } else { nil } }

    /// A token as a part of a query: everything but letters, digits and `-_.~` is escaped.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
                || ("0"..."9").contains(scalar) || "-_.~".unicodeScalars.contains(scalar)
            escaped += isPlain ? String(Character(scalar)) : "%" + [byte].hex.uppercased()
        }
        return escaped
    }
}

/// A server-to-server key: ECDSA over P-256.
package struct SourceKey: Sendable {
    package let id: String
    private let key: P256.Signing.PrivateKey

    /// - Parameter pem: As `openssl ecparam -name prime256v1 -genkey -noout` writes it.
    package init(id: String, pem: String) throws {
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
            throw InputProblem("the key is no private key on the curve P-256 in PEM")
        }
        self.id = id
        self.key = key
    }

    fileprivate func headers(
        of target: String,
        body: String,
        now: Int64
    ) throws -> [(name: String, value: String)] {
        let date = SourceKey.date(now)
        let message = SourceKey.message(date: date, body: body, target: target)
        let signature = try key.signature(for: Bytes(message.utf8)).derRepresentation
        return [
            ("X-Apple-CloudKit-Request-KeyID", id),
            ("X-Apple-CloudKit-Request-ISO8601Date", date),
            ("X-Apple-CloudKit-Request-SignatureV1", Base64.encode(signature)),
        ]
    }

    /// Whole seconds, as the services want it.
    static func date(_ milliseconds: Int64) -> String {
        let seconds = Timestamp(millisecondsSince1970: milliseconds / 1_000 * 1_000).text
        return String(seconds.prefix(19)) + "Z"
    }

    /// What is signed.
    static func message(date: String, body: String, target: String) -> String {
        let digest = SHA256.hash(data: Bytes(body.utf8))
        return "\(date):\(Base64.encode(digest)):\(target)"
    }
}
