// The rights of callers over web services, and the refusals that they get.

import Crypto
import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusTesting
import Testing

@Suite struct WebCallersTests {
    private let query = #"{"query": {"recordType": "Note"}}"#

    @Test func anAppAloneReadsThePublicDatabase() async throws {
        try await withWebUser { user, _ in
            var stranger = user
            stranger.token = nil
            #expect(try await stranger.post("public/records/query", query).status == 200)
            let lookup = #"{"records": [{"recordName": "a"}]}"#
            #expect(try await stranger.post("public/records/lookup", lookup).status == 200)
            for path in [
                "private/records/query", "shared/records/query", "public/records/modify",
                "public/zones/lookup", "public/subscriptions/lookup", "public/assets/upload",
            ] {
                let answer = try await stranger.post(path, query)
                #expect(answer.status == 421, "\(path)")
                #expect(answer.json.errorCode == "AUTHENTICATION_REQUIRED")
                let url = answer.json["redirectURL"]?.string
                #expect(url?.hasPrefix("https://node.example/sign-in?state=") == true)
                #expect(answer.headers["X-Apple-Request-UUID"] == answer.json["uuid"]?.string)
            }
            #expect(try await stranger.get("public/users/caller").status == 421)
        }
    }

    @Test func whoShowsNothingGoodIsRefused() async throws {
        try await withWebUser { user, _ in
            let path = WebUser.base + "/public/records/query"
            let nothing = try await user.send(WebRequest("POST", path, body: Bytes(query.utf8)))
            #expect(nothing.status == 401)
            let wrong = WebRequest("POST", path + "?ckAPIToken=x", body: Bytes(query.utf8))
            #expect(try await user.send(wrong).status == 401)
            let elsewhere = user.target("public/records/query")
                .replacing("development", with: "production")
            let other = try await user.send(WebRequest("POST", elsewhere, body: Bytes(query.utf8)))
            #expect(other.status == 401)
            var forged = user
            forged.token = "AAAA"
            #expect(try await forged.post("public/records/query", query).status == 421)
        }
    }

    @Test func aSessionIsRenewedWithEachAnswer() async throws {
        try await withWebUser { user, server in
            let header = "X-Apple-CloudKit-Web-Auth-Token"
            let good = try await user.get("public/users/caller")
            #expect(good.status == 200)
            #expect(good.json["userRecordName"]?.string?.hasPrefix("_") == true)
            let next = try #require(good.headers[header])
            #expect(next != user.token)
            #expect(try await user.post("private/records/what", "{}").status == 404)
            #expect(try await user.post("private/records/query", "?").headers[header] != nil)
            // The old one stays good for a while: requests run side by side.
            #expect(try await user.get("public/users/caller").status == 200)
            server.clockLead = WebToken.idle + 1_000
            #expect(try await user.get("public/users/caller").status == 421)
        }
    }

    @Test func tokensAreReadHoweverTheyAreEncoded() async throws {
        try await withWebUser { user, _ in
            var encoded = user
            encoded.token = user.token?.replacing("_", with: "%5F").replacing("-", with: "%252D")
            let answer = try await encoded.get("public/users/caller")
            #expect(answer.status == 200)
        }
    }

    @Test func anAccessTokenOpensWhatItsUserMayReach() async throws {
        try await withWebUser { user, server in
            func send(
                _ path: String,
                _ token: String,
                isSecret: Bool = true
            ) async throws -> WebUser.Answer {
                var request = WebRequest("GET", "\(WebUser.base)/\(path)")
                request.headers["authorization"] = "Bearer \(token)"
                request.isSecret = isSecret
                return try await user.send(request)
            }
            let unknown = "cumulus_" + String(repeating: "0", count: 64)
            for path in ["public/users/caller", "private/zones/list", "private/users/current"] {
                #expect(try await send(path, user.session).status == 200, "\(path)")
                #expect(try await send(path, unknown).status == 401, "\(path)")
                let readable = try await send(path, user.session, isSecret: false)
                #expect(readable.status == 401, "\(path)")
                #expect(readable.json["reason"]?.string?.contains("plain TCP") == true, "\(path)")
            }
            let both = "public/users/caller?ckAPIToken=\(WebUser.apiToken)"
            #expect(try await send(both, user.session).status == 401)
            let answer = try await send("public/users/caller", user.session)
            // The token stays as it is, and is told to nobody.
            #expect(answer.headers["X-Apple-CloudKit-Web-Auth-Token"] == nil)
            let other = try await user.get("public/users/caller")
            #expect(answer.json["userRecordName"] == other.json["userRecordName"])
            let admin = server.nodeOperator()
            _ = try await admin.setState(of: "web", isDisabled: true)
            await admin.close()
            #expect(try await send("public/users/caller", user.session).status == 401)
        }
    }

