// What becomes of each token that callers keep: at a node that went back to a backup, at another
// cluster, and where the node is gone that made it.
//
// The table in the article Guarantees says the same. Nodes start and end one after the other, and
// look each second which others there are: that takes more than 5 seconds.
//
// Folder: what callers keep. Read `KeptTokenTests`, then `KeptTokens` and `WebCaller`.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct KeptTokenTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try Data(WebCaller.apps.utf8).write(to: URL(filePath: path("apps.json")))
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func start(_ name: String, _ arguments: [String] = []) async throws -> NodeProcess {
        let web = [
            "--http", "127.0.0.1:0", "--web-apps", path("apps.json"), "--web-host", "node",
            "--web-url", "http://127.0.0.1:1",
        ]
        return try await NodeProcess.ready(data: path(name), arguments: web + arguments)
    }

    /// Makes the user Ada, the schema and a zone; returns an access token of hers.
    @discardableResult
    private func prepare(_ node: NodeProcess) async throws -> String {
        let admin = try admin(of: node)
        _ = try await admin.addUser("ada", in: nil)
        try await admin.setPassword(of: "ada", to: KeptTokens.password)
        _ = try await admin.importSchema(KeptTokens.schema, of: NodeProcess.container, .development)
        await admin.close()
        let token = try await node.makeToken()
        let container = try await node.signIn(token: token)
        try await container.privateCloudDatabase.save(RecordZone(zoneID: KeptTokens.zone))
        let kind = Subscription.Kind.query(recordType: "Note", predicate: .all)
        try await container.privateCloudDatabase.save(Subscription(id: "notes", kind: kind))
        await container.close()
        return token
    }

    private func admin(of node: NodeProcess) throws -> NodeOperator {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        return NodeOperator(configuration, token: try node.operatorToken)
    }

    private func run(_ words: [String], at node: NodeProcess) async throws {
        let run = try await CommandLineRun(
            words,
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        #expect(run.code == 0, "\(run.errors)")
    }

    /// The node is the only one of its cluster, or the first of several after an operator has
    /// marked what the backup lacks as lost.
    @Test(arguments: [false, true])
    func ofANodeThatWentBackToABackup(hasOthers: Bool) async throws {
        let node = try await start("node")
        try await prepare(node)
        let web = try await WebCaller.signIn(at: node)
        let older = try await KeptTokens.make("older", at: node, web)
        try await run(["backup", path("backup")], at: node)
        let newer = try await KeptTokens.make("newer", at: node, web)
        #expect(try await node.end(SIGTERM) == .exit(0))
        try FileManager.default.removeItem(atPath: path("node"))
        try FileManager.default.moveItem(atPath: path("backup"), toPath: path("node"))

        let restored = try await start("node")
        if hasOthers {
            let key = ["--cluster-key", path("node/cluster.key")]
            let other = try await start("other", key + ["--peers", try restored.endpoint])
            try await run(["cluster", "truncate-marker", "--yes"], at: restored)
            // It is a member, and can't be asked.
            #expect(try await other.end(SIGTERM) == .exit(0))
        }
        let outcomes = try await older.outcomes(at: restored)
        #expect(outcomes == KeptTokens.Outcomes(goingOn: true), "\(outcomes)")
        var lost = KeptTokens.Outcomes(goingOn: true)
        lost.feed = "reset"
        lost.changes = "changeTokenExpired"
        lost.databaseChanges = "changeTokenExpired"
        lost.cursor = "invalidArguments"
        // Another node may have the file, as long as it was not asked.
        lost.receipt = hasOthers ? "TRY_AGAIN_LATER" : "BAD_REQUEST"
        lost.session = "notAuthenticated"
        lost.share = "unknownItem"
        let newerOutcomes = try await newer.outcomes(at: restored)
        #expect(newerOutcomes == lost, "\(newerOutcomes)")
        #expect(try await restored.end(SIGTERM) == .exit(0))
    }

    @Test func ofAnotherCluster() async throws {
        let (node, other) = (try await start("node"), try await start("other"))
        for node in [node, other] { try await prepare(node) }
        let kept = try await KeptTokens.make(
            "kept",
            at: other,
            try await WebCaller.signIn(at: other)
        )
        var foreign = KeptTokens.Outcomes(goingOn: false)
        foreign.feed = "changeTokenExpired"
        foreign.changes = "changeTokenExpired"
        foreign.databaseChanges = "changeTokenExpired"
        foreign.cursor = "invalidArguments"
        foreign.causal = "invalidArguments"
        foreign.courier = "404"
        foreign.receipt = "BAD_REQUEST"
        foreign.session = "notAuthenticated"
        foreign.share = "unknownItem"
        let outcomes = try await kept.outcomes(at: node)
        #expect(outcomes == foreign, "\(outcomes)")
        for node in [node, other] { #expect(try await node.end(SIGTERM) == .exit(0)) }
    }

    /// A file that no record names goes with the node to which it was uploaded.
    @Test func ofANodeThatIsGone() async throws {
        let node = try await start("node")
        let token = try await prepare(node)
        let key = ["--cluster-key", path("node/cluster.key")]
        let gone = try await start("gone", key + ["--peers", try node.endpoint])
        let hasHeard = try await eventually {
            let container = try await gone.signIn(token: token, timeout: .seconds(1))
            let zones = try? await container.privateCloudDatabase.allRecordZones()
            await container.close()
            return zones?.contains { $0.zoneID == KeptTokens.zone } == true
        }
        #expect(hasHeard)
        let kept = try await KeptTokens.make("kept", at: gone, try await WebCaller.signIn(at: gone))
        try await run(["cluster", "leave"], at: gone)
        #expect(try await gone.waitForEnd() == .exit(0))
        var all = KeptTokens.Outcomes(goingOn: true)
        all.receipt = "BAD_REQUEST"
        let outcomes = try await kept.outcomes(at: node)
        #expect(outcomes == all, "\(outcomes)")
        #expect(try await node.end(SIGTERM) == .exit(0))
    }
}
