// The console's pages about the process: its settings and its log, its backups, and the file that
// names webhooks.
//
// No secret is in an answer: neither what signs webhooks nor the path of a webhook's URL, and no
// value of a setting that leads to a key.

import CumulusModel
import CumulusNode
import CumulusWire

extension ConsoleCall {
    private static let mostLogLines = 1_000

    func settings() async throws -> ConsoleReply {
        try await checkOperator()
        let settings = sources.settings.map { setting -> JSON in
            [
                "name": .string(setting.name), "group": .string(setting.group),
                "value": setting.value.map { .string($0) } ?? .null,
                "origin": .string(setting.origin), "help": .string(setting.help),
            ]
        }
        return .json([.init("settings", .array(settings))])
    }

    /// The newest lines of the log, newest first.
    func logs() async throws -> ConsoleReply {
        try await checkOperator()
        let lines = (sources.logLines?() ?? []).suffix(ConsoleCall.mostLogLines).reversed()
            .compactMap { try? JSONReader.read($0) }
        return .json([
            .init("isKept", .bool(sources.logLines != nil)), .init("lines", .array(lines)),
        ])
    }

    /// The node makes a directory on its own machine.
    func makeBackup() async throws -> ConsoleReply {
        let message = BackUpRequest(try bytes("path")).encoded()
        let made = try await askOnce(.operatorBackUp, message) { try BackUpResponse(wire: $0) }
        return .json([
            .init("bytes", .count(made.bytes)), .init("files", .count(UInt64(made.files))),
        ])
    }

    // MARK: The web

    func webhooks() async throws -> ConsoleReply {
        try await checkOperator()
        let entries = sources.webhooks?.entries() ?? []
        let families = sources.webhooks?.meter.metrics(now: door.now) ?? []
        let webhooks = entries.sorted { $0.name < $1.name }.map { entry -> JSON in
            func number(_ name: String) -> JSON {
                let samples = families.first { $0.name == name }?.samples ?? []
                let sample = samples.first { $0.labels.contains { $0.value == entry.name } }
                return .decimal(sample?.value ?? 0)
            }
            let scheme = entry.address.isSecure ? "https" : "http"
            return [
                "name": .string(entry.name),
                "origin": .string("\(scheme)://\(entry.address.host):\(entry.address.port)"),
                "containers": entry.containers.map {
                    .array($0.sorted().map { .string($0) })
                } ?? .null,
                "isPrivate": .bool(entry.isPrivate),
                "taken": number("cumulus_webhook_taken_total"),
                "failed": number("cumulus_webhook_failed_total"),
                "failuresInARow": number("cumulus_webhook_failures_in_a_row"),
                "lagSeconds": number("cumulus_webhook_lag_seconds"),
            ]
        }
        return .json([
            .init("isSet", .bool(sources.webhooks != nil)), .init("webhooks", .array(webhooks)),
        ])
    }
}
