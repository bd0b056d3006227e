// Notifications over web services: a URL to poll, and what it tells.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebCourierTests {
    /// A URL to poll; the caller has a subscription to notes, and to a zone.
    private func url(_ user: WebUser) async throws -> String {
        let answer = try await user.post("tokens/create", #"{"apnsEnvironment": "development"}"#)
        #expect(answer.json["apnsEnvironment"] == "development", "\(answer.json.text)")
        #expect(Bytes(hex: answer.json["apnsToken"]?.string ?? "") != nil)
        let zone = #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "Trips"}}}"#
        _ = try await user.post("private/zones/modify", #"{"operations": [\#(zone)]}"#)
        let subscribed = try await user.post(
            "private/subscriptions/modify",
            """
            {"operations": [
             {"operationType": "create", "subscription": {"subscriptionID": "notes",
              "subscriptionType": "query", "firesOn": ["create", "update", "delete"],
              "query": {"recordType": "Note"}, "zoneID": {"zoneName": "_defaultZone"}}},
             {"operationType": "create", "subscription": {"subscriptionID": "trips",
              "subscriptionType": "zone", "zoneID": {"zoneName": "Trips"}}}]}
            """
        )
        #expect(subscribed.entries("subscriptions").map(\.errorCode) == [nil, nil])
        return try #require(answer.json["webcourierURL"]?.string)
    }

    /// What the next poll tells; nil: nothing.
    private func poll(
        _ user: WebUser,
        _ url: String,
        patience: Int64 = 5_000,
        delivers: Bool = true
    ) async throws -> JSON? {
        let courier = user.gateway.courier
        let delivery = await courier.poll(WebRequest("GET", url), patience: patience)
        #expect(delivery.answer.status == 200)
        if delivers { courier.delivered(delivery) }
        return delivery.answer.body.isEmpty ? nil : try JSONReader.read(delivery.answer.body)
    }

    private func save(_ name: String, zone: String? = nil, on database: Database) async throws {
        let zone = zone.map { RecordZone.ID(zoneName: $0) } ?? .default
        let id = Record.ID(recordName: name, zoneID: zone)
        var note = (try? await database.record(for: id)) ?? Record(recordType: "Note", recordID: id)
        // Each save changes something.
        note["title"] = .string("\(note.recordChangeTag ?? "")!")
        try await database.save(note)
    }

    @Test func changesAreToldAsTheyHappen() async throws {
        try await withWebUser { user, server in
            let url = try await url(user)
            let device = server.container(token: user.session)
            let database = device.privateCloudDatabase
            // Nothing has happened yet.
            #expect(try await poll(user, url, patience: 50) == nil)
            for reason in 1...3 as ClosedRange<Int64> {
                async let waiting = poll(user, url)
                if reason == 3 {
                    try await database.deleteRecord(withID: Record.ID(recordName: "a"))
                } else {
                    try await save("a", on: database)
                }
                let told = try #require(try await waiting)["ck"]
                #expect(told?["cid"]?.string == TestServer.container)
                #expect(told?["qry"]?["sid"] == "notes", "\(String(describing: told))")
                #expect(told?["qry"]?["rid"] == "a")
                #expect(told?["qry"]?["fo"] == .integer(reason))
                #expect(told?["qry"]?["dbs"] == .integer(1))
            }
            try await save("b", zone: "Trips", on: database)
            let zone = try #require(try await poll(user, url))["ck"]?["fet"]
            #expect(zone?["sid"] == "trips")
            #expect(zone?["zid"] == "Trips")
            // What a page changes is not told to it.
            _ = try await user.modify("private", operation(.create, "own", type: "Note"))
            try await save("c", on: database)
            #expect(try await poll(user, url)?["ck"]?["qry"]?["rid"] == "c")
            await device.close()
        }
    }

    /// Tabs share a session and differ by `clientId`: each is told what another one changes.
    @Test func aTabIsToldWhatOthersChange() async throws {
        try await withWebUser { user, _ in
            _ = try await url(user)
            var others = user
            others.clientID = "others"
            let clients: [String?] = [nil, "tab1", "tab2"]
            for (number, reader) in clients.enumerated() {
                for (other, writer) in clients.enumerated() {
                    var (polling, saving) = (user, user)
                    (polling.clientID, saving.clientID) = (reader, writer)
                    let made = try await polling.post(
                        "tokens/create",
                        #"{"apnsEnvironment": "development"}"#
                    )
                    let url = try #require(made.json["webcourierURL"]?.string)
                    let (first, next) = ("a\(number)\(other)", "b\(number)\(other)")
                    _ = try await saving.modify("private", operation(.create, first, type: "Note"))
                    _ = try await others.modify("private", operation(.create, next, type: "Note"))
                    let told = try await poll(polling, url)?["ck"]?["qry"]?["rid"]?.string
                    let pair = "\(reader ?? "-") is told of \(writer ?? "-")"
                    #expect(told == (reader == writer ? next : first), "\(pair)")
                }
            }
        }
    }

    /// CloudKit JS says it in the body of tokens/create, too.
    @Test func aTabIsKnownByTheBodyOfItsTokenToo() async throws {
        try await withWebUser { user, _ in
            var tab = user
            tab.clientID = "tab"
            _ = try await url(user)
            let made = try await user.post(
                "tokens/create",
                #"{"apnsEnvironment": "development", "clientId": "tab"}"#
            )
            let url = try #require(made.json["webcourierURL"]?.string)
            _ = try await tab.modify("private", operation(.create, "own", type: "Note"))
            _ = try await user.modify("private", operation(.create, "other", type: "Note"))
            #expect(try await poll(user, url)?["ck"]?["qry"]?["rid"] == "other")
        }
    }

    /// What happens between two polls waits, and is told again if it may not have arrived.
    @Test func nothingIsLostBetweenPolls() async throws {
        try await withWebUser { user, server in
            let url = try await url(user)
            let device = server.container(token: user.session)
            for name in ["a", "b", "c"] {
                try await save(name, on: device.privateCloudDatabase)
            }
            await device.close()
            var names: Set<String> = []
            for _ in 0..<3 {
                let lost = try await poll(user, url, delivers: false)
                let told = try await poll(user, url)
                #expect(told != nil)
                #expect(told == lost)
                names.insert(told?["ck"]?["qry"]?["rid"]?.string ?? "")
            }
            #expect(names == ["a", "b", "c"])
            #expect(try await poll(user, url, patience: 50) == nil)
        }
    }

    @Test func aNewPollEndsTheOneBeforeIt() async throws {
        try await withWebUser { user, server in
            let url = try await url(user)
            async let first = poll(user, url, patience: 60_000)
            // It follows a feed.
            while server.callsInProgress == 0 { try await Task.sleep(for: .milliseconds(5)) }
            async let second = poll(user, url, patience: 60_000)
            #expect(try await first == nil)
            let device = server.container(token: user.session)
            try await save("a", on: device.privateCloudDatabase)
            #expect(try await second?["ck"]?["qry"]?["rid"] == "a")
            await device.close()
        }
    }

    @Test func aKnownTokenIsRegisteredAgain() async throws {
        try await withWebUser { user, server in
            let body = #""apnsEnvironment": "development""#
            let made = try await user.post("tokens/create", "{\(body)}")
            let known = try #require(made.json["apnsToken"]?.string)
            func register(_ user: WebUser, _ token: String) async throws -> WebUser.Answer {
                try await user.post("tokens/register", #"{\#(body), "apnsToken": "\#(token)"}"#)
            }
            let other = try await WebUser.make("other", user.gateway, user.door, server)
            for (user, token) in [(user, known), (other, known), (user, "00ff")] {
                let answer = try await register(user, token)
                #expect(answer.status == 200, "\(answer.json.text)")
                #expect(answer.json["apnsToken"]?.string?.isEmpty == false)
                let url = try #require(answer.json["webcourierURL"]?.string)
                #expect(try await poll(user, url, patience: 20) == nil)
            }
            let anonymous = WebUser(gateway: user.gateway, door: user.door, token: nil)
            let refused = try await anonymous.post("tokens/create", "{\(body)}")
            #expect(refused.code == "AUTHENTICATION_REQUIRED")
            let wrong = try await user.post("tokens/create", #"{"apnsEnvironment": "x"}"#)
            #expect(wrong.code == "BAD_REQUEST")
        }
    }

    @Test func aURLEndsWithItsSession() async throws {
        try await withWebUser { user, server in
            let url = try await url(user)
            let courier = user.gateway.courier
            let forged = await courier.poll(WebRequest("GET", "/device/1/courier/AAAA"))
            #expect(forged.answer.status == 404)
            let container = server.container(token: user.session)
            // What waits on the node is not told any more either.
            for name in ["a", "b"] { try await save(name, on: container.privateCloudDatabase) }
            #expect(try await poll(user, url) != nil)
            try await container.revokeAllSessions()
            await container.close()
            let ended = await courier.poll(WebRequest("GET", url))
            #expect(ended.answer.status == 401)
        }
    }
}
