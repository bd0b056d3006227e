// `cumulus subscription` with a real node: saved subscriptions are listed, survive a kill, and are
// deleted.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct SubscriptionTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func list(_ variables: [String: String]) async throws -> [JSON] {
        let run = try await CommandLineRun(
            ["subscription", "list", "--json"],
            variables: variables
        )
        #expect(run.code == 0, "\(run.errors)")
        guard case .array(let subscriptions) = try JSONReader.read(run.output.utf8) else {
            return []
        }
        return subscriptions
    }

    @Test func aSubscriptionIsSavedListedAndDeleted() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        var variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "private",
        ]
        func cumulus(_ words: String...) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables)
        }
        let city = ["record", "save", "City", "oslo", "--json-fields", #"{"people": 700000}"#]
        #expect(try await CommandLineRun(city, variables: variables).code == 0)
        let large = [
            "subscription", "save", "large", "--query", "City", "--where", "people IN {2, 1}",
            "--on", "create", "--title", "New", "--keys", "people", "--json",
        ]
        let saved = try await CommandLineRun(large, variables: variables)
        #expect(saved.code == 0, "\(saved.errors)")
        #expect(try await cumulus("zone", "create", "Trips").code == 0)
        let trips = ["subscription", "save", "trips", "--zone", "Trips", "--content-available"]
        let table = try await CommandLineRun(trips, variables: variables)
        #expect(table.code == 0 && table.output.contains("zone Trips"), "\(table.errors)")

        let twin = try await cumulus(
            "subscription",
            "save",
            "twin",
            "--query",
            "City",
            "--where",
            "people IN {1, 2}",
            "--on",
            "create"
        )
        #expect(twin.code == 1)
        #expect(twin.errors.contains("subscription is duplicate of 'large': use that one"))

        // The node has no file of webhooks.
        let hook = try await cumulus("subscription", "save", "hook", "--webhook", "orders")
        #expect(hook.code == 1)
        #expect(hook.errors.contains("no webhook 'orders' is registered"), "\(hook.errors)")

        // Acknowledged changes are on the disk.
        try await node.end(SIGKILL)
        let again = try await NodeProcess.ready(data: folder.node)
        variables["CUMULUS_ENDPOINT"] = try again.endpoint
        let listed = try await list(variables)
        #expect(
            listed == [
                [
                    "subscriptionID": "large", "subscriptionType": "query", "recordType": "City",
                    "predicate": "people IN {1, 2}", "firesOn": .array(["create"]),
                    "allowsExtensions": .bool(false),
                    "notificationInfo": ["title": "New", "desiredKeys": .array(["people"])],
                ],
                [
                    "subscriptionID": "trips", "subscriptionType": "zone", "zoneName": "Trips",
                    "notificationInfo": ["shouldSendContentAvailable": .bool(true)],
                ],
            ]
        )
        let deleted = try await cumulus("subscription", "delete", "large", "never")
        #expect(deleted.code == 1)
        #expect(deleted.output.contains("large") && !deleted.output.contains("never"))
        #expect(deleted.errors.contains("Subscription 'never' does not exist"))
        #expect(try await list(variables).map { $0["subscriptionID"] } == ["trips"])
        try await again.end(SIGTERM)
    }
}
