// The README's example is the file that is compiled here, byte for byte, and it works.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite struct QuickStartTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()

    @Test func theReadmeShowsTheFileThatRuns() throws {
        let example = try String(
            contentsOf: Self.file.appending(path: "QuickStart.swift"),
            encoding: .utf8
        )
        let root = Self.file.deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.contains("```swift\n" + example + "```\n"))
    }

    @Test func theExampleSavesAndFetches() async throws {
        let server = try await TestServer()
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.accessToken = try await server.makeUser("ada")
        #expect(try await quickStart(configuration) == "Hello")
        try await server.stop()
    }
}
