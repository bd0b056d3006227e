// What web services are asked, who signs it, and what follows an answer.

import Crypto
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct SourceRequestTests {
    @Test func aQueryNamesItsPageAndItsTime() throws {
        let request = SourceRequest.query(
            "Note",
            in: .standard,
            of: .public,
            since: 5,
            marker: "AAEC",
            keys: []
        )
        #expect(request.path == "public/records/query")
        let body = try JSONReader.read(request.body.utf8)
        #expect(body["continuationMarker"] == "AAEC")
        #expect(body["resultsLimit"] == .integer(200))
        #expect(body["desiredKeys"] == .array([]))
        #expect(body["zoneID"]?["zoneName"] == "_defaultZone")
        guard case .array(let filters)? = body["query"]?["filterBy"] else {
            Issue.record("\(body)")
            return
        }
        #expect(filters[0]["systemFieldName"] == "modifiedTimestamp")
        #expect(filters[0]["fieldValue"]?["value"] == .integer(5))
    }

    @Test func anOwnersZoneIsNamedWithItsOwner() throws {
        let zone = SourceZone(name: "Trips", owner: ServiceAnswer.ada)
        let request = SourceRequest.zoneChanges(zone, of: .shared, token: nil)
        let body = try JSONReader.read(request.body.utf8)
        guard case .array(let zones)? = body["zones"] else {
            Issue.record("\(body)")
            return
        }
        #expect(zones[0]["zoneID"]?["ownerRecordName"] == .string(ServiceAnswer.ada))
        #expect(zones[0]["syncToken"] == nil)
    }

    @Test func aSignatureIsOfDateBodyAndPath() throws {
        let body = #"{"query":{"recordType":"Note"}}"#
        let target = "/database/1/iCloud.org.example.notes/development/public/records/query"
        let now: Int64 = 1_768_465_800_999
        #expect(SourceKey.date(now) == "2026-01-15T08:30:00Z")
        let message = SourceKey.message(date: SourceKey.date(now), body: body, target: target)
        #expect(
            message
                == "2026-01-15T08:30:00Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:" + target
        )
        let pair = P256.Signing.PrivateKey()
        let key = try SourceKey(id: "ab", pem: pair.pemRepresentation)
        let headers = try SourceCredentials.key(key).headers(of: target, body: body, now: now)
        #expect(headers[0].value == "ab" && headers[1].value == "2026-01-15T08:30:00Z")
        let signature = try P256.Signing.ECDSASignature(
            derRepresentation: try #require(Base64.decode(headers[2].value))
        )
        #expect(pair.publicKey.isValidSignature(signature, for: Array(message.utf8)))
        #expect(throws: InputProblem.self) { try SourceKey(id: "ab", pem: "no key") }
    }

    @Test func aUsersTokenIsEscapedAndRenewed() throws {
        var user = SourceCredentials.user(token: "a+/=b", api: "t")
        #expect(user.query == "?ckAPIToken=t&ckWebAuthToken=a%2B%2F%3Db")
        #expect(try user.headers(of: "/", body: "", now: 0).isEmpty)
        let tokens: [String?] = [nil, "", "a+/=b", "c"]
        let renewed = tokens.map { user.renew($0) }
        #expect(renewed == [false, false, false, true])
        #expect(user.userToken == "c")
        var script = SourceCredentials.user(token: "s", api: nil)
        #expect(script.query.isEmpty)
        #expect(try script.headers(of: "/", body: "", now: 0)[0].value == "Bearer s")
        let isRenewed = script.renew("other")
        #expect(!isRenewed)
    }

    @Test func aServiceSaysHowLongToWait() {
        func pace(_ status: Int?, _ body: String, _ header: String? = nil, _ attempt: Int = 1)
            -> SourcePace
        {
            SourcePace.of(status: status, retryAfter: header, body: body.utf8, attempt: attempt)
        }
        let throttled = #"{"serverErrorCode": "THROTTLED", "reason": "slow", "retryAfter": 2.5}"#
        #expect(pace(200, "") == .take)
        #expect(pace(429, throttled) == .wait(2_500))
        #expect(pace(503, "<html>", "7") == .wait(7_000))
        #expect(pace(503, "<html>", "1e30") == .wait(SourcePace.longest))
        #expect(pace(503, "<html>", "-3") == .wait(100))
        #expect(pace(503, "") == .wait(500) && pace(nil, "", nil, 3) == .wait(2_000))
        #expect(pace(nil, "", nil, 99) == .wait(30_000))
        let denied = #"{"serverErrorCode": "ACCESS_DENIED", "reason": "no"}"#
        #expect(
            pace(403, denied) == .refuse(SourceRefusal(code: "ACCESS_DENIED", reason: "no"))
        )
        guard case .refuse(let refusal) = pace(418, "tea") else {
            Issue.record("no refusal")
            return
        }
        #expect(refusal.reason.contains("418"))
    }

    @Test func aRefusalSaysWhatToDo() {
        let refusal = SourceRefusal(code: "AUTHENTICATION_FAILED", reason: "bad signature")
        let error = refusal.error(of: "records/query of type Note")
        #expect(error.code == .notAuthenticated)
        #expect(error.message.contains("records/query of type Note"))
        #expect(error.message.contains("check the key and its id"))
    }

    @Test func anAddressIsAURL() throws {
        let address = try SourceAddress(
            base: "http://127.0.0.1:7480/sub/",
            container: "iCloud.app",
            environment: .production
        )
        #expect(address.text == "http://127.0.0.1:7480/sub/iCloud.app/production")
        #expect(
            address.path(.caller) == "/database/1/iCloud.app/production/public/users/caller"
        )
        for text in ["", "api.apple-cloudkit.com", "ftp://a", "https://a?b", "http://a"] {
            #expect(throws: InputProblem.self) {
                try SourceAddress(base: text, container: "c", environment: .development)
            }
        }
    }
}
