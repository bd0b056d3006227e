// A node, and migrations into it from services that tests script.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

final class MigrationRig {
    static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Note (
            "___createdBy" REFERENCE QUERYABLE,
            title STRING QUERYABLE, stars INT64 QUERYABLE, photo ASSET,
            GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
        );
        RECORD TYPE Other (
            title STRING, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud"
        );
        RECORD TYPE Users (
            nick STRING, photo ASSET, GRANT WRITE TO "_creator", GRANT READ TO "_world"
        );
        """

    let folder: TestFolder
    let node: NodeProcess
    let admin: NodeOperator
    private let configuration: Container.Configuration

    init() async throws {
        folder = try TestFolder()
        node = try await NodeProcess.ready(data: folder.node)
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        self.configuration = configuration
        admin = NodeOperator(configuration, token: try node.operatorToken)
    }

    func end() async throws {
        await admin.close()
        try await node.end(SIGTERM)
    }

    func state(_ name: String = "state") -> String { "\(folder.path)/\(name).json" }

    /// A migration of the public database, or of a user.
    func migration(
        from service: any SourceTransport,
        of user: String? = "ada",
        isOfUser: Bool = true,
        state: String = "state",
        container: String = "iCloud.org.example",
        keepsOrigin: Bool = true
    ) async throws -> Migration {
        let target = MigrationTarget(
            admin,
            configuration,
            container: NodeProcess.container,
            patience: .seconds(10)
        )
        let address = try SourceAddress(
            base: "https://api.apple-cloudkit.com",
            container: container,
            environment: .production
        )
        let key = SourceCredentials.user(token: "token", api: "api")
        return try await Migration(
            from: SourceClient(address, key, over: service, patience: .seconds(3)),
            into: target,
            state: self.state(state),
            Migration.Options(
                isOfUser: isOfUser,
                user: isOfUser ? user : nil,
                schema: try Schema(ckdb: Self.schema),
                keepsOrigin: keepsOrigin,
                names: [ScriptedService.bob: "bob"]
            ),
            progress: ProgressBar(total: nil, isShown: false)
        )
    }

    /// The titles of public records, by their names.
    func titles() async throws -> [String: String] {
        var titles: [String: String] = [:]
        let records = admin.publicRecords(of: NodeProcess.container, .development)
        for try await record in records where record.recordType == "Note" {
            titles[record.recordID.recordName] = record["title"]?.string ?? ""
        }
        return titles
    }
}
