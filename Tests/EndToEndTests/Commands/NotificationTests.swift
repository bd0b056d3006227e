// `cumulus notification` with a real node: what was told is listed, and what is marked as read
// stays so over a kill.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct NotificationTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    @Test func whatIsMarkedStaysRead() async throws {
        var node = try await NodeProcess.ready(data: folder.node)
        var variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "private",
        ]
        func cumulus(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables)
        }
        func save(_ name: String) async throws {
            let fields = #"{"people": 700000}"#
            let saved = try await cumulus("record", "save", "City", name, "--json-fields", fields)
            #expect(saved.code == 0, "\(saved.errors)")
        }
        /// Names with ids.
        func list(_ words: String...) async throws -> [(name: String, id: String, isRead: Bool)] {
            let run = try await CommandLineRun(
                ["notification", "list", "--json"] + words,
                variables: variables
            )
            #expect(run.code == 0, "\(run.errors)")
            guard case .array(let items) = try JSONReader.read(run.output.utf8) else { return [] }
            return items.compactMap { item in
                guard case .string(let name)? = item["recordName"],
                    case .string(let id)? = item["notificationID"],
                    case .bool(let isRead)? = item["isRead"]
                else { return nil }
                return (name, id, isRead)
            }
        }
        try await save("lund")
        let subscribed = try await cumulus(
            "subscription",
            "save",
            "large",
            "--query",
            "City",
            "--where",
            "people > 5"
        )
        #expect(subscribed.code == 0, "\(subscribed.errors)")
        for name in ["oslo", "lagos"] { try await save(name) }

        let all = try await list()
        #expect(all.map(\.name) == ["oslo", "lagos"])
        #expect(all.allSatisfy { !$0.isRead })
        let read = try await cumulus("notification", "read", all[0].id)
        #expect(read.code == 0 && read.output.contains(all[0].id), "\(read.errors)")
        try await #expect(list().map(\.isRead) == [true, false])
        try await #expect(list("--unread").map(\.name) == ["lagos"])
        let table = try await cumulus("notification", "list")
        #expect(table.code == 0 && table.output.contains("read  \(all[0].id)"), "\(table.output)")

        try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
        node = try await NodeProcess.ready(data: folder.node)
        variables["CUMULUS_ENDPOINT"] = try node.endpoint
        try await #expect(list("--unread").map(\.name) == ["lagos"])
        let rest = try await cumulus("notification", "read", "--all")
        #expect(rest.code == 0, "\(rest.errors)")
        try await #expect(list("--unread").map(\.name) == [])
        try await #expect(list().map(\.isRead) == [true, true])
        #expect(try await cumulus("notification", "read", "12").code == 64)
    }
}
