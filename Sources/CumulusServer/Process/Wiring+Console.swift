// What the console shows of the process: its settings, its logs, web apps and webhooks.
//
// Called where HTTP is served. Nothing here is a secret: `ConsoleSetting` holds no value of a
// setting that leads to a key.

import CumulusGateway
import CumulusNode

extension Wiring {
    func consoleSources(
        _ node: Node,
        _ meter: WebMeter,
        _ audit: AuditFiles?,
        _ apps: (@Sendable () -> [[UInt8]: WebAPIToken])?
    ) -> ConsoleSources {
        var sources = ConsoleSources { LiveNumbers(of: node, meter) }
        if let audit { sources.auditLines = { audit.newestLines(byteLimit: 4 << 20) } }
        let recentLines = recentLines
        sources.logLines = { recentLines.lines }
        sources.settings = configuration.shown
        sources.webApps = apps
        if let webhooks {
            sources.webhooks = ({ webhooks.webhooks.map(\.entry) }, webhooks.meter)
        }
        return sources
    }
}

extension Configuration {
    /// The settings in the order of the help.
    var shown: [ConsoleSetting] {
        Settings.parts.flatMap { group in
            group.rows.map { row in
                let found = value(of: row)
                return ConsoleSetting(
                    name: row.name,
                    group: group.title,
                    value: row.leadsToSecret && !found.value.isEmpty ? nil : row.shown(found.value),
                    origin: found.origin,
                    help: row.help
                )
            }
        }
    }
}

extension SettingRow {
    private static let secretWords: Set = ["key", "password", "secret", "token"]

    /// Whether the value is, or names a file with, something that nobody else should know.
    var leadsToSecret: Bool {
        name.split(separator: "-").contains { SettingRow.secretWords.contains(String($0)) }
    }
}
