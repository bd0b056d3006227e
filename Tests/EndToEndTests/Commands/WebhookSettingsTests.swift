// `cumulusd --webhooks`: mistakes are told at the start, and a process delivers what the file
// names.
//
// The second test takes 16 seconds: a node delivers after it has been the first of its cluster for
// 15.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebhookSettingsTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
    }

    private func writeList(url: String) throws {
        try write(
            """
            [{"name": "notes", "url": "\(url)", "private": true, "secretFile": "notes.secret"}]
            """,
            "webhooks.json"
        )
    }

    private var arguments: [String] {
        ["--webhooks", "\(folder.path)/webhooks.json", "--http", "127.0.0.1:0"]
    }

    @Test func aMistakeIsToldAtTheStart() async throws {
        let url = "https://hooks.example.com"
        for (url, secret, why) in [
            (nil, nil, "webhooks.json can't be read"),
            ("http://hooks.example.com", nil, "'[0].url' must be a URL with https"),
            (url, nil, "notes.secret can't be read"),
            (url, "short", "must hold a secret of 16 or more"),
        ] as [(String?, String?, String)] {
            if let url { try writeList(url: url) }
            if let secret { try write(secret, "notes.secret") }
            let node = try NodeProcess(data: folder.node, arguments: arguments)
            #expect(try await node.waitForEnd(seconds: 20) == .exit(1))
            #expect(node.errors.contains(why), "\(node.errors)")
        }
    }

    /// Nothing listens at the endpoint, which metrics and log say.
    @Test func aProcessDeliversAndTells() async throws {
        try writeList(url: "http://127.0.0.1:1/hook")
        try write("0123456789abcdef\n", "notes.secret")
        let node = try await NodeProcess.ready(data: folder.node, arguments: arguments)
        let token = try await user(of: node)
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        configuration.accessToken = token
        let container = Container(
            identifier: NodeProcess.container,
            configuration: configuration
        )
        let database = container.privateCloudDatabase
        var note = Record(recordType: "Note", recordID: Record.ID(recordName: "a"))
        note["title"] = .string("a")
        try await database.save(note)
        let predicate = try Query.Predicate(format: "title == 'b'")
        var subscription = Subscription(
            id: "notes",
            kind: .query(recordType: "Note", predicate: predicate)
        )
        subscription.notificationInfo = Subscription.NotificationInfo()
        subscription.notificationInfo?.webhook = "missing"
        do {
            try await database.save(subscription)
            Issue.record("a name that is not registered was taken")
        } catch {
            #expect("\(error)".contains("no webhook 'missing' is registered"), "\(error)")
        }
        subscription.notificationInfo?.webhook = "notes"
        try await database.save(subscription)
        note = try await database.record(for: note.recordID)
        note["title"] = .string("b")
        try await database.save(note)
        await container.close()

        let web = try await node.httpEndpoint()
        var metrics = ""
        let failed = #"cumulus_webhook_failures_in_a_row{webhook="notes"} 1"#
        for _ in 0..<300 where !metrics.contains(failed) {
            try await Task.sleep(for: .milliseconds(100))
            metrics = try RawClient.exchange(
                web,
                "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
        }
        #expect(metrics.contains(failed), "\(metrics)")
        #expect(metrics.contains(#"cumulus_webhook_taken_total{webhook="notes"} 0"#), "\(metrics)")
        let lag = metrics.split(separator: "\n").first {
            $0.hasPrefix("cumulus_webhook_lag_seconds{")
        }
        #expect(lag?.hasSuffix(" 0") == false, "\(metrics)")
        _ = try await node.end(SIGTERM)
        #expect(node.errors.contains("a webhook could not be delivered"), "\(node.errors)")
    }

    /// Makes a user; returns its access token.
    private func user(of node: NodeProcess) async throws -> String {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        let admin = NodeOperator(configuration, token: try node.operatorToken)
        _ = try await admin.addUser("hook", in: nil)
        let token = try await admin.addToken(forUser: "hook")
        await admin.close()
        return token
    }
}
