// What the console's calls tell and change, against a node.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

@Suite struct ConsoleCallsTests {
    @Test func containersAndTheirZonesAreTold() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let made = try await browser.post(
                "containers/create",
                ["container": "iCloud.dev.other"]
            )
            #expect(made.json["existed"] == .bool(false))
            let containers = try await browser.get("containers").entries("containers")
            #expect(
                containers.compactMap(\.string).sorted()
                    == [TestServer.container, "iCloud.dev.other"]
            )

            let user = try await server.container(user: "ann")
            _ = try await user.publicCloudDatabase.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
            )
            let zones = try await browser.get("zones?\(scopeQuery)")
            #expect(zones.json["records"] == .integer(1))
            let zone = try #require(zones.entries("zones").first { $0["database"] == "public" })
            #expect(zone["zone"] == "_defaultZone")
            #expect(zone["records"] == .integer(1))
            await user.close()
        }
    }

    @Test func theSchemaIsToldTypeByTypeAndDeployed() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let schema = try await browser.get("schema?\(scopeQuery)")
            #expect(schema.json["text"]?.string?.contains("RECORD TYPE Note") == true)
            let note = try #require(schema.entries("types").first { $0["name"] == "Note" })
            guard case .array(let fields)? = note["fields"],
                case .array(let grants)? = note["grants"]
            else { return #expect(Bool(false), "\(note)") }
            let title = try #require(fields.first { $0["name"] == "title" })
            #expect(title["type"] == "STRING")
            #expect(title["indexes"] == .array(["QUERYABLE", "SORTABLE"]))
            #expect(grants.contains(["role": "_world", "rights": .array(["READ"])]))

            let difference = try await browser.get("schema/difference?\(scopeQuery)")
            #expect(difference.entries("difference").contains("+ type Note"))
            #expect(difference.entries("deployment").contains("+ type Note"))
            #expect(try await browser.post("schema/deploy", inScope()).status == 200)
            let after = try await browser.get("schema/difference?\(scopeQuery)")
            #expect(after.entries("difference").isEmpty)
        }
    }

    @Test func aSchemaIsCheckedBeforeItIsImported() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let more = WebUser.schema.replacing("price DOUBLE", with: "price DOUBLE, extra STRING")
            let check = inScope(["text": .string(more), "onlyValidates": .bool(true)])
            let checked = try await browser.post("schema/import", check)
            #expect(checked.entries("changes") == ["+ field Note.extra STRING"])
            let text = try await browser.get("schema?\(scopeQuery)").json["text"]?.string
            #expect(text?.contains("extra") == false)
            #expect(
                try await browser.post("schema/import", inScope(["text": "DEFINE"])).status == 400
            )
        }
    }

    @Test func rolesAreGivenAndTaken() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            _ = try await browser.post("users/add", ["user": "ann"])
            let schema = WebUser.schema.replacing(
                "DEFINE SCHEMA",
                with: "DEFINE SCHEMA CREATE ROLE editor;"
            )
            _ = try await browser.post("schema/import", inScope(["text": .string(schema)]))
            let give = inScope(["user": "ann", "role": "editor", "isGiven": .bool(true)])
            #expect(try await browser.post("roles/set", give).json["existed"] == .bool(false))
            let roles = try await browser.get("roles?\(scopeQuery)").entries("roles")
            #expect(roles.first?["role"] == "editor")
            #expect(roles.first?["user"] == "ann")
        }
    }

    @Test func usersSessionsAndSharesAreTold() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let token = try await server.makeUser("ann")
            let user = server.container(token: token)
            _ = try await user.publicCloudDatabase.save(
                Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
            )
            let users = try await browser.get("users?\(scopeQuery)").entries("users")
            #expect(users.contains { $0["name"] == "ann" && $0["recordName"]?.string != "" })

            let sessions = try await browser.get("sessions?user=ann").entries("sessions")
            #expect(sessions.map { $0["kind"] } == ["access"])
            let id = try #require(sessions.first?["id"])
            let revoke: JSON = ["user": "ann", "id": id]
            #expect(
                try await browser.post("sessions/revoke", revoke).json["changed"] == .bool(true)
            )
            #expect(try await browser.get("sessions?user=ann").entries("sessions").isEmpty)

            let disable: JSON = ["user": "ann", "isDisabled": .bool(true)]
            #expect(try await browser.post("users/state", disable).json["changed"] == .bool(true))
            let disabled = try await browser.get("users").entries("users").filter {
                $0["isDisabled"] == .bool(true)
            }
            #expect(disabled.map { $0["name"] } == ["ann"])
            #expect(
                try await browser.get("shares?user=ann&\(scopeQuery)").entries("shares").isEmpty
            )
            #expect(try await browser.get("keys?\(scopeQuery)").entries("keys").isEmpty)
            #expect(try await browser.get("profile?user=ann").status == 200)
            await user.close()
        }
    }

    @Test func theClusterAndTheNumbersAreTold() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            #expect(try await browser.get("members").status == 200)
            let conflicts = try await browser.get("conflicts?\(scopeQuery)")
            #expect(conflicts.json["count"] == .integer(0))
            let live = try await browser.get("live")
            let calls = live.entries("metrics").first { $0["name"] == "cumulus_calls_total" }
            #expect(calls?["kind"] == "counter")
            guard case .decimal(let count)? = calls?["value"] else {
                return #expect(Bool(false), "\(live.json)")
            }
            #expect(count > 0)
            #expect(live.json["web"]?["requests"] != nil)
            let steps = live.entries("steps")
            #expect(steps.count > 2 && steps.last?["microseconds"] == .null)
            let ended = steps.reduce(Int64(0)) { sum, step in
                if case .integer(let calls)? = step["calls"] { sum + calls } else { sum }
            }
            #expect(ended > 0 && Double(ended) <= count)
        }
    }

    @Test func callsThatFailAreCounted() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            func failed() async throws -> Int64 {
                let live = try await browser.get("live").json
                guard case .integer(let count)? = live["failed"] else { return -1 }
                return count
            }
            let before = try await failed()
            #expect(before >= 0)
            #expect(try await browser.get("sessions?user=nobody").status == 404)
            #expect(try await failed() == before + 1)
            #expect(try await browser.get("users").status == 200)
            #expect(try await failed() == before + 1)
        }
    }

    @Test func refusalsOfAUserAreFoundInTheAuditLog() async throws {
        let clock = TestServer.environment.wallClock
        let lines: @Sendable () -> [Bytes] = {
            let now = clock()
            return [
                #"{"time":\#(now - 90_000_000),"id":"aa","method":"OLD","code":10}"#,
                #"{"time":\#(now - 3),"id":"aa","method":"RECORDS_MODIFY","code":10}"#,
                #"{"time":\#(now - 2),"method":"ACCOUNTS_SIGN_IN","target":"ann","code":9}"#,
                #"{"time":\#(now - 1),"id":"aa","method":"SHARING_ACCEPT","code":0}"#,
                #"{"time":\#(now - 1),"id":"bb","method":"KEYS_ADD","target":"ann","code":10}"#,
                #"{"lostLines":3}"#, #"{"time":"#,
            ].map { Bytes($0.utf8) }
        }
        try await withConsole(auditLines: lines) { browser, _ in
            _ = try await browser.signIn()
            let answer = try await browser.get("refusals?user=ann&id=aa")
            #expect(answer.json["isKept"] == .bool(true))
            let refusals = answer.entries("refusals")
            #expect(refusals.map { $0["method"] } == ["ACCOUNTS_SIGN_IN", "RECORDS_MODIFY"])
            #expect(refusals.map { $0["reason"] } == ["notAuthenticated", "permissionFailure"])
        }
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            let answer = try await browser.get("refusals?user=ann")
            #expect(answer.json["isKept"] == .bool(false))
            #expect(answer.entries("refusals").isEmpty)
        }
    }

    @Test func passwordsAndTokensLetUsersIn() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            _ = try await browser.post("users/add", ["user": "ann"])
            let password: JSON = ["user": "ann", "password": "correct horse"]
            #expect(try await browser.post("users/password", password).status == 200)
            let entrance = inScope(["name": "ann", "password": "correct horse"])
            #expect(try await browser.post("user", entrance).status == 200)
            let made = try await browser.post("users/token", ["user": "ann"])
            let token = try #require(made.json["accessToken"]?.string)
            let other = inScope(["accessToken": .string(token)])
            #expect(try await browser.post("user", other).status == 200)
        }
    }
}