    /// A page of another site can't send a token that it was told: browsers ask first, and are not
    /// allowed the header.
    @Test func pagesAreNotAllowedAuthorization() async throws {
        try await withWebUser { user, _ in
            let ask = WebRequest("OPTIONS", "/x", headers: ["origin": "https://app"])
            let allowed = try await user.send(ask).headers["Access-Control-Allow-Headers"] ?? ""
            #expect(allowed.contains("content-type"))
            #expect(!allowed.lowercased().contains("authorization"))
        }
    }

    @Test func aServersKeyOpensThePublicDatabase() async throws {
        try await withWebUser { user, server in
            let key = try TestServiceKey()
            let admin = server.nodeOperator()
            _ = try await admin.addKey(
                key.publicKey,
                label: "test",
                expires: nil,
                in: WebUser.scope.container,
                .development
            )
            await admin.close()
            let cluster = server.node.clusterID
            func status(_ path: String, _ method: String, _ body: String) async throws -> Int {
                let target = "\(WebUser.base)/\(path)"
                let request = try key.request(method, target, body, of: cluster)
                return try await user.send(request).status
            }
            #expect(try await status("public/records/query", "POST", query) == 200)
            #expect(try await status("public/users/caller", "GET", "") == 200)
            #expect(try await status("public/users/current", "GET", "") == 401)
            #expect(try await status("private/records/query", "POST", query) == 401)
            let target = "\(WebUser.base)/public/records/query"
            var changed = try key.request("POST", target, query, of: cluster)
            changed.body += [0x20]
            #expect(try await user.send(changed).status == 401)
            let stranger = try TestServiceKey(2).request("POST", target, query, of: cluster)
            #expect(try await user.send(stranger).status == 401)
            let other = Bytes(repeating: 1, count: 16)
            let elsewhere = try key.request("POST", target, query, of: other)
            #expect(try await user.send(elsewhere).status == 401)
        }
    }

    @Test func everyAnswerIsJSONAndMayCrossOrigins() async throws {
        try await withWebUser { user, _ in
            let anywhere = WebRequest("OPTIONS", "/x", headers: ["origin": "https://app"])
            let preflight = try await user.send(anywhere)
            #expect(preflight.status == 204)
            #expect(preflight.headers["Access-Control-Allow-Origin"] == "https://app")
            let target = user.target("private/records/query")
            var request = WebRequest("POST", target, headers: ["origin": "https://app"])
            for body in ["", "[]", "{", "null"] {
                request.body = Bytes(body.utf8)
                let answer = try await user.send(request)
                #expect(answer.status == 400, "\(body)")
                #expect(answer.json.errorCode == "BAD_REQUEST")
                #expect(answer.headers["Access-Control-Allow-Origin"] == "https://app")
                #expect(answer.headers["Content-Type"]?.hasPrefix("application/json") == true)
            }
            let wrong = try await user.get("private/records/query")
            #expect(wrong.status == 405)
            #expect(wrong.headers["Allow"] == "POST")
            #expect(wrong.json["uuid"] != nil)
            let absent = user.target("private/records/query")
                .replacing(TestServer.container, with: "iCloud.none")
            #expect(try await user.send(WebRequest("POST", absent)).status == 401)
        }
    }
}

extension TestServiceKey {
    /// A request of web services, signed now.
    func request(
        _ method: String,
        _ target: String,
        _ body: String,
        of cluster: Bytes
    ) throws -> WebRequest {
        let now = TestServer.environment.wallClock() / 1_000 * 1_000
        let date = Timestamp(millisecondsSince1970: now).text.replacing(".000Z", with: "Z")
        let hash = Base64.encode(SHA256.hash(data: Bytes(body.utf8)))
        let signature = try sign(Bytes("\(date):\(hash):\(target)".utf8))
        let headers = [
            "x-apple-cloudkit-request-keyid": cluster.hex + registered.id.hex,
            "x-apple-cloudkit-request-iso8601date": date,
            "x-apple-cloudkit-request-signaturev1": Base64.encode(signature),
        ]
        return WebRequest(method, target, headers: headers, body: Bytes(body.utf8))
    }
}
