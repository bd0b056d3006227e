// Web apps that operators register, at the doors of nodes: their tokens are good on every node,
// and where the operator's file names one too, the registered one counts.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

@Suite struct WebAppTokenTests {
    private let query = #"{"query": {"recordType": "Note"}}"#

    private func app(
        _ name: String = "notes",
        token: String = "",
        origins: [String] = ["https://notes"]
    ) -> WebApp {
        WebApp(name: name, scope: WebUser.scope, token: token, origins: origins)
    }

    @discardableResult
    private func set(
        _ app: WebApp,
        isNew: Bool = true,
        logo: Bytes? = [],
        at server: TestServer
    ) async throws -> WebApp {
        let admin = server.nodeOperator()
        defer { Task { await admin.close() } }
        return try await admin.setWebApp(app, isNew: isNew, logo: logo).app
    }

    /// The answer to a query of a page that shows a token.
    private func ask(
        _ gateway: WebGateway,
        _ token: String,
        _ origin: String = "https://notes"
    ) async -> WebAnswer {
        await gateway.answer(
            WebRequest(
                "POST",
                "\(WebUser.base)/public/records/query?ckAPIToken=\(token)",
                headers: ["origin": origin],
                body: Bytes(query.utf8)
            )
        )
    }

    @Test func aRegisteredTokenIsGoodForItsPages() async throws {
        try await withWebUser { user, server in
            #expect(await ask(user.gateway, String(repeating: "a", count: 64)).status == 401)
            let added = try await set(app(), at: server)
            #expect(added.token.count == 64)
            #expect(await ask(user.gateway, added.token).status == 200)
            #expect(await ask(user.gateway, added.token, "https://other").status == 403)
            // Another environment than the token's.
            let target = "/database/1/\(TestServer.container)/production/public/records/query"
            let shown = "\(target)?ckAPIToken=\(added.token)"
            let request = WebRequest("POST", shown, body: Bytes(query.utf8))
            #expect(try await user.send(request).status == 401)

            var changed = added
            changed.origins = ["https://other"]
            try await set(changed, isNew: false, at: server)
            #expect(await ask(user.gateway, added.token).status == 403)
            #expect(await ask(user.gateway, added.token, "https://other").status == 200)

            let admin = server.nodeOperator()
            #expect(try await admin.webApps(in: WebUser.scope).map(\.app.name) == ["notes"])
            #expect(try await admin.removeWebApp("notes", in: WebUser.scope))
            #expect(try await !admin.removeWebApp("notes", in: WebUser.scope))
            await admin.close()
            #expect(await ask(user.gateway, added.token, "https://other").status == 401)
        }
    }

    /// The file gives `WebUser.apiToken` to pages of https://app.
    @Test func aRegisteredAppCountsBeforeTheFile() async throws {
        var named = WebAPIToken(scope: WebUser.scope, origins: ["https://app"])
        named.name = "of-the-file"
        try await withWebUser(named) { user, server in
            #expect(await ask(user.gateway, WebUser.apiToken, "https://app").status == 200)
            // The same token.
            try await set(app(token: WebUser.apiToken), at: server)
            #expect(await ask(user.gateway, WebUser.apiToken, "https://app").status == 403)
            #expect(await ask(user.gateway, WebUser.apiToken).status == 200)
            let admin = server.nodeOperator()
            _ = try await admin.removeWebApp("notes", in: WebUser.scope)
            #expect(await ask(user.gateway, WebUser.apiToken, "https://app").status == 200)
            // The same name.
            try await set(app("of-the-file"), at: server)
            #expect(await ask(user.gateway, WebUser.apiToken, "https://app").status == 401)
            await admin.close()
        }
    }

    @Test func everyNodeKnowsIt() async throws {
        try await withWebPair { pair in
            let png: Bytes = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 7]
            let added = try await set(app(), logo: png, at: pair.servers[0])
            var status = 0
            for _ in 0..<500 where status != 200 {
                status = await ask(pair.gateways[1], added.token).status
                if status != 200 { try await Task.sleep(for: .milliseconds(20)) }
            }
            #expect(status == 200)
            let node = pair.servers[1].node
            let known = try #require(try await node.webApp("notes", in: WebUser.scope))
            #expect(known == added)
            #expect(try await node.logo(of: known) == png)
        }
    }

    @Test func whatNoAppMaySayIsRefused() async throws {
        try await withWebUser { _, server in
            var wrong = Array(repeating: app(), count: 5)
            wrong[0].origins = ["https://notes/"]
            wrong[1].callback = "javascript:alert(1)"
            wrong[2].token = "short"
            wrong[3].name = ""
            wrong[4].title = String(repeating: "t", count: 256)
            for app in wrong {
                await #expect(throws: ServiceError.self) { try await set(app, at: server) }
            }
            let svg = Bytes("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8)
            let large: Bytes = [0xFF, 0xD8, 0xFF] + Bytes(repeating: 0, count: 64 << 10)
            for logo in [svg, large] {
                await #expect(throws: ServiceError.self) {
                    try await set(app(), logo: logo, at: server)
                }
            }
            let admin = server.nodeOperator()
            let apps = try await admin.webApps(in: WebUser.scope)
            #expect(apps.isEmpty)
            await admin.close()
        }
    }
}
