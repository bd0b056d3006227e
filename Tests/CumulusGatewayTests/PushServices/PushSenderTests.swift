// Tokens of push services with a clock of the test's own: when they are made anew, and what it
// means that a service does not take one.

import CumulusGateway
import CumulusModel
import Synchronization
import Testing

@Suite struct PushSenderTests {
    /// Answers as it is told to, and remembers what was sent.
    private final class Service: PushClient {
        private let state = Mutex<(answers: [PushAnswer], requests: [PushRequest])>(([], []))

        func answer(_ status: Int, _ body: String = "") {
            state.withLock { $0.answers.append(PushAnswer(status: status, body: Bytes(body.utf8))) }
        }

        func post(_ request: PushRequest) async throws -> PushAnswer {
            state.withLock { state in
                state.requests.append(request)
                if request.address.path == "/token" {
                    let count = state.requests.count
                    let body = "{\"access_token\": \"at\(count)\", \"expires_in\": 3600}"
                    return PushAnswer(status: 200, body: Bytes(body.utf8))
                }
                return state.answers.isEmpty
                    ? PushAnswer(status: 200) : state.answers.removeFirst()
            }
        }

        func close() async {}

        /// The tokens of the pushes so far.
        var tokens: [String] {
            state.withLock { $0.requests.compactMap { $0["authorization"] } }
        }
    }

    private let start: Int64 = 1_700_000_000_000
    private let minute: Int64 = 60_000

    private func send(
        _ sender: PushSender,
        _ address: PushAddress,
        after milliseconds: Int64
    ) async throws -> PushVerdict {
        try await sender.send(
            PushSamples.news(),
            to: address,
            now: start + milliseconds,
            dice: { 7 }
        )
    }

    /// APNs takes a new token every 20 minutes and no more often: one device that it refuses must
    /// not use that up.
    @Test func aProviderTokenIsMadeAnewOnlyWhenItIsOld() async throws {
        let service = Service()
        let sender = PushSender(try PushSamples.apns(), service)
        let address = try PushSamples.address(.apns)
        let invalid = PushVerdict.unauthorised("status 403, InvalidProviderToken")
        for (minutes, count) in [(0, 1), (5, 1), (19, 1), (21, 1), (22, 2), (30, 2)] {
            service.answer(403, #"{"reason": "InvalidProviderToken"}"#)
            let verdict = try await send(sender, address, after: Int64(minutes) * minute)
            #expect(verdict == invalid)
            #expect(Set(service.tokens).count == count, "after \(minutes) minutes")
        }
    }

    @Test func whatIsForbiddenMakesNoToken() async throws {
        let service = Service()
        let sender = PushSender(try PushSamples.apns(), service)
        var address = try PushSamples.address(.apns)
        address.isSandbox = true
        for minutes in [0, 25] as [Int64] {
            service.answer(403, #"{"reason": "Forbidden"}"#)
            let verdict = try await send(sender, address, after: minutes * minute)
            #expect(verdict == .refused("status 403, Forbidden"))
        }
        #expect(Set(service.tokens).count == 1)
    }

    /// A browser that has subscribed with another key is refused, once the token is new.
    @Test func aNewTokenThatABrowsersServiceRefusesIsARefusal() async throws {
        let service = Service()
        let sender = PushSender(try PushSamples.webPush(), service)
        let address = PushSamples.Browser().address
        #expect(try await send(sender, address, after: 0) == .taken)
        for (minutes, verdict) in [
            (5, .unauthorised("status 403")), (6, .refused("status 403")),
        ] as [(Int64, PushVerdict)] {
            service.answer(403)
            #expect(try await send(sender, address, after: minutes * minute) == verdict)
        }
        #expect(Set(service.tokens).count == 2)
    }

    @Test func anAccessTokenIsMadeAnewOnceAMinute() async throws {
        let service = Service()
        let sender = PushSender(try PushSamples.fcm(), service)
        let address = try PushSamples.address(.fcm)
        for (seconds, count) in [(0, 1), (30, 1), (61, 1), (62, 2), (63, 2)] {
            service.answer(401)
            let verdict = try await send(sender, address, after: Int64(seconds) * 1_000)
            #expect(verdict == .unauthorised("status 401"))
            #expect(Set(service.tokens).count == count, "after \(seconds) seconds")
        }
        #expect(try await send(sender, address, after: 64_000) == .taken)
    }

    /// Each origin has its own turns: neither a service's sandbox nor another host takes them.
    @Test func endpointsAreOrigins() throws {
        let apns = PushSender(try PushSamples.apns(), Service())
        var address = try PushSamples.address(.apns)
        #expect(apns.endpoint(of: address) == "apns https://api.push.apple.com")
        address.isSandbox = true
        #expect(apns.endpoint(of: address) == "apns https://api.sandbox.push.apple.com")
        let own = PushSender(try PushSamples.apns(at: "https://127.0.0.1:8443"), Service())
        #expect(own.endpoint(of: address) == "apns https://127.0.0.1:8443")
        let browsers = PushSender(try PushSamples.webPush(), Service())
        let host = "web-push https://updates.push.services.mozilla.com"
        #expect(browsers.endpoint(of: PushSamples.Browser().address) == host)
    }
}
