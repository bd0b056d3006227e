// Pushes where something is wrong: marks that the node does not take, services that refuse, rights
// that end while a push waits, and a service that hangs beside one that does not.
//
// Some tests take seconds: pushes to a device are a second apart, and failures have their pauses.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct PushFaultTests: PushTesting {
    /// Runs a test with services, a node, and Ada.
    private func withAda(
        _ body: (PushEndpoint, TestPushServices, TestServer, Container) async throws -> Void
    ) async throws {
        try await PushEndpoint.serve { endpoint, url in
            let services = try TestPushServices(at: url)
            let server = try await services.server()
            try await server.importSchema(WebUser.schema)
            let ada = try await user(at: server)
            do {
                try await body(endpoint, services, server, ada)
            } catch {
                Issue.record(error)
            }
            await ada.close()
            try await server.stop()
        }
    }

    /// Each change is told once, although no mark is taken; the mark follows when it can.
    @Test func aMarkThatIsRefusedRepeatsNoPush() async throws {
        try await withAda { endpoint, services, server, ada in
            let door = FaultyDoor(server)
            try await subscribe(ada)
            try await ada.register(PushSamples.address(.apns))
            door.refuseMarks(true)
            try await pushing(services, of: server, through: door) {
                try await save("a", in: ada)
                try await wait("it is told") { endpoint.taken(by: .apns).count == 1 }
                try await wait("the mark is tried again") { door.refused >= 2 }
                try await save("b", in: ada)
                try await wait("the next is told, too") { endpoint.taken(by: .apns).count == 2 }
                door.refuseMarks(false)
                try await wait("the mark follows") { door.taken >= 1 }
            }
            // Another courier goes on behind the mark.
            try await pushing(services, of: server) {
                try await save("c", in: ada)
                try await wait("the last is told") { endpoint.taken(by: .apns).count >= 3 }
            }
            #expect(endpoint.arrivals.map { $0.record ?? "" } == ["a", "b", "c"])
        }
    }

    /// Five refusals in a row over a minute end an address, whatever the service's reason is; a
    /// refused push holds up no lag.
    @Test func anAddressThatAServiceRefusesEnds() async throws {
        try await withAda { endpoint, services, server, ada in
            let (door, meter) = (FaultyDoor(server), PushMeter())
            try await subscribe(ada)
            try await ada.register(PushSamples.address(.apns))
            let forbidden = PushEndpoint.Answer(status: 403, body: #"{"reason": "Forbidden"}"#)
            for _ in 0..<5 { endpoint.answer(.apns, forbidden) }
            try await pushing(services, of: server, meter, through: door) {
                for number in 1...5 {
                    try await save("n\(number)", in: ada)
                    try await wait("it is refused") { endpoint.arrivals.count == number }
                    try await wait("nothing waits") {
                        text(meter, now: door.now).contains("lag_seconds{service=\"apns\"} 0\n")
                    }
                    if number < 5 { #expect(try await ada.pushAddresses().count == 1) }
                    door.lead(20_000)
                }
                try await wait("the address has ended") {
                    try await ada.pushAddresses().isEmpty
                }
                // One provider token was used for all.
                let tokens = Set(endpoint.arrivals.compactMap { $0.headers["authorization"] })
                #expect(tokens.count == 1)
            }
        }
    }

    /// What was judged while a push was on its way is judged again: a record that came and went
    /// meanwhile is not told.
    @Test func whatWaitsBehindAPushIsJudgedAnew() async throws {
        try await withAda { endpoint, services, server, ada in
            try await subscribe(ada, options: .firesOnRecordCreation)
            try await ada.register(PushSamples.address(.apns))
            endpoint.hang(.apns)
            try await pushing(services, of: server) {
                try await save("a", in: ada)
                try await wait("its push is on its way") { endpoint.arrivals.count == 1 }
                try await save("b", in: ada)
                // The feed has told it by now.
                try await Task.sleep(for: .milliseconds(300))
                try await delete("b", in: ada)
                // The next push is not due before a second has passed.
                try await Task.sleep(for: .milliseconds(1_000))
                endpoint.hang(.apns, false)
                try await Task.sleep(for: .milliseconds(500))
                try await save("c", in: ada)
                try await wait("what stays is told") { endpoint.arrivals.last?.record == "c" }
                #expect(endpoint.arrivals.map { $0.record ?? "" } == ["a", "c"])
            }
        }
    }

    /// Bob is taken off a share while a push of it waits: he is told that his zones changed, and
    /// nothing of the share.
    @Test func aShareThatEndsWhileAPushWaits() async throws {
        try await withAda { endpoint, services, server, ada in
            let bob = try await user("bob", at: server)
            let zone = RecordZone.ID(zoneName: "Trips")
            try await ada.privateCloudDatabase.save(RecordZone(zoneID: zone))
            var share = Share(recordZoneID: zone)
            share.publicPermission = .readOnly
            share = try await ada.privateCloudDatabase.save(share)
            _ = try await bob.accept(try #require(share.url))
            var info = Subscription.NotificationInfo()
            info.shouldSendContentAvailable = true
            let all = Subscription(id: "all", kind: .database(), notificationInfo: info)
            try await bob.sharedCloudDatabase.save(all)
            try await bob.register(PushSamples.address(.apns))
            let busy = PushEndpoint.Answer(status: 503, headers: [("Retry-After", "1")])
            endpoint.answer(.apns, busy)
            try await pushing(services, of: server) {
                let id = Record.ID(recordName: "oslo", zoneID: zone)
                var note = Record(recordType: "Note", recordID: id)
                note["title"] = .string("oslo")
                try await ada.privateCloudDatabase.save(note)
                try await wait("a push waits") { endpoint.arrivals.count == 1 }
                try await ada.privateCloudDatabase.deleteRecord(withID: share.recordID)
                try await Task.sleep(for: .milliseconds(2_000))
                let before = endpoint.arrivals.count
                let saved = Record.ID(recordName: "secret", zoneID: zone)
                try await ada.privateCloudDatabase.save(
                    Record(recordType: "Note", recordID: saved)
                )
                try await Task.sleep(for: .milliseconds(1_200))
                #expect(endpoint.arrivals.count == before)
                for arrival in endpoint.arrivals {
                    let text = String(decoding: arrival.body, as: UTF8.self)
                    let names = ["Trips", "oslo", "secret"]
                    #expect(!names.contains { text.contains($0) }, "\(text)")
                }
            }
            await bob.close()
        }
    }

    /// A session that expires tells nobody.
    ///
    /// Its device is not pushed to any more, and nothing waits.
    /// The courier leaves the runner two seconds before it ends.
    @Test func aSessionThatExpiresEndsItsCourier() async throws {
        try await withAda { endpoint, services, server, _ in
            let admin = server.nodeOperator()
            _ = try await admin.addUser("eve", in: nil)
            try await admin.setPassword(of: "eve", to: "a good password")
            let token = try await admin.addToken(forUser: "eve")
            await admin.close()
            let visitor = server.container()
            let session = try await visitor.signIn(name: "eve", password: "a good password")
            let phone = server.container(token: session.token, deviceID: "phone")
            let web = server.container(token: token, deviceID: "web")
            try await subscribe(phone)
            try await phone.register(PushSamples.address(.apns))
            let meter = PushMeter()
            try await pushing(services, of: server, meter) {
                try await save("a", in: web)
                try await wait("it is told") { endpoint.taken(by: .apns).count == 1 }
                #expect(text(meter).contains("push_devices{service=\"apns\"} 1\n"))
                let month: Int64 = 31 * 24 * 3_600_000
                server.clockLead += month
                try await save("b", in: web)
                try await wait("its courier ends") {
                    text(meter).contains("push_devices{service=\"apns\"} 0\n")
                }
                #expect(text(meter, now: .max).contains("lag_seconds{service=\"apns\"} 0\n"))
                #expect(endpoint.arrivals.map(\.record) == ["a"])
            }
            for container in [visitor, phone, web] { await container.close() }
        }
    }

    /// A host that never answers takes no turn of another one, however many devices it has.
    @Test func aHostThatHangsHoldsUpNoOther() async throws {
        try await PushEndpoint.serve { hanging, slow in
            try await PushEndpoint.serve { endpoint, url in
                let services = try TestPushServices(at: url, slow)
                let server = try await services.server()
                try await server.importSchema(WebUser.schema)
                let ada = try await user(at: server)
                try await subscribe(ada)
                hanging.hang(.webPush)
                var browser = PushSamples.Browser()
                // More than the turns that a host has.
                for number in 0..<70 {
                    browser.endpoint = "\(slow)/browser/\(number)"
                    try await ada.register(browser.address)
                }
                browser.endpoint = "\(url)/browser/other"
                try await ada.register(browser.address)
                try await pushing(services, of: server) {
                    try await save("a", in: ada)
                    // Over HTTP/1.1 eight requests are open at a time; the others wait for them.
                    try await wait("the one hangs") { hanging.arrivals.count >= 8 }
                    try await save("b", in: ada)
                    try await wait("the other one is told both") {
                        endpoint.taken(by: .webPush).count == 2
                    }
                    #expect(hanging.arrivals.count < 70)
                }
                hanging.hang(.webPush, false)
                await ada.close()
                try await server.stop()
            }
        }
    }
}
