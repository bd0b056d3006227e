// What the console shows of its process, and no call of the protocol returns.
//
// Filled by `cumulusd`, which makes the console, and read by the calls of this folder. A source
// that is nil is one that the node doesn't have, and the page says so.
//
// Folder: the console's pages about the node. Read `ConsoleSources`, `ConsoleCall+Node`, then
// `ConsoleCall+Audit`, `ConsoleCall+Process` and `ConsoleCall+WebApps`.

package import CumulusModel

package struct ConsoleSources: Sendable {
    /// The node's counters at the moment of the call.
    let numbers: @Sendable () -> LiveNumbers
    /// The newest lines of the node's audit log, oldest first; nil if it keeps none.
    package var auditLines: (@Sendable () -> [Bytes])?
    /// The newest lines of the process's log as JSON, oldest first; nil if none are kept.
    package var logLines: (@Sendable () -> [Bytes])?
    /// The settings with which the process runs, in the order of its help.
    package var settings: [ConsoleSetting] = []
    /// The web apps of the operator's file, by the SHA-256 of their tokens; nil without a file.
    package var webApps: (@Sendable () -> [Bytes: WebAPIToken])?
    /// The webhooks of the operator's file, and what became of them; nil without a file.
    package var webhooks: (entries: @Sendable () -> [Webhook.Entry], meter: WebhookMeter)?

    package init(_ numbers: @escaping @Sendable () -> LiveNumbers) {
        self.numbers = numbers
    }
}

/// A setting of the process, with where its value comes from.
package struct ConsoleSetting: Hashable, Sendable {
    /// The name of the flag, without its dashes.
    package var name: String
    /// The heading under which the help lists it.
    package var group: String
    /// What is in force; nil for a setting whose value is not shown, and that is set.
    package var value: String?
    /// Such as `flag`, `environment CUMULUS_DATA` or `default`.
    package var origin: String
    /// What it is for, and its default.
    package var help: String

    package init(name: String, group: String, value: String?, origin: String, help: String) {
        self.name = name
        self.group = group
        self.value = value
        self.origin = origin
        self.help = help
    }
}
