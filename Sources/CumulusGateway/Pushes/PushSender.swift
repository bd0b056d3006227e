// Sends pushes to one service: makes the tokens that say who pushes, keeps them for a while, and
// makes the request of each push.
//
// `PushRunner` makes one for each service that is set up; couriers share it. Time and dice come
// from its callers, the network from a `PushClient`.

package import CumulusModel
import Synchronization

package final class PushSender: Sendable {
    package let setup: PushSetup
    private let client: any PushClient
    /// Tokens, by the audience that takes them.
    private let tokens = Mutex<[String: PushToken.Made]>([:])
    /// The question for an access token that is on its way.
    private let asking = Mutex<Task<PushToken.Made, any Error>?>(nil)
    /// How old a token is before a new one takes its place, in milliseconds.
    private static let leastTokenAge: Int64 = 60_000
    /// Origins of Web Push are few; this many are kept.
    private static let mostTokens = 1_000

    package init(_ setup: PushSetup, _ client: any PushClient) {
        self.setup = setup
        self.client = client
    }

    /// Ends its connections.
    package func close() async { await client.close() }

    /// Names the origin that pushes to an address go to, for turns and for the log.
    package func endpoint(of address: PushAddress) -> String {
        let origin =
            switch setup.entry.service {
            case .apns: APNsPush.origin(of: address, by: setup)
            case .webPush: WebPush.audience(of: address) ?? ""
            case .fcm: FCMPush.origin(of: setup)
            }
        return "\(setup.entry.service.name) \(origin)"
    }

    /// Gets the token that a push to an address needs; that may take as long as a request.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC.
    package func prepare(for address: PushAddress, now: Int64) async throws {
        _ = try await token(for: WebPush.audience(of: address) ?? "", now: now)
    }

    /// Sends a push; throws if it is not known what became of it.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970 UTC.
    ///   - dice: Makes a random number.
    package func send(
        _ news: PushNews,
        to address: PushAddress,
        now: Int64,
        dice: () -> UInt64
    ) async throws -> PushVerdict {
        let audience = WebPush.audience(of: address) ?? ""
        let token = try await token(for: audience, now: now)
        let request = try request(news, to: address, token: token.text, now: now, dice)
        let answer = try await client.post(request)
        let verdict =
            switch setup.entry.service {
            case .apns: APNsPush.verdict(answer)
            case .webPush: WebPush.verdict(answer)
            case .fcm: FCMPush.verdict(answer)
            }
        guard case .unauthorised(let why) = verdict else { return verdict }
        return renew(token, for: audience, now: now) ? verdict : judge(why)
    }

    /// Lets the next attempt have a new token; returns false if this one is too young for that.
    ///
    /// One device that a service refuses must not make tokens for all: services take few.
    private func renew(_ token: PushToken.Made, for audience: String, now: Int64) -> Bool {
        let least =
            setup.entry.service == .apns ? APNsPush.leastTokenAge : PushSender.leastTokenAge
        guard now - token.made > least else { return false }
        // Another courier may have made one meanwhile.
        tokens.withLock { if $0[audience] == token { $0[audience] = nil } }
        return true
    }

    /// What it means that a service does not take a new token.
    private func judge(_ why: String) -> PushVerdict {
        // The browser has subscribed with another key than the operator's.
        setup.entry.service == .webPush ? .refused(why) : .unauthorised(why)
    }

    private func request(
        _ news: PushNews,
        to address: PushAddress,
        token: String,
        now: Int64,
        _ dice: () -> UInt64
    ) throws -> PushRequest {
        switch setup.entry.service {
        case .apns:
            try APNsPush.request(news, to: address, by: setup, token: token, now: now)
        case .webPush:
            try WebPush.request(news, to: address, by: setup, token: token, dice: dice)
        case .fcm: try FCMPush.request(news, to: address, by: setup, token: token)
        }
    }

    // MARK: Tokens

    private func token(for audience: String, now: Int64) async throws -> PushToken.Made {
        if let known = tokens.withLock({ $0[audience] }), known.isGood(now: now) { return known }
        let made =
            switch setup.entry.service {
            case .apns: try APNsPush.token(of: setup, now: now)
            case .webPush: try WebPush.token(of: setup, for: audience, now: now)
            case .fcm: try await accessToken(now: now)
            }
        tokens.withLock { tokens in
            if tokens.count >= PushSender.mostTokens { tokens = [:] }
            tokens[audience] = made
        }
        return made
    }

    /// Asks for an access token, once for all couriers that need it now.
    private func accessToken(now: Int64) async throws -> PushToken.Made {
        let (setup, client) = (setup, client)
        let task = asking.withLock { asking in
            if let asking { return asking }
            let task = Task {
                let answer = try await client.post(try FCMPush.tokenRequest(of: setup, now: now))
                guard let made = FCMPush.token(answer, now: now) else {
                    throw PushFailure.noToken("status \(answer.status)")
                }
                return made
            }
            asking = task
            return task
        }
        defer { asking.withLock { $0 = nil } }
        return try await task.value
    }
}
