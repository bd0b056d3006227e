// The page of 60 lines in a real browser: it signs in, saves, uploads a picture, and shows what
// another client saved meanwhile.
//
// Skipped where chromedriver is not installed, see `WebDriver`. The page comes from another origin
// than the node's, as web apps do. It takes some seconds: a browser starts.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Foundation
import Logging
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebNotesTests {
    private static let file = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Examples/WebNotes/index.html")
    private static let password = "correct horse"

    /// The server of a web app, which is this file.
    private struct App: WebPages {
        let content: Bytes

        func isAt(_ path: Substring) -> Bool { path == "/index.html" }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            let type = (name: "Content-Type", value: "text/html; charset=utf-8")
            return WebAnswer(status: 200, headers: [type], body: content)
        }
    }

    @Test func thePageIsShort() throws {
        let lines = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count <= 60)
        #expect(lines.allSatisfy { $0.count <= 100 })
    }

    /// Serves the page, and a node to its origin.
    private func withPage(
        _ body: (_ url: String, _ database: Database) async throws -> Void
    ) async throws {
        let content = Bytes(try Data(contentsOf: Self.file))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try await withWebUser { user, server in
            let admin = server.nodeOperator()
            try await admin.setPassword(of: "web", to: Self.password)
            await admin.close()
            let pages = OperatorPages(server.node, user.gateway.meter)
            let app = HTTPServer(user.gateway, pages, [App(content: content)], logger: logger)
            try await withRunning(app) { appPort in
                let api = WebAPIToken(
                    scope: WebUser.scope,
                    origins: ["http://127.0.0.1:\(appPort)"]
                )
                let door = NodeDoor(server.node) { $0 == WebUser.apiDigest ? api : nil }
                let port = TestPort.free()
                let site = try #require(WebAddress("http://127.0.0.1:\(port)"))
                let gateway = WebGateway(door, signInURL: SignInPages.url(at: site))
                let signIn = SignInPages(
                    door,
                    at: site,
                    client: Browser.NoClient(),
                    logger: logger
                )
                let http = HTTPServer(gateway, pages, [signIn], logger: logger)
                try await withRunning(http, port: port) { _ in
                    let device = server.container(token: user.session)
                    try await body(
                        """
                        http://127.0.0.1:\(appPort)/index.html?node=\(site.text)\
                        &container=\(TestServer.container)&token=\(WebUser.apiToken)
                        """,
                        device.privateCloudDatabase
                    )
                    await device.close()
                }
            }
        }
    }

    @Test(.enabled(if: WebDriver.isWanted, WebDriver.skipped))
    func aPageSavesAndIsToldOfOthers() async throws {
        try await withPage { url, database in
            let (wishes, wish) = AsyncStream<Void>.makeStream()
            async let other: Void = save(on: database, at: wishes)
            try await onThread {
                defer { wish.finish() }
                let folder = FileManager.default.temporaryDirectory.appending(path: "web-notes")
                let browser = try WebDriver(screenshots: folder)
                defer { browser.quit() }
                try browser.open(url)
                try signIn(browser)
                try save(browser)
                wish.yield()
                try browser.see("Saved on a phone")
                let complaints = try browser.complaints()
                // The browser notes the call without a user, and that the app has no icon.
                #expect(complaints.allSatisfy { $0.contains(" 421 ") || $0.contains("favicon") })
            }
            try await other
            let found = try await database.records(matching: Query(recordType: "Note"))
            let notes = try found.matchResults.map { try $0.1.get() }
            let saved = try #require(notes.first { $0["title"] == .string("Saved in a browser") })
            guard case .asset(let photo)? = saved["photo"] else {
                Issue.record("the note has no photo")
                return
            }
            #expect(photo.size == UInt64(Self.picture.count))
        }
    }

    /// Saves as another client at each wish.
    private func save(on database: Database, at wishes: AsyncStream<Void>) async throws {
        for await _ in wishes {
            var note = Record(recordType: "Note", recordID: .init(recordName: "other"))
            note["title"] = .string("Saved on a phone")
            _ = try await database.save(note)
        }
    }

    private static let picture = Data(base64Encoded: ConsoleBrowserTests.pictures[0]) ?? Data()

    /// By the node's own page, in a window of its own.
    private func signIn(_ browser: WebDriver) throws {
        try browser.see("request needs authorization")
        try browser.click("Sign in")
        try browser.changeWindow()
        try browser.type("web", into: "name")
        try browser.type(Self.password, into: "password")
        try browser.click("Sign in")
        try browser.changeWindow()
        try browser.wait(for: "document.querySelector('#sign-in').hidden")
    }

    private func save(_ browser: WebDriver) throws {
        try browser.type("Saved in a browser", into: "title")
        _ = try browser.run(
            """
            const bytes = Uint8Array.from(atob(arguments[0]), (each) => each.charCodeAt(0));
            const chosen = new DataTransfer();
            chosen.items.add(new File([bytes], "picture.png", { type: "image/png" }));
            document.querySelector("[name=photo]").files = chosen.files;
            """,
            Self.picture.base64EncodedString()
        )
        try browser.click("Save")
        try browser.see("Saved in a browser")
        try browser.wait(for: "document.querySelector('img')?.naturalWidth > 0")
    }
}
