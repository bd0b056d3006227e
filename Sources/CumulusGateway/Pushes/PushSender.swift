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
    /// Origins of Web Push are few; this many are kept.
    private static let mostTokens = 1_000

    package init(_ setup: PushSetup, _ client: any PushClient) {
        self.setup = setup
        self.client = client
    }

    /// Ends its connections.
    package func close() async { await client.close() }

    /// Names the endpoint that an address leads to, for turns and for the log.
    package func endpoint(of address: PushAddress) -> String {
        let host = address.service == .webPush ? WebAddress(address.token)?.host ?? "" : ""
        return host.isEmpty ? setup.entry.service.name : "\(setup.entry.service.name) \(host)"
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
        let request = try request(news, to: address, token: token, now: now, dice)
        let answer = try await client.post(request)
        let verdict =
            switch setup.entry.service {
            case .apns: APNsPush.verdict(answer)
            case .webPush: WebPush.verdict(answer)
            case .fcm: FCMPush.verdict(answer)
            }
        // The next attempt has a new one, unless another courier has made it meanwhile.
        if case .unauthorised = verdict { forget(token, for: audience) }
        return verdict
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

    private func token(for audience: String, now: Int64) async throws -> String {
        if let known = tokens.withLock({ $0[audience] }), known.isGood(now: now) {
            return known.text
        }
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
        return made.text
    }

    private func forget(_ token: String, for audience: String) {
        tokens.withLock { tokens in
            if tokens[audience]?.text == token { tokens[audience] = nil }
        }
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
