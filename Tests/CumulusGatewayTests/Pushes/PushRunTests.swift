// Pushes from a save to the service: a node, real sockets, failures, and a restart.
//
// Some tests take seconds: pushes to a device are a second apart, and failures have their pauses.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct PushRunTests: PushTesting {
    private typealias Services = TestPushServices

    @Test func eachServiceWakesItsDevice() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            var browser = PushSamples.Browser()
            browser.endpoint = "\(url)/browser/1"
            let addresses = [
                try PushSamples.address(.apns), browser.address,
                try PushSamples.address(.fcm),
            ]
            try await subscribe(ada)
            // What was saved before is not told.
            try await save("before", in: ada)
            for address in addresses { try await ada.register(address) }
            let meter = PushMeter()
            try await pushing(services, of: server, meter) {
                try await save("a", in: ada)
                try await wait("all are woken") {
                    PushService.allCases.allSatisfy { !endpoint.taken(by: $0).isEmpty }
                }
                for service in [PushService.apns, .fcm] {
                    #expect(endpoint.taken(by: service).map(\.record) == ["a"])
                }
                let sealed = try #require(endpoint.taken(by: .webPush).first)
                let json = try JSONReader.read(browser.open(sealed.body))
                #expect(json["ck"]?["qry"]?["rid"] == "a")
                #expect(json["aps"]?["alert"]?["body"] == "New note")
                #expect(endpoint.tokens == 1)
                try await wait("it is counted") {
                    PushService.allCases.allSatisfy {
                        text(meter).contains(
                            "cumulus_push_taken_total{service=\"\($0.name)\"} 1\n"
                        )
                    }
                }
            }
            #expect(text(meter).contains("cumulus_push_devices{service=\"apns\"} 0\n"))
            await ada.close()
            try await server.stop()
        }
    }

    @Test func manyChangesWithinASecondAreOnePush() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            try await subscribe(ada) { $0.shouldBadge = true }
            try await ada.register(PushSamples.address(.apns))
            try await pushing(services, of: server) {
                for number in 0..<20 { try await save("n\(number)", in: ada) }
                try await wait("the last is told") {
                    endpoint.taken(by: .apns).last?.record == "n19"
                }
                let times = endpoint.arrivals.map(\.time)
                for (one, next) in zip(times, times.dropFirst()) {
                    #expect(next - one > .milliseconds(950))
                }
                let badges = endpoint.arrivals.compactMap { arrival -> Int64? in
                    let json = try? JSONReader.read(arrival.body)
                    guard case .integer(let badge)? = json?["aps"]?["badge"] else { return nil }
                    return badge
                }
                #expect(badges.last == 20, "\(badges)")
                let last = try #require(endpoint.arrivals.last)
                #expect(last.ck?["p"] == .integer(1) || endpoint.arrivals.count > 10)
            }
            await ada.close()
            try await server.stop()
        }
    }

    /// What was not pushed before a restart is pushed after it, and nothing else is.
    @Test func marksOutlastARestart() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let engine = MemoryEngine()
            var server = try await services.server(engine: engine)
            try await server.importSchema(WebUser.schema)
            let token = try await server.makeUser("ada")
            var ada = server.container(token: token)
            try await subscribe(ada)
            try await ada.register(PushSamples.address(.fcm))
            try await pushing(services, of: server) {
                try await save("a", in: ada)
                try await wait("the first is told") { endpoint.taken(by: .fcm).count == 1 }
                // The mark follows the push.
                try await Task.sleep(for: .milliseconds(300))
            }
            try await save("b", in: ada)
            await ada.close()
            try await server.stop()
            server = try await services.server(engine: MemoryEngine(reopening: engine))
            ada = server.container(token: token)
            try await pushing(services, of: server) {
                try await wait("the second is told") { endpoint.taken(by: .fcm).count == 2 }
                try await Task.sleep(for: .milliseconds(300))
            }
            #expect(endpoint.taken(by: .fcm).map(\.record) == ["a", "b"])
            await ada.close()
            try await server.stop()
        }
    }

    @Test func aDeviceThatIsGoneIsNotAskedAgain() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            var browser = PushSamples.Browser()
            browser.endpoint = "\(url)/browser/1"
            try await subscribe(ada)
            for address in [
                try PushSamples.address(.apns), browser.address,
                try PushSamples.address(.fcm),
            ] {
                try await ada.register(address)
            }
            #expect(try await ada.pushAddresses().count == 3)
            endpoint.answer(.apns, .init(status: 410, body: #"{"reason": "Unregistered"}"#))
            endpoint.answer(.webPush, .init(status: 410))
            endpoint.answer(
                .fcm,
                .init(
                    status: 404,
                    body: #"{"error": {"details": [{"errorCode": "UNREGISTERED"}]}}"#
                )
            )
            try await pushing(services, of: server) {
                try await save("a", in: ada)
                try await wait("all are gone") { try await ada.pushAddresses().isEmpty }
                try await save("b", in: ada)
                try await Task.sleep(for: .milliseconds(500))
                #expect(endpoint.arrivals.count == 3)
                // A device that comes back is told what happens from then on.
                try await ada.register(PushSamples.address(.apns))
                try await save("c", in: ada)
                try await wait("it is told") { endpoint.taken(by: .apns).count == 1 }
                #expect(endpoint.taken(by: .apns).map(\.record) == ["c"])
            }
            await ada.close()
            try await server.stop()
        }
    }

    /// Services that fail or never answer hold up nobody but their own devices.
    @Test func aServiceThatIsDownHoldsNobodyUp() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            var browser = PushSamples.Browser()
            browser.endpoint = "\(url)/browser/1"
            try await subscribe(ada)
            for address in [
                try PushSamples.address(.apns), browser.address,
                try PushSamples.address(.fcm),
            ] {
                try await ada.register(address)
            }
            endpoint.hang(.webPush)
            endpoint.answer(
                .fcm,
                .init(status: 429, headers: [("Retry-After", "1")]),
                .init(status: 503)
            )
            let meter = PushMeter()
            try await pushing(services, of: server, meter, milliseconds: 500) {
                try await save("a", in: ada)
                try await wait("one is told") { endpoint.taken(by: .apns).count == 1 }
                try await wait("another is told after its failures") {
                    endpoint.taken(by: .fcm).count == 1
                }
                #expect(endpoint.arrivals.filter { $0.service == .fcm }.count == 3)
                endpoint.hang(.webPush, false)
                try await wait("the last is told") { endpoint.taken(by: .webPush).count == 1 }
                #expect(text(meter).contains("cumulus_push_failed_total{service=\"fcm\"} 2\n"))
            }
            await ada.close()
            try await server.stop()
        }
    }

    /// A refused push is left out; one with a refused token is tried again.
    @Test func refusalsOfPushesAndTokens() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            try await subscribe(ada)
            try await ada.register(PushSamples.address(.apns))
            try await ada.register(PushSamples.address(.fcm))
            endpoint.answer(.apns, .init(status: 400, body: #"{"reason": "BadCollapseId"}"#))
            endpoint.answer(.fcm, .init(status: 401))
            try await pushing(services, of: server) {
                try await save("a", in: ada)
                try await wait("it is tried again") { endpoint.taken(by: .fcm).count == 1 }
                // A token as young as that is not made anew.
                #expect(endpoint.tokens == 1)
                try await save("b", in: ada)
                try await wait("the next is told") { endpoint.taken(by: .apns).count == 1 }
                #expect(endpoint.taken(by: .apns).map(\.record) == ["b"])
            }
            await ada.close()
            try await server.stop()
        }
    }

    /// The device that made a change is not woken; nor is one whose session is over.
    @Test func whoIsNotWoken() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let (one, two) = (try await server.makeUser("ada"), try await server.makeUser("ada"))
            let phone = server.container(token: one, deviceID: "phone")
            let tablet = server.container(token: two, deviceID: "tablet")
            try await subscribe(phone)
            try await phone.register(PushSamples.address(.apns))
            try await tablet.register(PushSamples.address(.fcm))
            try await pushing(services, of: server) {
                try await save("a", in: phone)
                try await wait("the other device is told") { endpoint.taken(by: .fcm).count == 1 }
                try await save("b", in: tablet)
                try await wait("the first device is told") { endpoint.taken(by: .apns).count == 1 }
                #expect(endpoint.taken(by: .apns).map(\.record) == ["b"])
                let own = try await tablet.pushAddresses().filter(\.isOfThis)
                #expect(own.map(\.deviceID) == ["tablet"])
                try await phone.signOut()
                try await wait("it is not listed") {
                    try await tablet.pushAddresses().map(\.deviceID) == ["tablet"]
                }
                try await save("c", in: tablet)
                try await Task.sleep(for: .milliseconds(1_500))
                #expect(endpoint.taken(by: .apns).count == 1)
                #expect(endpoint.taken(by: .fcm).count == 1)
            }
            await phone.close()
            await tablet.close()
            try await server.stop()
        }
    }

    /// A device that changes hands is told on behalf of the last user who registered it.
    @Test func aDeviceIsToldForOneUser() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let (ada, bob) = (try await user(at: server), try await user("bob", at: server))
            for user in [ada, bob] {
                try await subscribe(user)
                try await user.register(PushSamples.address(.apns))
                try await Task.sleep(for: .milliseconds(5))
            }
            try await pushing(services, of: server) {
                try await wait("the first user's has ended") {
                    try await ada.pushAddresses().isEmpty
                }
                try await save("adas", in: ada)
                try await save("bobs", in: bob)
                try await wait("it is told") { !endpoint.taken(by: .apns).isEmpty }
                try await Task.sleep(for: .milliseconds(300))
                #expect(endpoint.taken(by: .apns).map(\.record) == ["bobs"])
            }
            await ada.close()
            await bob.close()
            try await server.stop()
        }
    }

    @Test func subscriptionsThatShowNothingWakeNobody() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try Services(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            try await subscribe(ada, "quiet", where: "title BEGINSWITH 'q'") { $0.category = "q" }
            try await subscribe(ada, "loud", where: "title BEGINSWITH 'l'") {
                $0.shouldSendContentAvailable = true
            }
            try await ada.register(PushSamples.address(.apns))
            try await pushing(services, of: server) {
                try await save("quiet", "loud", in: ada)
                try await wait("one is told") { !endpoint.taken(by: .apns).isEmpty }
                // One that is saved while the device is followed counts at once.
                try await subscribe(ada, "late", where: "title BEGINSWITH 'x'")
                try await save("x1", in: ada)
                try await wait("the new one is told") { endpoint.taken(by: .apns).count >= 2 }
                #expect(endpoint.taken(by: .apns).first?.record == "loud")
                #expect(endpoint.taken(by: .apns).last?.record == "x1")
            }
            let silent = try #require(endpoint.arrivals.first)
            #expect(silent.headers["apns-push-type"] == "background")
            await ada.close()
            try await server.stop()
        }
    }

    /// tokens/register of web services takes addresses of each service.
    @Test func webServicesRegisterToo() async throws {
        let services = try Services(at: "http://127.0.0.1:1")
        let server = try await services.server()
        let door = NodeDoor(server.node) { digest in
            let app = WebAPIToken(scope: WebUser.scope, origins: ["https://app"])
            return digest == WebUser.apiDigest ? app : nil
        }
        let user = try await WebUser.make("web", WebGateway(door), door, server)
        var browser = PushSamples.Browser()
        browser.endpoint = "http://127.0.0.1:1/browser/1"
        let keys: JSON = [
            "p256dh": .string(Base64URL.encode(browser.address.publicKey)),
            "auth": .string(Base64URL.encode(browser.address.secret)),
        ]
        let push: JSON = ["endpoint": .string(browser.endpoint), "keys": keys]
        for (body, status) in [
            ("\"webPush\": \(push.text)", 200), ("\"fcmToken\": \"t\", \"label\": \"phone\"", 200),
            ("\"apnsToken\": \"abababababababab\", \"topic\": \"com.example.notes\"", 200),
            ("\"apnsToken\": \"abababababababab\", \"topic\": \"com.example.other\"", 400),
            ("\"apnsToken\": \"xyz\", \"topic\": \"com.example.notes\"", 400),
            ("\"webPush\": {\"endpoint\": \"\(browser.endpoint)\"}", 400),
        ] {
            let answer = try await user.post(
                "tokens/register",
                "{\"apnsEnvironment\": \"production\", \(body)}"
            )
            #expect(answer.status == status, "\(body): \(answer.json.text)")
            #expect((answer.json["pushID"] != nil) == (status == 200))
        }
        // The token of a device without a topic has a courier, as before.
        let old = try await user.post(
            "tokens/register",
            "{\"apnsEnvironment\": \"production\", \"apnsToken\": \"abab\"}"
        )
        #expect(old.json["webcourierURL"] != nil)
        let container = server.container(token: user.session)
        let listed = try await container.pushAddresses()
        #expect(Set(listed.compactMap(\.service)) == Set(PushService.allCases))
        #expect(listed.contains { $0.label == "phone" })
        await container.close()
        try await server.stop()
    }

    @Test func addressesThatCanNotBe() async throws {
        let services = try Services(at: "http://127.0.0.1:1")
        let server = try await services.server()
        let ada = try await user(at: server)
        var browser = PushSamples.Browser()
        let other = PushAddress.apns(deviceToken: Bytes(0..<32), topic: "com.example.other")
        for (address, why) in [
            (other, "is no topic for which"),
            (.apns(deviceToken: [1], topic: "com.example.notes"), "16 to 200 hexadecimal digits"),
            (browser.address, "leads to no push service"),
            (.fcm(token: ""), "1 to 2048 printable"),
            (.fcm(token: "a b"), "1 to 2048 printable"),
            (.fcm(token: "a", label: String(repeating: "l", count: 200)), "at most 128 bytes"),
        ] as [(PushAddress, String)] {
            await #expect {
                try await ada.register(address)
            } throws: { error in
                let error = error as? ServiceError
                return error?.code == .invalidArguments && error?.message.contains(why) == true
            }
        }
        browser.endpoint = "http://127.0.0.1:1/x"
        let id = try await ada.register(browser.address)
        #expect(try await ada.register(browser.address) == id)
        #expect(try await ada.pushAddresses().map(\.id) == [id])
        #expect(try await ada.endPush(id))
        #expect(try await !ada.endPush(id))
        let offers = try await ada.pushOffers()
        #expect(offers.map(\.service) == [.apns, .webPush, .fcm])
        #expect(offers[0].topics == ["com.example.notes"] && offers[1].publicKey.count == 65)
        await ada.close()
        try await server.stop()
    }
}
