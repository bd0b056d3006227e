// Every endpoint, asked by every kind of caller, answers as the matrix says.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

@Suite struct WebAccessMatrixTests {
    private typealias Who = WebAccessMatrix.Who

    /// Also what makes a new endpoint fail that nobody thought of here.
    @Test func everyEndpointHasARow() {
        let endpoints = Set(WebAccessMatrix.rows.map(\.endpoint))
        #expect(WebEndpoint.allCases.filter { !endpoints.contains($0) } == [])
        for row in WebAccessMatrix.rows {
            #expect(row.expected.count == Who.allCases.count, "\(row.path)")
        }
    }

    @Test func everyCallerGetsWhatTheMatrixSays() async throws {
        try await withWebUser { owner, server in
            let scene = try await Scene(owner, server)
            for row in WebAccessMatrix.rows {
                for (who, expected) in zip(Who.allCases, row.expected) where expected != "-" {
                    let answer = try await scene.ask(row, as: who)
                    let outcome = Self.outcome(of: row, answer)
                    let isRight =
                        expected == "x" ? Int(outcome) != nil : outcome == expected
                    #expect(
                        isRight,
                        """
                        \(row.path) by \(who): \(outcome), not \(expected)
                        \(row.expected): \(answer.json.text.prefix(500))
                        """
                    )
                }
            }
        }
    }

    /// In the words of the matrix.
    private static func outcome(
        of row: WebAccessMatrix.Row,
        _ answer: WebUser.Answer
    ) -> String {
        if answer.status != 200 { return "\(answer.status)" }
        let lists = ["records", "zones", "subscriptions", "results", "tokens", "assets", "users"]
        let codes = lists.flatMap { answer.entries($0) }.compactMap(\.errorCode)
        if let code = codes.first {
            return WebError.Code(rawValue: code).map { "\($0.status)" } ?? code
        }
        // Changes show what they changed, which is no news to their caller.
        let isRead = !row.endpoint.rawValue.hasSuffix("/modify")
        return isRead && answer.json.text.contains(WebAccessMatrix.sign) ? "told" : "ok"
    }

    // MARK: The scene

    private struct Scene {
        private let users: [Who: WebUser]
        private let key: TestServiceKey
        private let cluster: Bytes
        private let owner: WebUser
        private let zone: String
        private let share: String

        init(_ owner: WebUser, _ server: TestServer) async throws {
            try await server.importSchema(WebAccessMatrix.schema)
            self.owner = owner
            key = try TestServiceKey()
            cluster = server.node.clusterID
            let admin = server.nodeOperator()
            _ = try await admin.addKey(
                key.publicKey,
                label: "test",
                expires: nil,
                in: WebUser.scope.container,
                .development
            )
            await admin.close()
            var users: [Who: WebUser] = [.owner: owner]
            for who in [Who.other, .reader, .writer] {
                users[who] = try await .make(who.rawValue, owner.gateway, owner.door, server)
            }
            users[.app] = owner
            users[.app]?.token = nil
            let own = try await owner.name
            zone = #"{"zoneName": "\#(WebAccessMatrix.zone)", "ownerRecordName": "\#(own)"}"#
            try await Scene.makeTargets(owner)
            var guests: [String] = []
            for (who, permission) in [(Who.reader, "READ_ONLY"), (.writer, "READ_WRITE")] {
                let name = try await #require(users[who]).name
                guests.append(
                    """
                    {"type": "PRIVATE_USER", "permission": "\(permission)",
                     "userIdentity": {"userRecordName": "\(name)"}}
                    """
                )
            }
            let made = try await owner.share(
                .create,
                in: WebAccessMatrix.zone,
                """
                "recordName": "cloudkit.zoneshare",
                "participants": [\(guests.joined(separator: ","))]
                """
            )
            share = try #require(made["shortGUID"]?.string, "\(made.text)")
            for who in [Who.reader, .writer] {
                let joined = try await #require(users[who]).post(
                    "public/records/accept",
                    #"{"shortGUIDs": [{"value": "\#(share)"}]}"#
                )
                let status = joined.entries("results").first?["participantStatus"]
                #expect(status == "ACCEPTED", "\(joined.json.text)")
            }
            self.users = users
        }

        private static func makeTargets(_ owner: WebUser) async throws {
            let zone = #"{"zoneID": {"zoneName": "\#(WebAccessMatrix.zone)"}}"#
            _ = try await owner.post(
                "private/zones/modify",
                #"{"operations": [{"operationType": "create", "zone": \#(zone)}]}"#
            )
            let content = Bytes("a photo".utf8)
            func fields(_ database: String) async throws -> String {
                let photo = try await owner.value(content, database)
                return #""title": {"value": "x"}, "photo": {"value": \#(photo)}"#
            }
            let saved =
                try await owner.modify(
                    "private",
                    zone: WebAccessMatrix.zone,
                    operation(.create, "target-record", type: "Note", fields("private"))
                )
                + owner.modify(
                    "public",
                    operation(.create, "target-note", type: "Note", fields("public")),
                    operation(.create, "target-report", type: "Report")
                )
            #expect(saved.map(\.errorCode) == [nil, nil, nil], "\(saved)")
            let subscription = WebAccessMatrix.subscribing("target-subscription", to: "Report")
            let subscribed = try await owner.post(
                "private/subscriptions/modify",
                #"{"operations": [\#(subscription)]}"#
            )
            #expect(subscribed.entries("subscriptions").map(\.errorCode) == [nil])
        }

        func ask(_ row: WebAccessMatrix.Row, as who: Who) async throws -> WebUser.Answer {
            let method = row.endpoint.methods.contains("POST") ? "POST" : "GET"
            let names = WebAccessMatrix.Names(who: who, zone: zone, share: share)
            let body = method == "GET" ? "" : row.body(names)
            if let user = users[who] {
                let target = user.target(row.path)
                return try await user.send(WebRequest(method, target, body: Bytes(body.utf8)))
            }
            let target = "\(WebUser.base)/\(row.path)"
            let request =
                who == .server
                ? try key.request(method, target, body, of: cluster)
                : WebRequest(method, target, body: Bytes(body.utf8))
            return try await owner.send(request)
        }
    }
}
