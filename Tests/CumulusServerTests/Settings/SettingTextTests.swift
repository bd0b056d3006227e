// The texts about the settings of `cumulusd`: its help, and the article Settings.

import ArgumentParser
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@testable import CumulusServer

@Suite struct SettingTextTests {
    @Test func theHelpHasEachSettingInItsGroup() throws {
        let help = Main.helpMessage(for: Run.self, columns: 1_000)
        var section = ""
        var found: [String: String] = [:]
        for line in help.split(separator: "\n") {
            if line.hasSuffix(":"), !line.hasPrefix(" ") { section = String(line.dropLast()) }
            guard let flag = line.prefixMatch(of: #/  --([a-z-]+)/#) else { continue }
            #expect(found[String(flag.output.1)] == nil, "\(flag.output.1) stands twice")
            found[String(flag.output.1)] = section
        }
        for part in Settings.parts {
            for setting in part.rows {
                #expect(found[setting.name] == part.title.uppercased(), "\(setting.name)")
                #expect(help.contains(setting.help), "\(setting.name)")
            }
        }
        #expect(help.contains("  --retention-days <days>"))
        #expect(help.contains(" are remembered (1 to 36500; default: 30).\n"))
        #expect(help.contains("Allow plain TCP beyond this machine.\n"))
    }

    /// The article has a table for each group, and one for the parts of `--limits`.
    ///
    /// Every row of a table begins with a name in backquotes.
    @Test func theArticleHasTheRowsOfTheTables() throws {
        let article = try String(
            contentsOf: Checkout.file("Sources/CumulusNode/CumulusNode.docc/Settings.md"),
            encoding: .utf8
        )
        let wanted = Settings.parts.flatMap { part in
            ["## \(part.title)"] + part.rows.map(SettingTextTests.row)
        }
        let limits = try Configuration(flags: [:], environment: [:], file: nil).limits()
        let parts = AdjustableLimit.all.map { limit in
            "| `\(limit.name)` | \(limit.read(limits)) |"
        }
        let found = article.split(separator: "\n").map(String.init).filter { line in
            line.hasPrefix("| `") || Settings.parts.contains { line == "## \($0.title)" }
        }
        #expect(found == wanted + parts)
    }

    private static func row(of setting: SettingRow) -> String {
        let unit = setting.unit.map { " <\($0)>" } ?? ""
        let bounds = setting.bounds.isEmpty ? "" : " (\(setting.bounds))"
        let columns = ["`--\(setting.name)\(unit)`", setting.meaning, setting.sentence + bounds]
        return "| \(columns.joined(separator: " | ")) |"
    }

    /// Texts name no flag that doesn't exist.
    @Test func sentencesNameFlagsThatExist() {
        let names = Set(Settings.rows.map(\.name) + ["config"])
        for setting in Settings.rows {
            #expect(!setting.sentence.isEmpty && !setting.sentence.hasSuffix("."))
            for flag in setting.sentence.matches(of: /--([a-z-]+)/) {
                #expect(names.contains(String(flag.output.1)), "\(setting.name)")
            }
        }
    }
}
