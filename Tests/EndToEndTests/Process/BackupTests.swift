// Backups of real nodes: made under load, gone back to in a cluster, and the start of new nodes.

import Cumulus
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct BackupTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func start(
        _ name: String,
        port: Int = 0,
        _ arguments: [String] = []
    ) async throws -> NodeProcess {
        try await NodeProcess.ready(data: path(name), port: port, arguments: arguments)
    }

    /// Runs the command line as a node's operator.
    private func run(_ words: [String], at node: NodeProcess) async throws -> CommandLineRun {
        try await CommandLineRun(
            words,
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
    }

    private func backUp(_ node: NodeProcess, to name: String) async throws {
        let run = try await run(["backup", path(name), "--json"], at: node)
        #expect(run.code == 0, "\(run.errors)")
        let files = try JSONReader.read(run.output.utf8)["files"]
        #expect(files != .integer(0))
    }

    private func container(_ node: NodeProcess, _ token: String) throws -> Container {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = token
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    private func save(_ names: Range<Int>, at node: NodeProcess, _ token: String) async throws {
        let container = try container(node, token)
        for number in names {
            let id = Record.ID(recordName: "n\(number)")
            try await container.privateCloudDatabase
                .save(Record(recordType: "Note", recordID: id))
        }
        await container.close()
    }

    private func count(at node: NodeProcess, _ token: String) async throws -> Int {
        let container = try container(node, token)
        var count = 0
        for try await _ in container.privateCloudDatabase.allRecords() { count += 1 }
        await container.close()
        return count
    }

    private func waitFor(_ wanted: Int, at node: NodeProcess, _ token: String) async throws {
        for _ in 0..<1_000 {
            if try await count(at: node, token) == wanted { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try await count(at: node, token) == wanted)
    }

    /// A backup holds everything that was acknowledged before it began; writers don't notice.
    @Test func aBackupHoldsWhatWasAcknowledged() async throws {
        let node = try await start("node")
        let token = try await node.makeToken()
        try await save(0..<50, at: node, token)
        async let more: Void = save(50..<200, at: node, token)
        try await backUp(node, to: "backup")
        try await more
        #expect(try await node.end(SIGTERM) == .exit(0))
        let restored = try await start("backup")
        let found = try await count(at: restored, token)
        #expect((50...200).contains(found))
        try await save(200..<210, at: restored, token)
        #expect(try await count(at: restored, token) == found + 10)
    }

    @Test func aBackupIsRefusedWhereItCantBe() async throws {
        let node = try await start("node")
        for place in ["relative", path("node"), path("nowhere/deeper")] {
            let run = try await run(["backup", place], at: node)
            #expect(run.code == 1)
            #expect(run.errors.contains("no backup was made"), "\(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: path("nowhere")))
        // By whichever way.
        try FileManager.default.createSymbolicLink(
            atPath: path("link"),
            withDestinationPath: path("node/assets")
        )
        for place in ["node/backup", "node/store/backup/", "link/backup"] {
            let run = try await run(["backup", path(place)], at: node)
            #expect(run.code == 1)
            #expect(run.errors.contains("the node's own data directory"), "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: path(place)))
        }
        // The name only begins like the data directory's.
        try await backUp(node, to: "node-backup")
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    /// As a shell completes it.
    @Test func aSlashAtTheEndIsNoPartOfTheName() async throws {
        let node = try await start("node")
        try await backUp(node, to: "backup//")
        #expect(FileManager.default.fileExists(atPath: path("backup/store/CURRENT")))
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isPermitted, "only root can mount a disk"))
        func aBackupToAFullDiskSaysSo() async throws {
            let node = try await start("node")
            let disk = try SmallDisk(path("disk"), bytes: 8 << 20)
            // Enough for a directory, and not for the store.
            try disk.fill(leaving: 16 << 10)
            let run = try await run(["backup", path("disk/backup")], at: node)
            #expect(run.code == 1)
            let words = "the disk of \(path("disk/backup")) is full"
            #expect(run.errors.contains(words), "\(run.errors)")
            let left = try FileManager.default.contentsOfDirectory(atPath: disk.path)
            #expect(!left.contains { $0.hasPrefix("backup") }, "\(left)")
            #expect(try await node.end(SIGTERM) == .exit(0))
        }
    #endif

    /// Its own lost commits come back from the others, and new ones don't collide with them.
    @Test func aNodeGoesBackToAnOldBackup() async throws {
        let first = try await start("first", port: TestPort.free())
        let key = ["--cluster-key", path("first/cluster.key")]
        let token = try await first.makeToken()
        let second = try await start("second", key + ["--peers", try first.endpoint])
        try await save(0..<20, at: first, token)
        try await backUp(first, to: "backup")
        try await save(20..<60, at: first, token)
        try await waitFor(60, at: second, token)
        try await first.end(SIGKILL)
        try FileManager.default.removeItem(atPath: path("first"))
        try FileManager.default.moveItem(atPath: path("backup"), toPath: path("first"))
        let again = try await start(
            "first",
            port: try first.port,
            ["--peers", try second.endpoint]
        )
        try await save(60..<80, at: again, token)
        for node in [again, second] { try await waitFor(80, at: node, token) }
        #expect(try await digests(again) == digests(second))
    }

    @Test func aNewNodeBeginsWithABackup() async throws {
        let first = try await start("first")
        let token = try await first.makeToken()
        try await save(0..<20, at: first, token)
        try await backUp(first, to: "backup")
        try await save(20..<30, at: first, token)
        let second = try await start(
            "second",
            ["--from-backup", path("backup"), "--peers", try first.endpoint]
        )
        try await save(30..<40, at: second, token)
        for node in [first, second] { try await waitFor(40, at: node, token) }
        #expect(try await digests(first) == digests(second))
        let nodes = try await [first, second].asyncMap { try await status($0)["node"] }
        #expect(nodes[0] != nodes[1])
        // With a store the backup means nothing any more.
        try await second.end(SIGKILL)
        let again = try await start(
            "second",
            ["--from-backup", path("nowhere"), "--peers", try first.endpoint]
        )
        #expect(try await count(at: again, token) == 40)
    }

    /// A directory without a store may hold what somebody still needs.
    @Test(arguments: ["assets", "operator.token", "notes"])
    func aBackupIsRestoredOverNothing(name: String) async throws {
        let first = try await start("first")
        try await backUp(first, to: "backup")
        let kept = path("second/\(name)/0/0.pack")
        let folder = URL(filePath: kept).deletingLastPathComponent().path()
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        try "kept".write(toFile: kept, atomically: false, encoding: .utf8)
        let second = try NodeProcess(
            data: path("second"),
            arguments: ["--from-backup", path("backup")]
        )
        #expect(try await second.waitForEnd() == .exit(1))
        #expect(second.errors.contains("is not empty (\(name))"), "\(second.errors)")
        #expect(try String(contentsOfFile: kept, encoding: .utf8) == "kept")
        let names = try FileManager.default.contentsOfDirectory(atPath: path("second"))
        #expect(names == [name])
    }

    /// A key that was put there, and what a restore left that was killed.
    @Test func aBackupIsRestoredBesideAKey() async throws {
        let first = try await start("first")
        let token = try await first.makeToken()
        try await save(0..<5, at: first, token)
        try await backUp(first, to: "backup")
        for left in ["store.cumulus-partial", "assets.cumulus-partial", "assets"] {
            try FileManager.default.createDirectory(
                atPath: path("second/\(left)/0"),
                withIntermediateDirectories: true
            )
        }
        // It had its packs, and not its store.
        try "".write(
            toFile: path("second/restore.cumulus-partial"),
            atomically: false,
            encoding: .utf8
        )
        try FileManager.default.copyItem(
            atPath: path("first/cluster.key"),
            toPath: path("second/cluster.key")
        )
        let second = try await start("second", ["--from-backup", path("backup")])
        #expect(try await count(at: second, token) == 5)
        let names = try FileManager.default.contentsOfDirectory(atPath: path("second"))
        #expect(!names.contains { $0.hasSuffix(".cumulus-partial") }, "\(names)")
    }

    /// A node began empty there without a word, and its operator missed all records.
    @Test(
        arguments: [
            (["backup.cumulus-partial/store"], "backup.cumulus-partial"),
            (["backup.cumulus-partial"], "backup.cumulus-partial/"),
            (["backup.cumulus-partial"], "backup"),
            (["backup.cumulus-partial", "backup"], "backup"),
            (["backup/store.cumulus-partial"], "backup"),
        ]
    )
    func whatWasNotFinishedIsNoNode(left: [String], data: String) async throws {
        for name in left {
            try FileManager.default.createDirectory(
                atPath: path(name),
                withIntermediateDirectories: true
            )
        }
        let before = try names()
        let node = try NodeProcess(data: path(data))
        #expect(try await node.waitForEnd() == .exit(1))
        #expect(node.errors.contains("not finished"), "\(node.errors)")
        #expect(try names() == before)
    }

    /// All that is in the folder, without what processes said.
    private func names() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { !$0.hasSuffix(".out") && !$0.hasSuffix(".err") }.sorted()
    }

    @Test func aBackupThatWasNotFinishedIsNotRestored() async throws {
        let draft = path("backup.cumulus-partial")
        try FileManager.default.createDirectory(
            atPath: draft + "/store",
            withIntermediateDirectories: true
        )
        try "".write(toFile: draft + "/store/CURRENT", atomically: false, encoding: .utf8)
        let node = try NodeProcess(data: path("node"), arguments: ["--from-backup", draft])
        #expect(try await node.waitForEnd() == .exit(1))
        #expect(node.errors.contains("not finished"), "\(node.errors)")
        // What it says helps: without the draft a node begins.
        try FileManager.default.removeItem(atPath: draft)
        let other = try await start("node")
        #expect(try await other.end(SIGTERM) == .exit(0))
    }

    private func status(_ node: NodeProcess) async throws -> JSON {
        let run = try await run(["status", "--json"], at: node)
        return try JSONReader.read(run.output.utf8)
    }

    private func digests(_ node: NodeProcess) async throws -> JSON? {
        try await status(node)["scopes"]
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(
        _ transform: (Element) async throws -> Value
    ) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
