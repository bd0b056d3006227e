// Requests to Firebase Cloud Messaging (HTTP v1) and for the access tokens that it wants, and what
// the answers mean.
//
// Called by `PushSender`. An access token is given for an assertion that is signed with the key of
// a service account (RFC 7523).

package import CumulusModel

package enum FCMPush {
    /// The most bytes of a message.
    package static let mostBytes = 4_096
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let assertionSeconds: Int64 = 3_600
    /// How long before its end an access token is renewed, in milliseconds.
    private static let margin: Int64 = 60_000

    // MARK: Access tokens

    /// - Parameter now: Milliseconds since 1970 UTC.
    package static func tokenRequest(
        of setup: PushSetup,
        now: Int64
    ) throws -> PushRequest {
        guard case .account(let account) = setup.key else { throw PushFailure.otherKey }
        let seconds = now / 1_000
        let assertion = try PushToken.rs256(
            [JSON.Member("typ", "JWT"), JSON.Member("kid", .string(account.keyID))],
            [
                "iss": .string(account.email), "scope": .string(scope),
                "aud": .string(account.tokens.text), "iat": .integer(seconds),
                "exp": .integer(seconds + assertionSeconds),
            ],
            account.key
        )
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        return PushRequest(
            to: account.tokens,
            headers: [("content-type", "application/x-www-form-urlencoded")],
            Bytes("grant_type=\(grant)&assertion=\(assertion)".utf8)
        )
    }

    /// The token of an answer; nil if it holds none.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package static func token(_ answer: PushAnswer, now: Int64) -> PushToken.Made? {
        guard answer.status == 200, let text = answer.json?["access_token"]?.word,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            case .integer(let seconds)? = answer.json?["expires_in"]
        else { return nil }
        let time = min(max(seconds, 0), assertionSeconds) * 1_000
        let renewed = now + max(time - margin, time / 2)
        return PushToken.Made(text, made: now, renewed: renewed)
    }

    // MARK: Messages

    /// Where pushes go.
    static func origin(of setup: PushSetup) -> String {
        setup.entry.url?.origin ?? "https://fcm.googleapis.com"
    }

    /// - Parameter token: An access token.
    package static func request(
        _ news: PushNews,
        to address: PushAddress,
        by setup: PushSetup,
        token: String
    ) throws -> PushRequest {
        guard case .account(let account) = setup.key else { throw PushFailure.otherKey }
        let path = "/v1/projects/\(account.project)/messages:send"
        guard let url = WebAddress(origin(of: setup) + path) else {
            throw PushFailure.noAddress
        }
        // The address counts, too, which leaves some room unused.
        let (body, _) = news.body(limit: mostBytes) { message($0, to: address.token) }
        return PushRequest(
            to: url,
            headers: [
                ("authorization", "Bearer \(token)"),
                ("content-type", "application/json; charset=UTF-8"),
            ],
            body
        )
    }

    private static func message(_ content: PushNews.Content, to token: String) -> Bytes {
        let info = content.info
        var message = [
            JSON.Member("token", .string(token)),
            // Values of data are texts.
            JSON.Member("data", ["ck": .string(content.ck.text)]),
        ]
        let notification = texts([("title", info.title), ("body", info.alertBody)])
        if !notification.isEmpty {
            message.append(JSON.Member("notification", .object(notification)))
        }
        message.append(JSON.Member("android", .object(android(content))))
        return JSON.object([JSON.Member("message", .object(message))]).bytes
    }

    private static func android(_ content: PushNews.Content) -> [JSON.Member] {
        let info = content.info
        let hasText = info.hasText
        var android = [JSON.Member("priority", hasText ? "HIGH" : "NORMAL")]
        android += texts([("collapse_key", info.collapseIDKey)])
        // The system takes a message that shows something, and does not run the app for it.
        if !hasText { return android }
        var shown = texts([
            ("sound", info.soundName), ("click_action", info.category),
            ("body_loc_key", info.alertLocalizationKey),
            ("title_loc_key", info.titleLocalizationKey),
        ])
        for (key, list) in [
            ("body_loc_args", info.alertLocalizationArgs),
            ("title_loc_args", info.titleLocalizationArgs),
        ] where !list.isEmpty {
            shown.append(JSON.Member(key, .array(list.map { .string($0) })))
        }
        if info.shouldBadge, let badge = content.aps["badge"] {
            shown.append(JSON.Member("notification_count", badge))
        }
        if !shown.isEmpty { android.append(JSON.Member("notification", .object(shown))) }
        return android
    }

    private static func texts(_ parts: [(key: String, text: String?)]) -> [JSON.Member] {
        parts.compactMap { key, text in text.map { JSON.Member(key, .string($0)) } }
    }

    package static func verdict(_ answer: PushAnswer) -> PushVerdict {
        let error = answer.json?["error"]
        let status = PushVerdict.word(error?["status"]?.word)
        var code = ""
        if case .array(let details)? = error?["details"] {
            code = PushVerdict.word(details.compactMap { $0["errorCode"]?.word }.first)
        }
        switch code {
        case "UNREGISTERED", "SENDER_ID_MISMATCH": return .gone(since: nil)
        // The project has no key for the service behind this token, such as APNs.
        case "THIRD_PARTY_AUTH_ERROR": return .refused(PushVerdict.said(answer, code))
        default: return PushVerdict(common: answer, code.isEmpty ? status : code)
        }
    }
}

extension Subscription.NotificationInfo {
    /// Whether Android has a text to show: a sound or a number alone shows nothing there.
    fileprivate var hasText: Bool {
        [alertBody, alertLocalizationKey, title, titleLocalizationKey].contains { $0 != nil }
    }
}
