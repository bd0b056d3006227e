// The README's example is the file that is compiled here, byte for byte, and it works.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite struct QuickStartTests {
    @Test func theReadmeShowsTheFileThatRuns() throws {
        let file = Checkout.file("Tests/CumulusTests/Container/QuickStart.swift")
        let example = try String(contentsOf: file, encoding: .utf8)
        let readme = try String(contentsOf: Checkout.file("README.md"), encoding: .utf8)
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
