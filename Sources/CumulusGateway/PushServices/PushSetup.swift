// A push service with its key: everything that makes requests to it.
//
// Made by `cumulusd` of an entry of the operator's file and the bytes of the file that this names,
// and made again when either changes. Nothing of a key is ever part of a message.

import Crypto
import CryptoExtras
package import CumulusModel

package struct PushSetup: Sendable {
    /// The key of a service.
    enum Key: Sendable {
        /// APNs and Web Push: a key of the curve P-256.
        case curve(P256.Signing.PrivateKey)
        case account(ServiceAccount)
    }

    /// What Google's file for FCM says.
    struct ServiceAccount: Sendable {
        var project: String
        var email: String
        var keyID: String
        var key: _RSA.Signing.PrivateKey
        /// Where access tokens are made.
        var tokens: WebAddress
    }

    package let entry: PushEntry
    /// PEM text of the authorities that vouch for the service; nil means the system's.
    package let authority: Bytes?
    let key: Key
    /// SHA-256 of the key's file.
    private let fingerprint: Bytes

    /// - Parameters:
    ///   - file: What the key's file holds.
    ///   - authority: What the file of authorities holds; nil without one.
    package init(
        _ entry: PushEntry,
        keyFile file: Bytes,
        authority: Bytes? = nil
    ) throws(PushEntry.Problem) {
        self.entry = entry
        self.authority = authority
        fingerprint = Bytes(SHA256.hash(data: file))
        if let authority, !OutboundPushClient.isAuthority(authority) {
            throw PushEntry.Problem(
                "\(entry.authority ?? "authority") must hold certificates as PEM"
            )
        }
        let text = String(decoding: file, as: UTF8.self)
        switch entry.service {
        case .apns, .webPush: key = .curve(try PushSetup.curveKey(text, entry.keyFile))
        case .fcm: key = .account(try ServiceAccount(file, entry.keyFile))
        }
    }

    private static func curveKey(
        _ text: String,
        _ file: String
    ) throws(PushEntry.Problem) -> P256.Signing.PrivateKey {
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) { return key }
        // Tools for Web Push write the bare number.
        if let word = text.split(whereSeparator: \.isWhitespace).first,
            let bytes = Base64URL.decode(word.utf8),
            let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes)
        {
            return key
        }
        throw PushEntry.Problem(
            "\(file) must hold a private key of the curve P-256 as PEM, such as the .p8 file of "
                + "APNs, or as 'openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256' "
                + "makes for Web Push"
        )
    }

    /// What users of a container are offered.
    package var offer: PushOffer {
        var offer = PushOffer(service: entry.service, topics: entry.topics, hosts: entry.hosts)
        if entry.service == .webPush, case .curve(let key) = key {
            offer.publicKey = Bytes(key.publicKey.x963Representation)
        }
        return offer
    }

    /// Whether an address is one that it pushes to.
    package func pushes(to address: PushAddress, in container: String) -> Bool {
        guard entry.service == address.service, entry.serves(container) else { return false }
        switch address.service {
        case .apns: return entry.topics.contains(address.topic)
        case .webPush:
            guard let url = WebAddress(address.token) else { return false }
            return url.isSecret && entry.hosts.contains { $0.leads(to: url) }
        case .fcm: return true
        }
    }
}

extension PushSetup: Hashable {
    package static func == (one: PushSetup, other: PushSetup) -> Bool {
        one.entry == other.entry && one.fingerprint == other.fingerprint
            && one.authority == other.authority
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(entry)
        hasher.combine(fingerprint)
    }
}

extension PushSetup.ServiceAccount {
    fileprivate init(_ file: Bytes, _ name: String) throws(PushEntry.Problem) {
        func text(_ key: String) -> String? { (try? JSONReader.read(file))?[key]?.word }
        guard let project = text("project_id"), !project.isEmpty,
            project.utf8.allSatisfy({ $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D }),
            let email = text("client_email"), let pem = text("private_key"),
            let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem),
            let tokens = text("token_uri").flatMap({ WebAddress($0) }), tokens.isSecret
        else {
            throw PushEntry.Problem(
                "\(name) must hold the JSON of a service account, as Firebase's pages make it, "
                    + "with project_id, client_email, private_key and token_uri"
            )
        }
        self.project = project
        self.email = email
        keyID = text("private_key_id") ?? ""
        self.key = key
        self.tokens = tokens
    }
}
