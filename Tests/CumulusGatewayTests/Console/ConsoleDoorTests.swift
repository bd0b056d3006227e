// The callers that the console lets in, and the headers of its answers.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

@Suite struct ConsoleDoorTests {
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        + "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    @Test func filesAreServedByTheirWholePathsOnly() async throws {
        try await withConsole { browser, _ in
            for (path, type) in [
                ("/console", "text/html; charset=utf-8"), ("/console/", "text/html; charset=utf-8"),
                ("/console?x=1", "text/html; charset=utf-8"),
                ("/console/style.css", "text/css; charset=utf-8"),
                ("/console/app.js", "text/javascript; charset=utf-8"),
                ("/console/icon.svg", "image/svg+xml"),
            ] {
                let answer = try #require(await browser.send("GET", path))
                #expect(answer.status == 200, "\(path)")
                #expect(answer.headers.contains { $0 == ("Content-Type", type) }, "\(path)")
                #expect(!answer.body.isEmpty)
            }
            for path in [
                "/console/../livez", "/console/%2e%2e/app.js", "/console//app.js",
                "/console/app.js/", "/console/APP.JS", "/console/nothing", "/console/app.js%00",
            ] {
                #expect(await browser.send("GET", path)?.status == 404, "\(path)")
            }
            for path in ["/", "/consoles", "/database/1/x", "//console", "/livez"] {
                #expect(await browser.send("GET", path) == nil, "\(path)")
            }
            #expect(await browser.send("POST", "/console/app.js")?.status == 405)
            #expect(await browser.send("HEAD", "/console/app.js")?.status == 200)
        }
    }

    @Test func everyAnswerHasThePolicy() async throws {
        try await withConsole { browser, _ in
            for path in ["/console", "/console/nothing", "/console/api/status", "/console/api/"] {
                let answer = try #require(await browser.send("GET", path))
                let headers = Dictionary(uniqueKeysWithValues: answer.headers.map { ($0, $1) })
                #expect(headers["Content-Security-Policy"] == Self.policy, "\(path)")
                #expect(headers["X-Content-Type-Options"] == "nosniff")
                #expect(headers["X-Frame-Options"] == "DENY")
                #expect(headers["Cache-Control"] == "no-store")
                #expect(headers["Access-Control-Allow-Origin"] == nil)
            }
            let page = try #require(await browser.send("GET", "/console"))
            let text = String(decoding: page.body, as: UTF8.self)
            #expect(!text.contains("style="))
            #expect(!text.contains("<script>"))
        }
    }

    @Test func theOperatorTokenOpensASession() async throws {
        try await withConsole { browser, _ in
            #expect(try await browser.get("session").json["isSignedIn"] == .bool(false))
            let refused = try await browser.get("status")
            #expect(refused.status == 401)
            #expect(refused.code == "AUTHENTICATION_FAILED")

            // A token from a file may end with a line break.
            let answer = try await browser.signIn(TestServer.operatorToken + "\n")
            #expect(answer.status == 200)
            let cookie = try #require(answer.headers["Set-Cookie"])
            #expect(cookie.hasPrefix("cumulus_console="))
            #expect(cookie.hasSuffix("; Path=/console; Max-Age=28800; HttpOnly; SameSite=Strict"))
            #expect(!cookie.contains(TestServer.operatorToken))

            let status = try await browser.get("status")
            #expect(status.status == 200)
            #expect(status.json["state"] == "ready")
            #expect(try await browser.get("session").json["isSignedIn"] == .bool(true))

            let end = try await browser.post("session/end")
            #expect(end.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
            #expect(try await browser.get("status").status == 401)
        }
    }

    /// As `cumulus console` makes it, and the sign-in page sends it.
    @Test func aLinkOpensASessionOnce() async throws {
        try await withConsole { browser, server in
            server.node.announce(console: "http://:7480")
            let admin = NodeOperator(endpoint: server.endpoint, token: TestServer.operatorToken)
            let url = try #require(try await admin.consoleURL(host: "node.example.org"))
            server.node.announce(console: "")
            #expect(try await admin.consoleURL(host: "node.example.org") == nil)
            await admin.close()
            #expect(url.hasPrefix("http://node.example.org:7480/console#link="))
            #expect(!url.contains(TestServer.operatorToken))
            let link = JSON.string(String(url.drop { $0 != "=" }.dropFirst()))

            let answer = try await browser.post("session", ["link": link])
            #expect(answer.status == 200)
            #expect(try await browser.get("status").status == 200)
            _ = try await browser.post("session/end")
            let again = try await browser.post("session", ["link": link])
            #expect(again.status == 401 && again.headers["Set-Cookie"] == nil)
            #expect(again.json["reason"]?.string?.contains("'cumulus console'") == true)
            #expect(try await browser.get("status").status == 401)
            for wrong in ["", "00", "cumulus_operator_wrong"] {
                let refused = try await browser.post("session", ["link": .string(wrong)])
                #expect(refused.status == 401, "\(wrong)")
            }
        }
    }

    @Test func aCookieNeedsANodesSealAndItsTime() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let good = try #require(browser.cookie)
            for bad in [String(good.dropLast(2)), good + "AA", "", String(good.reversed())] {
                browser.cookie = bad
                #expect(try await browser.get("status").status == 401, "\(bad)")
            }
            browser.cookie = good
            server.clockLead = ConsoleSession.life - 60_000
            #expect(try await browser.get("status").status == 200)
            server.clockLead = ConsoleSession.life + 1_000
            #expect(try await browser.get("status").status == 401)
        }
    }

    @Test func wrongTokensAreCounted() async throws {
        try await withConsole { browser, _ in
            for _ in 0..<30 {
                let answer = try await browser.signIn("cumulus_operator_wrong")
                #expect(answer.status == 401)
                #expect(answer.headers["Set-Cookie"] == nil)
            }
            let limited = try await browser.signIn("cumulus_operator_wrong")
            #expect(limited.status == 429)
            #expect(limited.json["retryAfter"] != nil)
            #expect(Int(limited.headers["Retry-After"] ?? "") ?? 0 > 0)
            // Nobody guesses the right one, so it opens at once.
            #expect(try await browser.signIn().status == 200)
        }
    }

    @Test func changesNeedTheSecretAndReadsDoNot() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            func isThere(_ name: String) async throws -> Bool {
                let users = try await browser.get("users").entries("users")
                return users.contains { $0["name"]?.string == name }
            }
            let secret = browser.secret
            for wrong in ["", String(secret.dropLast()), secret + "a"] {
                browser.secret = wrong
                let answer = try await browser.post("users/add", ["user": "ann"])
                #expect(answer.status == 403, "\(wrong)")
                #expect(try await !isThere("ann"))
            }
            browser.secret = secret
            #expect(try await browser.post("users/add", ["user": "ann"]).status == 200)
            #expect(try await isThere("ann"))
            // A change is no GET, and a read no POST.
            let answer = try await browser.get("users/add?user=bea")
            #expect(answer.status == 405)
            #expect(answer.headers["Allow"] == "POST")
            #expect(try await browser.post("users").status == 405)
        }
    }

    @Test func pagesOfOtherSitesAreRefused() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            for site in ["cross-site", "same-site", "none"] {
                browser.site = site
                #expect(try await browser.get("status").status == 403, "\(site)")
            }
            // Programs that are no browsers don't say it.
            browser.site = nil
            #expect(try await browser.get("status").status == 200)
        }
    }

    @Test func nothingSecretCrossesANetworkInTheClear() async throws {
        try await withConsole { browser, _ in
            browser.isSecret = false
            let answer = try await browser.signIn()
            #expect(answer.status == 401)
            #expect(answer.json["reason"]?.string?.contains("--tls-certificate") == true)
            browser.isSecret = true
            _ = try await browser.signIn()
            browser.isSecret = false
            #expect(try await browser.get("status").status == 401)
        }
    }

    @Test func unknownCallsAreTold() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            #expect(try await browser.get("nothing").status == 404)
            #expect(try await browser.get("zones?container=iCloud.a").status == 400)
            #expect(try await browser.get("zones?container=%zz&environment=x").status == 400)
            let unknown = "zones?container=iCloud.unknown&environment=development"
            #expect(try await browser.get(unknown).status == 404)
        }
    }

    /// The same over sockets, as a browser says it.
    @Test func aSessionWorksOverHTTP() async throws {
        let server = try await TestServer()
        try await serveConsole(server) { endpoint in
            func exchange(_ lines: String..., body: String = "") throws -> String {
                let client = try RawClient(endpoint)
                defer { client.close() }
                let head = lines + ["Host: \(endpoint)", "Content-Length: \(body.utf8.count)"]
                let text = (head + ["Connection: close", "", body]).joined(separator: "\r\n")
                try client.send(Bytes(text.utf8))
                return String(decoding: try client.receiveAll(), as: UTF8.self)
            }
            let page = try exchange("GET /console HTTP/1.1")
            #expect(page.hasPrefix("HTTP/1.1 200"), "\(page.prefix(300))")
            #expect(page.contains("Content-Security-Policy: \(Self.policy)\r\n"))
            #expect(page.contains(#"src="/console/app.js""#))
            let signIn = try exchange(
                "POST /console/api/session HTTP/1.1",
                "Sec-Fetch-Site: same-origin",
                body: #"{"token": "\#(TestServer.operatorToken)"}"#
            )
            let cookie = try #require(signIn.firstMatch(of: /Set-Cookie: ([^;]+);/)).output.1
            let secret = try #require(signIn.firstMatch(of: /"token": "([^"]+)"/)).output.1
            let add = "POST /console/api/users/add HTTP/1.1"
            let ann = #"{"user": "ann"}"#
            let refused = try exchange(add, "Cookie: \(cookie)", body: ann)
            #expect(refused.hasPrefix("HTTP/1.1 403"), "\(refused)")
            let added = try exchange(
                add,
                "Cookie: \(cookie)",
                "X-Console-Token: \(secret)",
                body: ann
            )
            #expect(added.hasPrefix("HTTP/1.1 200"), "\(added)")
            let users = try exchange("GET /console/api/users HTTP/1.1", "Cookie: \(cookie)")
            #expect(users.contains(#""name": "ann""#))
            #expect(try exchange("GET /console/../livez HTTP/1.1").hasPrefix("HTTP/1.1 404"))
        }
        try await server.stop()
    }
}
