// Requests to the push services of browsers (RFC 8030), signed by VAPID (RFC 8292), and what their
// answers mean.
//
// Called by `PushSender`. `WebPushCipher` seals the content for the browser alone.

import Crypto
package import CumulusModel

package enum WebPush {
    /// How long the service keeps a push for a browser that it can't reach, in seconds.
    package static let lifetime = 86_400
    /// How long a token says that it is good, in milliseconds: RFC 8292 allows a day.
    private static let tokenTime: Int64 = 43_200_000
    /// How long it is used.
    private static let usedTime: Int64 = 21_600_000

    /// The origin for which a token is made; nil if the address is no URL.
    package static func audience(of address: PushAddress) -> String? {
        WebAddress(address.token)?.origin
    }

    /// - Parameters:
    ///   - audience: The origin of the push service.
    ///   - now: Milliseconds since 1970 UTC.
    package static func token(
        of setup: PushSetup,
        for audience: String,
        now: Int64
    ) throws -> PushToken.Made {
        guard case .curve(let key) = setup.key else { throw PushFailure.otherKey }
        let text = try PushToken.es256(
            [JSON.Member("typ", "JWT")],
            [
                "aud": .string(audience), "exp": .integer((now + tokenTime) / 1_000),
                "sub": .string(setup.entry.subject),
            ],
            key
        )
        return PushToken.Made(text, made: now, renewed: now + usedTime)
    }

    /// - Parameters:
    ///   - token: The one for the service's origin.
    ///   - dice: Makes a random number; used for the key and the salt of the content.
    package static func request(
        _ news: PushNews,
        to address: PushAddress,
        by setup: PushSetup,
        token: String,
        dice: () -> UInt64
    ) throws -> PushRequest {
        guard let url = WebAddress(address.token), case .curve(let key) = setup.key else {
            throw PushFailure.noAddress
        }
        let (body, content) = news.body(limit: WebPushCipher.mostContent) { $0.text }
        let cipher = try WebPushCipher(dice: dice)
        let sealed = try cipher.seal(body, for: address.publicKey, secret: address.secret)
        let publicKey = Base64URL.encode(key.publicKey.x963Representation)
        var headers = [
            ("authorization", "vapid t=\(token), k=\(publicKey)"),
            ("content-encoding", "aes128gcm"), ("content-type", "application/octet-stream"),
            ("ttl", "\(lifetime)"), ("urgency", content.isShown ? "high" : "normal"),
        ]
        if let collapse = content.info.collapseIDKey {
            headers.append(("topic", WebPushCipher.topic(collapse)))
        }
        return PushRequest(to: url, headers: headers, sealed)
    }

    package static func verdict(_ answer: PushAnswer) -> PushVerdict {
        switch answer.status {
        case 404, 410: .gone(since: nil)
        default: PushVerdict(common: answer, "")
        }
    }
}
