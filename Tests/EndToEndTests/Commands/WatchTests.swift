// `cumulus watch` with a cluster of real processes: it shows at one node what is saved at another,
// and goes on at a third one when its node is killed.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    private let cluster: FaultCluster
    private let folder: TestFolder

    init() throws {
        cluster = try FaultCluster(3)
        folder = try TestFolder()
    }

    private var output: String { "\(folder.path)/out" }
    private var tokenFile: String { "\(folder.path)/feed.token" }

    /// `cumulus watch` of the nodes' user, at the second node or at the third.
    private func watch() throws -> ChildProcess {
        let endpoints = try cluster.nodes[1...].map { try $0.endpoint }
        return try ChildProcess(
            [
                try ChildProcess.builtProgram("cumulus"), "watch", "--json", "--since",
                tokenFile,
            ],
            variables: [
                "CUMULUS_ENDPOINT": endpoints.joined(separator: ","),
                "CUMULUS_TOKEN": cluster.token,
            ],
            output: output,
            errors: "\(folder.path)/err"
        )
    }

    private func save(_ name: String, _ population: Int64, at number: Int) async throws {
        let container = try cluster.container(number)
        var city = Record(recordType: "City", recordID: Record.ID(recordName: name))
        city["population"] = .int64(population)
        let results = try await container.privateCloudDatabase.modifyRecords(
            saving: [city],
            deleting: [],
            savePolicy: .changedKeys
        )
        _ = try results.saveResults[city.recordID]?.get()
        await container.close()
    }

    /// The cities that were shown, and whether they entered or left.
    private func shown() throws -> [String] {
        let text = try String(contentsOfFile: output, encoding: .utf8)
        return try text.split(separator: "\n").compactMap { line in
            let item = try JSONReader.read(line.utf8)
            guard case .string(let name)? = item["recordName"],
                case .string(let transition)? = item["transition"]
            else { return nil }
            return "\(name) \(transition)"
        }
    }

    /// What different nodes saved comes in either order.
    private func isShown(_ cities: String...) async throws -> Bool {
        try await eventually(seconds: 30) { try shown().sorted() == cities.sorted() }
    }

    @Test func aSaveAtAnotherNodeIsShown() async throws {
        try await cluster.use {
            try await cluster.start()
            let container = try cluster.container(0)
            let large = Subscription(
                id: "large",
                kind: .query(recordType: "City", predicate: .field("population") > Int64(5_000_000))
            )
            try await save("Oslo", 700_000, at: 0)
            _ = try await container.privateCloudDatabase.save(large)
            await container.close()
            // Each node is to know of it: what happened before is no news.
            for number in 1...2 {
                let other = try cluster.container(number)
                let isKnown = try await eventually {
                    try await other.privateCloudDatabase.allSubscriptions().count == 1
                }
                #expect(isKnown)
                await other.close()
            }
            let watch = try watch()
            #expect(try await eventually { FileManager.default.fileExists(atPath: tokenFile) })
            try await save("Lagos", 15_388_000, at: 0)
            #expect(try await isShown("Lagos entered"))
            try await cluster.nodes[1].end(SIGKILL)
            try await save("Lagos", 4_000_000, at: 0)
            try await save("Cairo", 10_000_000, at: 2)
            #expect(try await isShown("Lagos entered", "Lagos left", "Cairo entered"))
            watch.kill(SIGINT)
            #expect(try await watch.waitForEnd(seconds: 20) == .exit(0))
            // The file carries the token to the next run.
            try await save("Delhi", 16_000_000, at: 0)
            let variables = [
                "CUMULUS_ENDPOINT": try cluster.nodes[2].endpoint, "CUMULUS_TOKEN": cluster.token,
            ]
            let arrived = try await eventually {
                let words = ["watch", "--json", "--since", tokenFile, "--once"]
                let run = try await CommandLineRun(words, variables: variables)
                return run.code == 0 && run.output.contains("Delhi")
            }
            #expect(arrived)
        }
    }

    /// With one node only there is no other one to go on at: about 5 s.
    @Test func aWatchOutlivesItsOnlyNode() async throws {
        var node = try await NodeProcess.ready(data: folder.node, port: TestPort.free())
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
        ]
        func cumulus(_ words: String...) async throws {
            let run = try await CommandLineRun(words, variables: variables)
            #expect(run.code == 0, "\(words): \(run.errors)")
        }
        try await cumulus("record", "save", "City", "Rome", "--field", "name=Rome")
        let name = "name BEGINSWITH 'O'"
        try await cumulus("subscription", "save", "cities", "--query", "City", "--where", name)
        let errors = "\(folder.path)/err"
        let program = try ChildProcess.builtProgram("cumulus")
        let watch = try ChildProcess(
            [program, "watch", "--json", "--timeout", "1"],
            variables: variables,
            output: output,
            errors: errors
        )
        func holds(_ file: String, _ text: String) async throws -> Bool {
            try await eventually(seconds: 20) {
                try String(contentsOfFile: file, encoding: .utf8).contains(text)
            }
        }
        #expect(try await holds(output, "upToDate"))
        try await node.end(SIGKILL)
        #expect(try await holds(errors, "trying again until a node can be reached"))
        node = try await NodeProcess.ready(data: folder.node, port: node.port)
        try await cumulus("record", "save", "City", "Oslo", "--field", "name=Oslo")
        #expect(try await holds(output, "Oslo"))
        let told = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(told.split(separator: "\n").count == 1, "\(told)")
        watch.kill(SIGINT)
        #expect(try await watch.waitForEnd(seconds: 20) == .exit(0))
        #expect(try await node.end(SIGTERM) == .exit(0))
    }
}
