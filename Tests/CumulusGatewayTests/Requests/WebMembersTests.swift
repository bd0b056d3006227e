// No member of a request is dropped where it changes the meaning: each one is sent.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebMembersTests {
    /// What the gateway said.
    private struct Verdict {
        /// nil: all of it was taken.
        var refusal: String?
        var text: String
    }

    /// Sends one request of the table to a node that has what the table names.
    private struct Sender {
        let user: WebUser
        let names: [String: String]

        func send(_ members: WebMembers, _ body: String) async throws -> Verdict {
            var body = body
            for (name, value) in names { body = body.replacing(name, with: value) }
            let isDevice = members.path.hasPrefix("tokens/")
            let target = user.target(members.path)
            let path = isDevice ? target.replacing("/database/1/", with: "/device/1/") : target
            let answer = try await user.send(WebRequest("POST", path, body: Bytes(body.utf8)))
            let keys = ["records", "zones", "subscriptions", "results", "assets", "users"]
            let entries = keys.flatMap { answer.entries($0) }
            let failed = [answer.json] + entries.filter { $0.errorCode != nil }
            let refusal = failed.lazy.compactMap { $0["reason"]?.string }.first
            return Verdict(refusal: refusal, text: "\(answer.status) \(answer.json.text)")
        }
    }

    private func withSender(_ body: (Sender) async throws -> Void) async throws {
        try await withWebUser { user, server in
            let schema = WebUser.schema.replacing(
                "post REFERENCE",
                with: "post REFERENCE, place LOCATION QUERYABLE"
            )
            try await server.importSchema(schema)
            let zone = #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "Z"}}}"#
            _ = try await user.post("private/zones/modify", #"{"operations": [\#(zone)]}"#)
            let value = try await user.value(Bytes("hi".utf8), "private")
            let saved = try await user.modify(
                "private",
                zone: "Z",
                operation(.create, "a", type: "Note", #""photo": {"value": \#(value)}"#),
                operation(.create, "p", type: "Note")
            )
            #expect(saved.map(\.errorCode) == [nil, nil], "\(saved)")
            let owner = try await WebUser.make("owner", user.gateway, user.door, server)
            try await owner.makeTree("Trips")
            let share = try await owner.share(
                .create,
                in: "Trips",
                #""forRecord": {"recordName": "a"}, "publicPermission": "READ_ONLY""#
            )
            let file = try JSONReader.read(value.utf8)["receipt"] ?? .null
            let names = [
                WebMembers.file: file.text, WebMembers.share: share["shortGUID"]?.string ?? "",
                "USER": try await user.name,
            ]
            try await body(Sender(user: user, names: names))
        }
    }

    @Test func eachMemberIsReadRefusedOrHarmless() async throws {
        try await withSender { sender in
            for members in WebMembers.all {
                let plain = try await sender.send(members, members.body())
                #expect(plain.refusal == nil, "\(members.name): \(plain.text)")
                for (key, fate) in members.members {
                    let place = "\(members.name).\(key)"
                    switch fate {
                    case .read(let value), .refused(let value):
                        let answer = try await sender.send(members, members.body(key, value))
                        let refusal = try #require(answer.refusal, "\(place): \(answer.text)")
                        #expect(refusal.contains(key) || key == "value", "\(place): \(refusal)")
                    case .harmless(let value, let why):
                        let answer = try await sender.send(members, members.body(key, value))
                        #expect(answer.refusal == nil, "\(place): \(answer.text)")
                        #expect(!why.isEmpty)
                    }
                }
            }
        }
    }

    /// Each endpoint that takes a body has its dictionary in the table.
    @Test func theTableHasEveryEndpoint() {
        let named = Set(WebMembers.all.map(\.path))
        for endpoint in WebEndpoint.allCases where endpoint.methods.contains("POST") {
            switch endpoint {
            // These endpoints have no members, or the members of another row.
            case .zonesList, .subscriptionsList, .usersSignOut, .usersLookupEmail,
                .usersLookupContacts:
                continue
            default:
                let isNamed = named.contains { $0.hasSuffix(endpoint.rawValue) }
                #expect(isNamed, "\(endpoint.rawValue)")
            }
        }
    }
}
