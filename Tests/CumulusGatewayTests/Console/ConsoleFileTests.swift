// The console's files hang together: what they name exists, and nothing writes data as markup.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ConsoleFileTests {
    /// All files that the page leads to, by their paths.
    private func files(_ browser: ConsoleUser) async throws -> [String: String] {
        var files: [String: String] = [:]
        var paths: Set<String> = ["/console"]
        while let path = paths.popFirst() {
            let answer = try #require(await browser.send("GET", path))
            #expect(answer.status == 200, "\(path)")
            let text = String(decoding: answer.body, as: UTF8.self)
            files[path] = text
            var named = text.matches(of: /"(\/console\/[a-z]+\.[a-z]+)"/).map { $0.output.1 }
            if path == "/console/app.js" {
                // The pages, which it loads by their names.
                let pages = text.matches(of: /^ *\["([a-z]+)", "/.anchorsMatchLineEndings())
                named += pages.map { "/console/\($0.output.1).js" }
            }
            paths.formUnion(named.map { String($0) }.filter { files[$0] == nil })
        }
        return files
    }

    @Test func everyFileIsThereAndIsNeeded() async throws {
        try await withConsole { browser, _ in
            let files = try await files(browser)
            let pages = [
                "containers", "schema", "records", "people", "sessions", "webapps", "webhooks",
                "audit", "cluster", "live", "logs", "backups", "settings", "sync",
            ]
            for page in pages {
                #expect(files["/console/\(page).js"]?.contains("export const title") == true)
            }
            #expect(files.count == 38)
        }
    }

    /// Scripts are served as they stand; the page carries what the node tells them.
    @Test func thePageSaysHowLargeFilesMayBe() async throws {
        try await withConsole { browser, _ in
            let files = try await files(browser)
            let attribute = "data-most-file-bytes=\"\(WebTransfers.uploadBytes)\""
            #expect(files["/console"]?.contains("<html lang=\"en\" \(attribute)>") == true)
            #expect(files["/console/api.js"]?.contains("dataset.mostFileBytes") == true)
        }
    }

    @Test func dataBecomesTextOnly() async throws {
        try await withConsole { browser, _ in
            for (path, text) in try await files(browser) {
                // The name of a language, which nothing fetches.
                let text = text.replacing("http://www.w3.org/2000/svg", with: "")
                for word in [
                    "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                    "new Function", "javascript:", "style=", " onclick=", "http://", "https://",
                    "localStorage",
                ] {
                    #expect(!text.contains(word), "\(path) has \(word)")
                }
            }
        }
    }

    /// What the pages ask for is a call of the console.
    @Test func everyCallExists() async throws {
        try await withConsole { browser, _ in
            _ = try await browser.signIn()
            var names: Set<String> = []
            for text in try await files(browser).values {
                for match in text.matches(of: /[^.\w](get|post)\("([a-z\/]+)"/) {
                    let (method, name) = (match.output.1, String(match.output.2))
                    if name == "session/end" || name == "user/end" { continue }
                    names.insert(name)
                    let answer =
                        method == "get"
                        ? try await browser.get(name) : try await browser.post(name)
                    #expect(![404, 405].contains(answer.status), "\(method) \(name)")
                }
            }
            #expect(names.count > 20)
        }
    }
}
