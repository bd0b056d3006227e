// `cumulus user subscriptions`: what it takes, and what it refuses.

import ArgumentParser
import Cumulus
import Testing

@testable import CumulusCLI

@Suite struct UserSubscriptionsTests {
    private func parse(_ words: String...) throws -> UserCommand.Subscriptions {
        let command = try Main.parseAsRoot(["user", "subscriptions", "alice"] + words)
        return try #require(command as? UserCommand.Subscriptions)
    }

    @Test func severalEndAtOnce() throws {
        let command = try parse("--end", "large", "small", "--environment", "production")
        #expect(command.name == "alice" && command.end == ["large", "small"] && !command.endAll)
        #expect(try command.scope.environmentValue() == .production)
    }

    @Test func withoutThemItLists() throws {
        let command = try parse("--json")
        #expect(command.end.isEmpty && !command.endAll && command.output.json)
    }

    @Test func someOrAll() throws {
        #expect(try parse("--end-all").endAll)
        #expect {
            try parse("--end-all", "--end", "large")
        } throws: { error in
            Main.message(for: error).contains("Name the ids with --end, or give --end-all.")
        }
    }
}
