// Records in the console: what the operator reads, and what it does as a user.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct ConsoleRecordsTests {
    private static let path = "database/1/\(TestServer.container)/development"

    private func save(
        _ names: [String],
        as user: String,
        _ server: TestServer
    ) async throws -> String {
        let token = try await server.makeUser(user)
        let container = server.container(token: token)
        for (index, name) in names.enumerated() {
            var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            note["title"] = .string("title of \(name)")
            note["stars"] = .int64(Int64(index))
            _ = try await container.publicCloudDatabase.save(note)
        }
        await container.close()
        return token
    }

    @Test func theOperatorQueriesPublicRecordsByText() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            _ = try await save(["a", "b", "c"], as: "ann", server)
            let body = inScope([
                "database": "public", "type": "Note", "where": "stars > 0", "sort": "-stars",
                "limit": .integer(1),
            ])
            let first = try await browser.post("query", body)
            #expect(first.status == 200, "\(first.json.text)")
            #expect(first.entries("records").map { $0["recordName"] } == ["c"])
            #expect(first.json["work"]?["plan"]?.string?.isEmpty == false)
            let cursor = try #require(first.json["cursor"])
            guard case .object(let members) = body else { return }
            let second = try await browser.post(
                "query",
                .object(members + [.init("cursor", cursor)])
            )
            #expect(second.entries("records").map { $0["recordName"] } == ["b"])

            let wrong = inScope(["database": "public", "type": "Note", "where": "stars >"])
            let refused = try await browser.post("query", wrong)
            #expect(refused.status == 400)
            #expect(refused.json["reason"]?.string?.hasPrefix("predicate format, at ") == true)
        }
    }

    @Test func theOperatorSavesNoRecordAndAUserDoes() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let token = try await save(["a"], as: "ann", server)
            let operation: JSON = [
                "operationType": "forceUpdate",
                "record": [
                    "recordName": "a", "recordType": "Note",
                    "fields": ["title": ["value": "new"]],
                ],
            ]
            let body: JSON = ["operations": .array([operation])]
            let modify = "\(Self.path)/public/records/modify"
            let refused = try await browser.post(modify, body)
            let code = refused.code ?? refused.entries("records").first?.errorCode
            #expect(code == "ACCESS_DENIED", "\(refused.json.text)")

            // As a user only after becoming one.
            #expect(try await browser.post("\(modify)?as=user", body).status == 403)
            let act = try await browser.post("user", inScope(["accessToken": .string(token)]))
            #expect(act.status == 200)
            #expect(act.json["user"]?["recordName"]?.string?.isEmpty == false)
            let saved = try await browser.post("\(modify)?as=user", body)
            #expect(saved.status == 200)
            #expect(saved.entries("records").first?.field("title") == "new", "\(saved.json.text)")

            // In its own environment only.
            let elsewhere = modify.replacing("development", with: "production")
            #expect(try await browser.post("\(elsewhere)?as=user", body).status == 403)

            let end = try await browser.post("user/end")
            #expect(end.json["user"] == nil)
            #expect(try await browser.post("\(modify)?as=user", body).status == 403)
        }
    }

    /// With another operator token, no acting goes on.
    @Test func actingNeedsTheNodesOperatorToken() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let token = try await server.makeUser("ann")
            _ = try await browser.post("user", inScope(["accessToken": .string(token)]))
            let zones = "\(Self.path)/private/zones/list?as=user"
            #expect(try await browser.post(zones).status == 200)

            let door = NodeDoor(server.node) { _ in nil }
            let cookie = try #require(browser.cookie)
            let sealed = try #require(Base64URL.decode(cookie.utf8))
            var session = try ConsoleSession(content: try #require(door.open(sealed)))
            session.digest = Bytes(repeating: 1, count: 32)
            browser.cookie = Base64URL.encode(door.seal(session.content))
            #expect(try await browser.post(zones).status == 401)
        }
    }

    /// The session that a password opened ends with the acting; a wrong password signs nobody out.
    @Test func aPasswordOpensASessionThatEnds() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let admin = server.nodeOperator()
            _ = try await admin.addUser("ann", in: nil)
            try await admin.setPassword(of: "ann", to: "correct horse")
            await admin.close()
            let wrong = inScope(["name": "ann", "password": "wrong horse"])
            #expect(try await browser.post("user", wrong).status == 403)
            #expect(try await browser.get("status").status == 200)
            let right = inScope(["name": "ann", "password": "correct horse"])
            #expect(try await browser.post("user", right).status == 200)
            let sessions = try await browser.get("sessions?user=ann").entries("sessions")
            #expect(sessions.map { $0["label"] } == ["console"])
            let zones = try await browser.post("\(Self.path)/private/zones/list?as=user")
            #expect(zones.entries("zones").count == 1)
            #expect(try await browser.get("feed?as=user&\(scopeQuery)").status == 200)
            #expect(try await browser.post("user/end").status == 200)
            #expect(try await browser.get("sessions?user=ann").entries("sessions").isEmpty)
        }
    }

    /// A file that is no picture is never shown as a page of the node's.
    @Test(arguments: [
        ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1], "image/png"),
        ([0xFF, 0xD8, 0xFF, 0xE0], "image/jpeg"),
        (Bytes("GIF89a".utf8), "image/gif"),
        (Bytes("RIFF....WEBP".utf8), "image/webp"),
        (Bytes("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>".utf8), nil),
        (Bytes("<html>".utf8), nil),
        ([], nil),
    ])
    func assetsArePicturesOrFiles(_ content: Bytes, _ type: String?) async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let user = try await server.container(user: "ann")
            var note = Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
            note["photo"] = .asset(Asset(data: Data(content)))
            let saved = try await user.publicCloudDatabase.save(note)
            await user.close()
            guard case .asset(let asset)? = saved["photo"] else {
                return #expect(Bool(false), "\(saved)")
            }
            let checksum = Data(asset.digest).base64EncodedString()
                .replacing("+", with: "%2B").replacing("/", with: "%2F")
            let query = "\(scopeQuery)&database=public&record=n&field=photo&digest=\(checksum)"
            let answer = try #require(await browser.send("GET", "/console/api/asset?\(query)"))
            #expect(answer.status == 200)
            #expect(answer.body == content)
            let headers = Dictionary(uniqueKeysWithValues: answer.headers.map { ($0, $1) })
            #expect(headers["Content-Type"] == type ?? "application/octet-stream")
            #expect((headers["Content-Disposition"] == "attachment") == (type == nil))
        }
    }
}
