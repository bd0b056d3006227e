// The operator's file of webhooks (`--webhooks`), and the secrets that it names.
//
// Read at the start and again when any of them changes. A file that can't be used leaves the old
// state, and the log says why.

import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTransport
import Logging

struct WebhookFile: Sendable {
    /// More than any operator needs.
    private static let mostBytes = 1 << 20

    let meter = WebhookMeter()
    private let file: WatchedFiles<[WatchedFiles<Webhook>]>

    /// nil without a file.
    init?(_ path: String, _ logger: Logger) throws {
        guard !path.isEmpty else { return nil }
        do {
            file = try WatchedFiles(
                [path],
                onRenewal: { Wiring.tell(logger, of: "file of webhooks", $0) },
                make: { try WebhookFile.read(path, logger) }
            )
        } catch {
            throw StartProblem(\.users.webhooks, "\(error)")
        }
    }

    /// The webhooks of the file, as it is now.
    var webhooks: [Webhook] { file.current.map(\.current) }

    /// Whether a container's subscriptions may name a webhook.
    func knows(_ name: String, in container: String) -> Bool {
        webhooks.contains { $0.entry.name == name && $0.entry.serves(container) }
    }

    private static func read(
        _ path: String,
        _ logger: Logger
    ) throws -> [WatchedFiles<Webhook>] {
        let text = try OperatorFile.bytes(of: path, limit: mostBytes)
        do {
            return try Webhook.entries(text).map { entry in
                let secret = OperatorFile.place(of: entry.secretFile, beside: path)
                return try WatchedFiles(
                    [secret],
                    onRenewal: { Wiring.tell(logger, of: "secret of webhook \(entry.name)", $0) },
                    make: { try Webhook(entry, secret: OperatorFile.line(of: secret)) }
                )
            }
        } catch {
            throw OperatorFile.Unusable("\(path): \(error)")
        }
    }
}

extension Wiring {
    /// Delivers webhooks until the task is cancelled; no task without a file.
    func deliverWebhooks(_ node: Node, _ loops: EventLoops) -> [Task<Void, Never>] {
        guard let webhooks else { return [] }
        let group = loops.group
        let runner = WebhookRunner(
            NodeDoor(node) { _ in nil },
            webhooks: { webhooks.webhooks },
            isFirst: { try await node.isFirstMember() },
            client: { webhook in
                let judge = webhook.entry.isPrivate ? nil : PublicAddress.isPublic
                return OutboundWebClient(on: group, judge: judge)
            },
            meter: webhooks.meter,
            logger: logger
        )
        return [Task { await runner.run() }]
    }
}
