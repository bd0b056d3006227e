// The signature by which a server shows that it has the private half of a registered key.
//
// Three headers: the key's id, a date, and ECDSA over P-256 of
//
//     date ":" base64(SHA-256(body)) ":" path
//
// where the path is what was sent, from `/database` or `/device` on. Clients differ in two points,
// so two forms of each are taken: the query belongs to the path or not, and an empty body is hashed
// or left out.
//
// A refusal says what is wrong as far as that can be told without the key. It never says whether a
// key exists: one text covers every fault of the key or its signature.

import Crypto
package import CumulusModel

package struct ServerSignature: Sendable {
    /// The cluster that knows the key, 16 bytes.
    package let clusterID: Bytes
    /// The id of a key of `ServiceKeys`, 16 bytes.
    package let keyID: Bytes
    private let date: String
    /// Milliseconds since 1970 UTC.
    private let time: Int64
    private let signature: Bytes
    /// Path and query.
    private let target: String

    /// How far the date may be from the node's clock, in milliseconds.
    package static let leeway: Int64 = 10 * 60_000

    private static let keyHeader = "x-apple-cloudkit-request-keyid"
    private static let dateHeader = "x-apple-cloudkit-request-iso8601date"
    private static let signatureHeader = "x-apple-cloudkit-request-signaturev1"

    /// nil if the request has none of the three headers.
    init?(target: String, header: (String) -> String?) throws(WebError) {
        let key = header(ServerSignature.keyHeader)
        let date = header(ServerSignature.dateHeader)
        let signature = header(ServerSignature.signatureHeader)
        if key == nil, date == nil, signature == nil { return nil }
        guard let key, let date, let signature else {
            throw WebError(
                .authenticationFailed,
                "a signed request has the three headers X-Apple-CloudKit-Request-KeyID, "
                    + "-ISO8601Date and -SignatureV1; one is missing"
            )
        }
        guard let id = Bytes(hex: key), id.count == 32 else {
            throw WebError(
                .authenticationFailed,
                "a key's id has 64 hexadecimal digits; 'cumulus key list' shows it"
            )
        }
        // Whole seconds in UTC, and no other spelling of the same moment.
        guard date.utf8.count == 20, date.hasSuffix("Z"), let time = Timestamp(text: date) else {
            throw WebError(
                .authenticationFailed,
                "the date of the signature must look like 2026-01-15T08:30:00Z"
            )
        }
        guard let bytes = Base64.decode(signature) else {
            throw WebError(.authenticationFailed, "the signature is no base64")
        }
        clusterID = Bytes(id.prefix(16))
        keyID = Bytes(id.suffix(16))
        self.date = date
        self.time = time.millisecondsSince1970
        self.signature = bytes
        self.target = WebRoute.signedPath(target).map { String($0) } ?? target
    }

    /// Whether the date is near enough.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isCurrent(now: Int64) -> Bool {
        abs(time - now) <= ServerSignature.leeway
    }

    /// Why no key's signature lets a request in; nil if one may.
    ///
    /// No key is looked up for this.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    func refusal(of route: WebRoute, now: Int64) -> WebError? {
        guard isCurrent(now: now) else {
            let clock = Timestamp(millisecondsSince1970: now).text
            return WebError(
                .authenticationFailed,
                "the date of the signature, \(date), is more than 10 minutes off the node's clock, "
                    + "which says \(clock); set the clock, or sign each request anew"
            )
        }
        guard route.database == .public else {
            return WebError(
                .authenticationFailed,
                "a server's key reaches the public database only, and the URL names the "
                    + "\(route.database.name) one"
            )
        }
        let endpoint = route.endpoint
        guard !endpoint.rawValue.hasPrefix("users/") || endpoint == .usersCaller else {
            return WebError(
                .authenticationFailed,
                "\(endpoint.rawValue) is for users; a server's key may ask users/caller only"
            )
        }
        return nil
    }

    /// The refusal of a bad key or signature, whatever the cause.
    package static let refusal = WebError(
        .authenticationFailed,
        "the server's key or its signature is not valid here: the key is unknown, of another "
            + "container or environment, or was revoked, or the signature is not over "
            + "DATE:BASE64(SHA256(BODY)):PATH, with the path from /database or /device on, without "
            + "a host"
    )

    /// Whether the signature is by a key, over this request.
    ///
    /// - Parameter publicKey: In X9.63 form.
    package func isRight(body: Bytes, publicKey: Bytes) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey) else {
            return false
        }
        return readings.contains { signature in
            messages(body).contains { key.isValidSignature(signature, for: Bytes($0.utf8)) }
        }
    }

    private func messages(_ body: Bytes) -> [String] {
        let path = String(target.prefix { $0 != "?" })
        var hashes = [Base64.encode(SHA256.hash(data: body))]
        if body.isEmpty { hashes.append("") }
        let paths = path == target ? [target] : [target, path]
        return paths.flatMap { path in hashes.map { "\(date):\($0):\(path)" } }
    }

    /// DER; 64 bytes may be the bare numbers instead.
    private var readings: [P256.Signing.ECDSASignature] {
        let der = try? P256.Signing.ECDSASignature(derRepresentation: signature)
        let raw = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        return [der, raw].compactMap { $0 }
    }
}
