// Services and news for tests of pushes, with keys that are made anew for each run.

import Crypto
import CryptoExtras
import CumulusGateway
import CumulusModel
import Testing

enum PushSamples {
    static let container = "iCloud.dev.cumulus"
    static let curveKey = P256.Signing.PrivateKey()
    static let accountKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    static let deviceToken = Bytes(repeating: 0xAB, count: 32)

    static func entry(_ text: String) throws -> PushEntry {
        try #require(try PushEntry.entries(Bytes(text.utf8)).first)
    }

    static func apns(at url: String? = nil) throws -> PushSetup {
        let place = url.map { ", \"url\": \"\($0)\"" } ?? ""
        let entry = try entry(
            """
            [{"service": "apns", "keyFile": "k.p8", "keyID": "ABC123DEFG", "teamID": "DEF123GHIJ",
              "topics": ["com.example.notes"]\(place)}]
            """
        )
        return try PushSetup(entry, keyFile: Bytes(curveKey.pemRepresentation.utf8))
    }

    static func webPush(_ hosts: [String]? = nil) throws -> PushSetup {
        let list = hosts.map { ", \"hosts\": [\($0.map { "\"\($0)\"" }.joined(separator: ", "))]" }
        let entry = try entry(
            """
            [{"service": "web-push", "keyFile": "v.pem", "subject": "mailto:push@example.com"\
            \(list ?? "")}]
            """
        )
        return try PushSetup(entry, keyFile: Bytes(curveKey.pemRepresentation.utf8))
    }

    static func fcm(at url: String? = nil) throws -> PushSetup {
        let place = url.map { ", \"url\": \"\($0)\"" } ?? ""
        let entry = try entry("[{\"service\": \"fcm\", \"keyFile\": \"a.json\"\(place)}]")
        let account: JSON = [
            "project_id": "notes-1234", "client_email": "push@notes-1234.example.com",
            "private_key_id": "k1", "private_key": .string(try accountKey.get().pemRepresentation),
            "token_uri": .string((url ?? "https://oauth2.googleapis.com") + "/token"),
        ]
        return try PushSetup(entry, keyFile: Bytes(account.text.utf8))
    }

    static func address(_ service: PushService, browser: Browser? = nil) throws -> PushAddress {
        switch service {
        case .apns: .apns(deviceToken: deviceToken, topic: "com.example.notes")
        case .webPush: try #require(browser).address
        case .fcm: .fcm(token: "fcm-token-1")
        }
    }

    /// A browser with a push subscription, which opens what it is sent.
    struct Browser: Sendable {
        var endpoint = "https://updates.push.services.mozilla.com/wpush/v2/abc"
        private let key = P256.KeyAgreement.PrivateKey()
        private let secret = Bytes(repeating: 9, count: 16)

        var address: PushAddress {
            .webPush(
                endpoint: endpoint,
                publicKey: Bytes(key.publicKey.x963Representation),
                secret: secret
            )
        }

        func open(_ body: Bytes) throws -> Bytes {
            let (salt, sender) = (Bytes(body[..<16]), Bytes(body[21..<86]))
            let shared = try key.sharedSecretFromKeyAgreement(
                with: P256.KeyAgreement.PublicKey(x963Representation: sender)
            )
            func derive(_ input: SymmetricKey, _ salt: Bytes, _ info: Bytes, _ count: Int)
                -> SymmetricKey
            {
                HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: input,
                    salt: salt,
                    info: info,
                    outputByteCount: count
                )
            }
            let own = Bytes(key.publicKey.x963Representation)
            let input = derive(
                SymmetricKey(data: shared.withUnsafeBytes { Bytes($0) }),
                secret,
                Bytes("WebPush: info\0".utf8) + own + sender,
                32
            )
            let nonce = derive(input, salt, Bytes("Content-Encoding: nonce\0".utf8), 12)
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: nonce.withUnsafeBytes { Bytes($0) }),
                ciphertext: body[86..<(body.count - 16)],
                tag: body.suffix(16)
            )
            let content = try AES.GCM.open(
                box,
                using: derive(input, salt, Bytes("Content-Encoding: aes128gcm\0".utf8), 16)
            )
            try #require(content.last == 2)
            return Bytes(content.dropLast())
        }
    }

    // MARK: News

    static func notification(
        _ change: (inout Subscription.NotificationInfo) -> Void = { $0.alertBody = "New note" }
    ) -> FeedNotification {
        var info = Subscription.NotificationInfo()
        change(&info)
        return FeedNotification(
            id: FeedNotification.ID(bytes: Bytes(0..<16)),
            subscriptionID: "notes",
            databaseScope: .private,
            news: .record(
                FeedNotification.RecordNews(
                    recordID: Record.ID(recordName: "n1"),
                    recordType: "Note",
                    reason: .created,
                    transition: .entered
                )
            ),
            notificationInfo: info,
            changedAt: Timestamp(millisecondsSince1970: 1_700_000_000_000)
        )
    }

    static func news(
        _ notification: FeedNotification = PushSamples.notification(),
        hasMore: Bool = false,
        badge: Int64 = 1
    ) -> PushNews {
        PushNews(
            .notification(notification, isWide: false),
            container: container,
            user: "_u",
            hasMore: hasMore,
            badge: badge
        )
    }

    // MARK: Tokens

    /// Header and claims of a token, once its signature is that of the key.
    static func opened(_ token: String, isRSA: Bool = false) throws -> (header: JSON, claims: JSON)
    {
        let parts = token.split(separator: ".")
        try #require(parts.count == 3)
        let content = Bytes("\(parts[0]).\(parts[1])".utf8)
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        if isRSA {
            let isRight = try accountKey.get().publicKey.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature),
                for: content,
                padding: .insecurePKCS1v1_5
            )
            try #require(isRight)
        } else {
            let isRight = try curveKey.publicKey.isValidSignature(
                P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: content
            )
            try #require(isRight)
        }
        func json(_ part: Substring) throws -> JSON {
            try JSONReader.read(try #require(Base64URL.decode(part.utf8)))
        }
        return (try json(parts[0]), try json(parts[1]))
    }
}
