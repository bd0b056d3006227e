// Requests to Apple's Push Notification service, and what its answers mean.
//
// Called by `PushSender`. The service speaks HTTP/2 only. A provider token is good for an hour, and
// a new one more often than every 20 minutes is refused.

package import CumulusModel

package enum APNsPush {
    /// The most bytes of a payload.
    package static let mostBytes = 4_096
    /// How long the service keeps a push for a device that it can't reach, in seconds.
    package static let lifetime: Int64 = 86_400
    /// How long a provider token is used, in milliseconds.
    private static let tokenTime: Int64 = 2_400_000
    /// How old a provider token is before a new one may take its place, in milliseconds.
    package static let leastTokenAge: Int64 = 1_200_000
    private static let mostCollapseBytes = 64

    /// - Parameter now: Milliseconds since 1970 UTC.
    package static func token(
        of setup: PushSetup,
        now: Int64
    ) throws -> PushToken.Made {
        guard case .curve(let key) = setup.key else { throw PushFailure.otherKey }
        let text = try PushToken.es256(
            [JSON.Member("kid", .string(setup.entry.keyID))],
            ["iss": .string(setup.entry.teamID), "iat": .integer(now / 1_000)],
            key
        )
        return PushToken.Made(text, made: now, renewed: now + tokenTime)
    }

    /// Where pushes to an address go.
    static func origin(of address: PushAddress, by setup: PushSetup) -> String {
        let host = address.isSandbox ? "api.sandbox.push.apple.com" : "api.push.apple.com"
        return setup.entry.url?.origin ?? "https://\(host)"
    }

    /// - Parameters:
    ///   - token: The provider's.
    ///   - now: Milliseconds since 1970 UTC.
    package static func request(
        _ news: PushNews,
        to address: PushAddress,
        by setup: PushSetup,
        token: String,
        now: Int64
    ) throws -> PushRequest {
        let (body, content) = news.body(limit: mostBytes) { $0.text }
        let origin = origin(of: address, by: setup)
        guard let url = WebAddress("\(origin)/3/device/\(address.token)") else {
            throw PushFailure.noAddress
        }
        var headers = [
            ("authorization", "bearer \(token)"), ("apns-topic", address.topic),
            ("apns-push-type", content.isShown ? "alert" : "background"),
            ("apns-priority", content.isShown ? "10" : "5"),
            ("apns-expiration", "\(now / 1_000 + lifetime)"),
        ]
        if let id = uuid(news.id) { headers.append(("apns-id", id)) }
        if let collapse = content.info.collapseIDKey, content.isShown,
            collapse.utf8.count <= mostCollapseBytes, collapse.utf8.allSatisfy(isPlain)
        {
            headers.append(("apns-collapse-id", collapse))
        }
        return PushRequest(to: url, headers: headers, body)
    }

    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7F }

    /// 32 hexadecimal digits as a UUID; nil for another text.
    private static func uuid(_ digits: String) -> String? {
        guard digits.utf8.count == 32 else { return nil }
        var parts: [Substring] = []
        var rest = digits[...]
        for count in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return parts.joined(separator: "-")
    }

    package static func verdict(_ answer: PushAnswer) -> PushVerdict {
        let reason = PushVerdict.word(answer.json?["reason"]?.word)
        switch (answer.status, reason) {
        case (410, _):
            guard case .integer(let since)? = answer.json?["timestamp"] else {
                return .gone(since: nil)
            }
            return .gone(since: since)
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): return .gone(since: nil)
        case (429, "TooManyProviderTokenUpdates"):
            return .later("status 429, \(reason)", pause: answer.pause)
        // Another token helps in these cases only; what else is forbidden stays so.
        case (401, _), (403, _):
            let isOfToken = ["ExpiredProviderToken", "InvalidProviderToken"].contains(reason)
            let said = PushVerdict.said(answer, reason)
            return isOfToken ? .unauthorised(said) : .refused(said)
        default: return PushVerdict(common: answer, reason)
        }
    }
}
