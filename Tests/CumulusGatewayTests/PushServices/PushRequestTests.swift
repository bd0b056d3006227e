// Requests to push services as each service wants them, and what its answers mean.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct PushRequestTests {
    private let now: Int64 = 1_700_000_000_000

    // MARK: APNs

    @Test func aProviderTokenNamesKeyAndTeam() throws {
        let made = try APNsPush.token(of: PushSamples.apns(), now: now)
        let (header, claims) = try PushSamples.opened(made.text)
        #expect(header == ["alg": "ES256", "kid": "ABC123DEFG"])
        #expect(claims == ["iss": "DEF123GHIJ", "iat": .integer(1_700_000_000)])
        // Not more often than every 20 minutes, and not longer than an hour.
        #expect(made.isGood(now: now + 20 * 60_000))
        #expect(!made.isGood(now: now + 60 * 60_000))
    }

    @Test func anAlertOfAPNs() throws {
        let notification = PushSamples.notification { info in
            info.alertBody = "New note"
            info.title = "Notes"
            info.soundName = "ping.aiff"
            info.category = "NOTE"
            info.collapseIDKey = "note-1"
            info.shouldBadge = true
            info.shouldSendContentAvailable = true
            info.shouldSendMutableContent = true
        }
        let request = try APNsPush.request(
            PushSamples.news(notification, badge: 3),
            to: PushSamples.address(.apns),
            by: PushSamples.apns(),
            token: "t",
            now: now
        )
        let device = PushSamples.deviceToken.hex
        #expect(request.address.text == "https://api.push.apple.com/3/device/\(device)")
        #expect(request["authorization"] == "bearer t")
        #expect(request["apns-topic"] == "com.example.notes")
        #expect(request["apns-push-type"] == "alert" && request["apns-priority"] == "10")
        #expect(request["apns-collapse-id"] == "note-1")
        #expect(request["apns-expiration"] == "1700086400")
        #expect(request["apns-id"] == "00010203-0405-0607-0809-0a0b0c0d0e0f")
        let json = try JSONReader.read(request.body)
        #expect(
            json["aps"] == [
                "alert": ["title": "Notes", "body": "New note"], "sound": "ping.aiff",
                "category": "NOTE", "badge": .integer(3), "content-available": .integer(1),
                "mutable-content": .integer(1),
            ]
        )
        #expect(json["ck"]?["cid"] == .string(PushSamples.container))
        #expect(json["ck"]?["qry"]?["rid"] == "n1" && json["ck"]?["qry"]?["sid"] == "notes")
        #expect(json["ck"]?["p"] == nil)
    }

    @Test func aSilentPushOfAPNs() throws {
        let notification = PushSamples.notification { info in
            info.shouldSendContentAvailable = true
            info.collapseIDKey = "c"
        }
        var address = try PushSamples.address(.apns)
        address.isSandbox = true
        let request = try APNsPush.request(
            PushSamples.news(notification, hasMore: true),
            to: address,
            by: PushSamples.apns(),
            token: "t",
            now: now
        )
        #expect(request.address.host == "api.sandbox.push.apple.com")
        #expect(request["apns-push-type"] == "background" && request["apns-priority"] == "5")
        #expect(request["apns-collapse-id"] == nil)
        let json = try JSONReader.read(request.body)
        #expect(json["aps"] == ["content-available": .integer(1)])
        #expect(json["ck"]?["p"] == .integer(1))
    }

    /// What is told with it may wake the app and set the number, whatever it shows by itself.
    @Test func aPushOfAPNsCarriesTheFlagsOfWhatItStandsFor() throws {
        var news = PushSamples.news(badge: 4)
        (news.wakes, news.setsBadge) = (true, true)
        let request = try APNsPush.request(
            news,
            to: PushSamples.address(.apns),
            by: PushSamples.apns(),
            token: "t",
            now: now
        )
        #expect(request["apns-push-type"] == "alert")
        let aps = try JSONReader.read(request.body)["aps"]
        #expect(aps?["content-available"] == .integer(1) && aps?["badge"] == .integer(4))
        #expect(aps?["alert"] == ["body": "New note"])
    }

    @Test(
        arguments: [
            (200, "", .taken),
            (400, "BadDeviceToken", .gone(since: nil)),
            (400, "DeviceTokenNotForTopic", .gone(since: nil)),
            (400, "BadTopic", .refused("status 400, BadTopic")),
            (403, "ExpiredProviderToken", .unauthorised("status 403, ExpiredProviderToken")),
            (403, "InvalidProviderToken", .unauthorised("status 403, InvalidProviderToken")),
            (403, "Forbidden", .refused("status 403, Forbidden")),
            (403, "", .refused("status 403")),
            (413, "PayloadTooLarge", .refused("status 413, PayloadTooLarge")),
            (429, "TooManyRequests", .later("status 429, TooManyRequests", pause: 7_000)),
            (500, "InternalServerError", .later("status 500, InternalServerError", pause: 7_000)),
            (503, "Shutdown", .later("status 503, Shutdown", pause: 7_000)),
        ] as [(Int, String, PushVerdict)]
    ) func answersOfAPNs(status: Int, reason: String, verdict: PushVerdict) {
        let body: JSON = ["reason": .string(reason)]
        let answer = PushAnswer(status: status, retryAfter: "7", body: Bytes(body.text.utf8))
        #expect(APNsPush.verdict(answer) == verdict)
    }

    @Test func apnsSaysSinceWhenADeviceIsGone() {
        let body = Bytes(#"{"reason": "Unregistered", "timestamp": 1700000000123}"#.utf8)
        let gone = APNsPush.verdict(PushAnswer(status: 410, body: body))
        #expect(gone == .gone(since: 1_700_000_000_123))
        #expect(APNsPush.verdict(PushAnswer(status: 410)) == .gone(since: nil))
    }

    // MARK: Web Push

    @Test func aBrowserIsSentWhatOnlyItCanRead() throws {
        let (setup, browser) = (try PushSamples.webPush(), PushSamples.Browser())
        let audience = try #require(WebPush.audience(of: browser.address))
        let made = try WebPush.token(of: setup, for: audience, now: now)
        let (header, claims) = try PushSamples.opened(made.text)
        #expect(header == ["alg": "ES256", "typ": "JWT"])
        #expect(claims["aud"] == "https://updates.push.services.mozilla.com")
        #expect(claims["sub"] == "mailto:push@example.com")
        #expect(claims["exp"] == .integer(1_700_043_200))

        var dice = SeededGenerator(seed: 3)
        let notification = PushSamples.notification { info in
            info.alertBody = "New note"
            info.collapseIDKey = "note-1"
        }
        let request = try WebPush.request(
            PushSamples.news(notification),
            to: browser.address,
            by: setup,
            token: made.text,
            dice: { dice.next() }
        )
        let key = Base64URL.encode(setup.offer.publicKey)
        #expect(setup.offer.publicKey.count == 65)
        #expect(request["authorization"] == "vapid t=\(made.text), k=\(key)")
        #expect(request["content-encoding"] == "aes128gcm")
        #expect(request["ttl"] == "86400" && request["urgency"] == "high")
        #expect(request["topic"]?.utf8.count == 32)
        let json = try JSONReader.read(browser.open(request.body))
        #expect(json["aps"]?["alert"] == ["body": "New note"])
        #expect(json["ck"]?["qry"]?["rid"] == "n1")
    }

    @Test func answersOfWebPush() {
        #expect(WebPush.verdict(PushAnswer(status: 201)) == .taken)
        #expect(WebPush.verdict(PushAnswer(status: 404)) == .gone(since: nil))
        #expect(WebPush.verdict(PushAnswer(status: 410)) == .gone(since: nil))
        #expect(WebPush.verdict(PushAnswer(status: 413)) == .refused("status 413"))
        #expect(WebPush.verdict(PushAnswer(status: 403)) == .unauthorised("status 403"))
        let busy = WebPush.verdict(PushAnswer(status: 429, retryAfter: "Wed, 21 Oct 2026"))
        #expect(busy == .later("status 429", pause: nil))
    }

    // MARK: FCM

    @Test func anAccessTokenIsAskedForWithASignedAssertion() throws {
        let setup = try PushSamples.fcm()
        let request = try FCMPush.tokenRequest(of: setup, now: now)
        #expect(request.address.text == "https://oauth2.googleapis.com/token")
        #expect(request["content-type"] == "application/x-www-form-urlencoded")
        let parts = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        #expect(
            parts.first == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        )
        let assertion = String(try #require(parts.last).dropFirst("assertion=".count))
        let (header, claims) = try PushSamples.opened(assertion, isRSA: true)
        #expect(header == ["alg": "RS256", "typ": "JWT", "kid": "k1"])
        #expect(claims["iss"] == "push@notes-1234.example.com")
        #expect(claims["aud"] == "https://oauth2.googleapis.com/token")
        #expect(claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(claims["exp"] == .integer(1_700_003_600))

        let body = Bytes(#"{"access_token": "at", "expires_in": 3599}"#.utf8)
        let made = try #require(FCMPush.token(PushAnswer(status: 200, body: body), now: now))
        #expect(made.text == "at" && made.renewed == now + 3_539_000)
        #expect(FCMPush.token(PushAnswer(status: 400, body: body), now: now) == nil)
        #expect(FCMPush.token(PushAnswer(status: 200), now: now) == nil)
    }

    @Test func aMessageOfFCM() throws {
        let notification = PushSamples.notification { info in
            info.alertLocalizationKey = "NEW_NOTE"
            info.alertLocalizationArgs = ["Trees"]
            info.title = "Notes"
            info.shouldBadge = true
            info.collapseIDKey = "note-1"
        }
        let request = try FCMPush.request(
            PushSamples.news(notification, badge: 2),
            to: PushSamples.address(.fcm),
            by: PushSamples.fcm(),
            token: "at"
        )
        #expect(
            request.address.text
                == "https://fcm.googleapis.com/v1/projects/notes-1234/messages:send"
        )
        #expect(request["authorization"] == "Bearer at")
        let message = try #require(try JSONReader.read(request.body)["message"])
        #expect(message["token"] == "fcm-token-1")
        #expect(message["notification"] == ["title": "Notes"])
        #expect(message["android"]?["priority"] == "HIGH")
        #expect(message["android"]?["collapse_key"] == "note-1")
        #expect(
            message["android"]?["notification"] == [
                "body_loc_key": "NEW_NOTE", "body_loc_args": .array(["Trees"]),
                "notification_count": .integer(2),
            ]
        )
        guard case .string(let text)? = message["data"]?["ck"] else {
            Issue.record("the data has no ck")
            return
        }
        #expect(try JSONReader.read(Bytes(text.utf8))["qry"]?["rid"] == "n1")
    }

    /// A sound or a number shows nothing on Android: the app gets the message then.
    @Test func aMessageOfFCMWithoutATextIsForTheApp() throws {
        let notification = PushSamples.notification { info in
            info.soundName = "ping"
            info.shouldBadge = true
        }
        let request = try FCMPush.request(
            PushSamples.news(notification),
            to: PushSamples.address(.fcm),
            by: PushSamples.fcm(),
            token: "at"
        )
        let message = try #require(try JSONReader.read(request.body)["message"])
        #expect(message["notification"] == nil && message["android"]?["notification"] == nil)
        #expect(message["android"]?["priority"] == "NORMAL" && message["data"]?["ck"] != nil)
    }

    @Test func answersOfFCM() {
        func answer(_ status: Int, _ word: String, _ code: String? = nil) -> PushVerdict {
            var error = [JSON.Member("status", .string(word))]
            if let code {
                error.append(JSON.Member("details", .array([["errorCode": .string(code)]])))
            }
            let body = JSON.object([JSON.Member("error", .object(error))])
            return FCMPush.verdict(
                PushAnswer(status: status, retryAfter: "30", body: Bytes(body.text.utf8))
            )
        }
        #expect(answer(404, "NOT_FOUND", "UNREGISTERED") == .gone(since: nil))
        #expect(answer(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH") == .gone(since: nil))
        #expect(answer(401, "UNAUTHENTICATED") == .unauthorised("status 401, UNAUTHENTICATED"))
        #expect(
            answer(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR")
                == .refused("status 401, THIRD_PARTY_AUTH_ERROR")
        )
        #expect(
            answer(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT")
                == .refused("status 400, INVALID_ARGUMENT")
        )
        #expect(
            answer(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
                == .later("status 429, QUOTA_EXCEEDED", pause: 30_000)
        )
        #expect(FCMPush.verdict(PushAnswer(status: 200)) == .taken)
    }

    /// What a service says stands in the log, so it is cut to what can do no harm there.
    @Test func wordsOfServicesAreCut() {
        let long = String(repeating: "a\n", count: 100)
        let body: JSON = ["reason": .string(long)]
        let verdict = APNsPush.verdict(PushAnswer(status: 400, body: Bytes(body.text.utf8)))
        #expect(verdict == .refused("status 400, " + String(repeating: "a", count: 32)))
    }

    // MARK: Sizes

    @Test(arguments: PushService.allCases) func largeNewsAreCutToWhatAServiceTakes(
        service: PushService
    ) throws {
        let long = String(repeating: "\"ü", count: 1_000)
        let notification = PushSamples.notification { info in
            info.alertBody = long
            info.title = long
            info.subtitle = long
            info.category = long
            info.soundName = "ping"
        }
        let news = PushSamples.news(notification)
        let json: JSON
        switch service {
        case .apns:
            let request = try APNsPush.request(
                news,
                to: PushSamples.address(.apns),
                by: PushSamples.apns(),
                token: "t",
                now: now
            )
            #expect(request.body.count <= 4_096)
            json = try JSONReader.read(request.body)
        case .webPush:
            var dice = SeededGenerator(seed: 4)
            let browser = PushSamples.Browser()
            let request = try WebPush.request(
                news,
                to: browser.address,
                by: PushSamples.webPush(),
                token: "t",
                dice: { dice.next() }
            )
            #expect(request.body.count <= 4_096)
            json = try JSONReader.read(browser.open(request.body))
        case .fcm:
            let request = try FCMPush.request(
                news,
                to: PushSamples.address(.fcm),
                by: PushSamples.fcm(),
                token: "t"
            )
            #expect(request.body.count <= 4_096)
            let message = try #require(try JSONReader.read(request.body)["message"])
            guard case .string(let text)? = message["data"]?["ck"] else {
                Issue.record("the data has no ck")
                return
            }
            json = ["ck": try JSONReader.read(Bytes(text.utf8))]
        }
        // It says so, and still names the change.
        #expect(json["ck"]?["p"] == .integer(1))
        #expect(json["ck"]?["qry"]?["rid"] == "n1")
    }

    @Test func aLongResetIsAboutAll() throws {
        let names = (0..<200).map { number in
            SubscriptionName(
                databaseScope: .private,
                subscriptionID: String(repeating: "s", count: 30) + "\(number)"
            )
        }
        for (names, isAll) in [(names, true), (Array(names.prefix(2)), false)] {
            let news = PushNews(
                .reset(.subscriptions(names), token: [1]),
                container: PushSamples.container,
                user: "_u"
            )
            let request = try APNsPush.request(
                news,
                to: PushSamples.address(.apns),
                by: PushSamples.apns(),
                token: "t",
                now: now
            )
            #expect(request.body.count <= 4_096)
            #expect(request["apns-push-type"] == "background")
            let reset = try JSONReader.read(request.body)["ck"]?["reset"]
            #expect((reset?["subscriptions"] == nil) == isAll)
        }
    }
}
