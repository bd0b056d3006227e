// Nodes that come and go, as processes of one cluster.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct MembershipTests {
    private let folder: TestFolder
    private let key: String

    init() throws {
        folder = try TestFolder()
        key = "\(folder.path)/key"
        let hex = String(repeating: "5a", count: 32)
        try Data(hex.utf8).write(to: URL(filePath: key))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    private func start(
        _ name: String,
        _ arguments: [String] = [],
        beside peer: NodeProcess? = nil
    ) async throws -> NodeProcess {
        var arguments = ["--cluster-key", key, "--log-keep-seconds", "0"] + arguments
        if let peer { arguments += ["--peers", try peer.endpoint] }
        return try await NodeProcess.ready(data: "\(folder.path)/\(name)", arguments: arguments)
    }

    /// Runs the command line as a node's operator.
    private func run(_ words: [String], at node: NodeProcess) async throws -> JSON {
        let run = try await CommandLineRun(
            words + ["--json"],
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        )
        #expect(run.code == 0, "\(run.errors)")
        return try JSONReader.read(run.output.utf8)
    }

    private func states(at node: NodeProcess) async throws -> [String] {
        list(try await run(["cluster", "status"], at: node))
            .compactMap { text(of: "state", $0) }.sorted()
    }

    private func list(_ json: JSON?) -> [JSON] {
        if case .array(let list)? = json { list } else { [] }
    }

    private func text(of key: String, _ json: JSON) -> String? {
        if case .string(let text)? = json[key] { text } else { nil }
    }

    /// What only the leaving node had is on the others before it is gone.
    @Test func aNodeLeavesAndNothingIsLost() async throws {
        let first = try await start("first")
        let token = try await first.makeToken()
        let second = try await start("second", beside: first)
        while try await states(at: second).count < 2 {}
        var configuration = Container.Configuration(endpoints: [try second.endpoint])
        configuration.accessToken = token
        let container = Container(identifier: TestServer.container, configuration: configuration)
        for number in 0..<50 {
            let id = Record.ID(recordName: "n\(number)")
            _ = try await container.privateCloudDatabase.save(
                Record(recordType: "Note", recordID: id)
            )
        }
        _ = try await run(["cluster", "leave"], at: second)
        #expect(try await second.waitForEnd() == .exit(0))
        await container.close()
        #expect(try await states(at: first) == ["removed", "this node"])
        // People see it where they ask for it.
        for (words, isShown) in [([], false), (["--all"], true)] as [([String], Bool)] {
            let table = try await CommandLineRun(
                ["cluster", "status"] + words,
                variables: [
                    "CUMULUS_ENDPOINT": try first.endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": first.operatorTokenFile,
                ]
            )
            #expect(table.output.contains("removed") == isShown, "\(table.output)")
            #expect(table.output.contains(/VERSION +READY/) && table.output.contains(" yes"))
        }
        configuration.endpoints = [try first.endpoint]
        let rest = Container(identifier: TestServer.container, configuration: configuration)
        var count = 0
        for try await _ in rest.privateCloudDatabase.allRecords() { count += 1 }
        await rest.close()
        #expect(count == 50)
        // Nobody is left who could take what the last one has.
        let alone = try await CommandLineRun(
            ["cluster", "leave"],
            variables: [
                "CUMULUS_ENDPOINT": try first.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": first.operatorTokenFile,
            ]
        )
        #expect(alone.code == 1)
        #expect(alone.errors.contains("no other member stays"), "\(alone.errors)")
    }

    /// The log that is kept for a member that is away stays within its bound, and an operator is
    /// told how much it is and when the member will have to take a state.
    ///
    /// Writes for 8 s: the log is to outgrow its bound, which a node looks at each second.
    @Test func aMemberThatIsAwayFillsNoDisk() async throws {
        let limit: UInt64 = 8 << 20
        let first = try await start("first", ["--log-megabytes", "8"])
        let token = try await first.makeToken()
        let second = try await start("second", beside: first)
        while try await states(at: first) != ["connected", "this node"] {}
        #expect(try await second.end(SIGTERM) == .exit(0))
        var configuration = Container.Configuration(endpoints: [try first.endpoint])
        configuration.accessToken = token
        let container = Container(identifier: TestServer.container, configuration: configuration)
        let database = container.privateCloudDatabase
        let end = ContinuousClock.now + .seconds(8)
        async let saved = Self.save(in: database, until: end)
        var largest: UInt64 = 0
        while ContinuousClock.now < end {
            largest = max(largest, try await logBytes(at: first))
            try await Task.sleep(for: .milliseconds(200))
        }
        let sum = try await saved
        print("saved \(sum >> 20) MiB; the log took up to \(largest >> 20) MiB, of 8 allowed")
        #expect(sum > limit)
        // A second's writes come on top of it.
        #expect(largest < limit + sum / 2)
        #expect(try await eventually { try await logBytes(at: first) <= limit })
        let away = list(try await run(["cluster", "status"], at: first))
            .filter { text(of: "state", $0) == "not connected" }
        #expect(away.count == 1)
        #expect(text(of: "stateAfter", away[0]) != nil)
        await container.close()
        #expect(try await first.end(SIGTERM) == .exit(0))
    }

    /// Saves records of 100 kB with eight writers; returns the bytes of all.
    private static func save(
        in database: Database,
        until end: ContinuousClock.Instant
    ) async throws -> UInt64 {
        try await withThrowingTaskGroup(of: UInt64.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    var dice = SeededGenerator(seed: UInt64(writer))
                    var number: UInt64 = 0
                    while ContinuousClock.now < end {
                        let name = "w\(writer)n\(number)"
                        var record = Record(
                            recordType: "Note",
                            recordID: Record.ID(recordName: name)
                        )
                        record["noise"] = .bytes(
                            (0..<100_000).map { _ in UInt8(dice.next() >> 56) }
                        )
                        _ = try await database.save(record)
                        number += 1
                    }
                    return number * 100_000
                }
            }
            return try await group.reduce(0, +)
        }
    }

    private func logBytes(at node: NodeProcess) async throws -> UInt64 {
        guard case .integer(let bytes)? = try await run(["status"], at: node)["logBytes"] else {
            return 0
        }
        return UInt64(clamping: bytes)
    }

    /// What the second one saved is on the first.
    private func startTwoWithANote() async throws -> (first: NodeProcess, second: NodeProcess) {
        let first = try await start("first")
        let token = try await first.makeToken()
        let second = try await start("second", beside: first)
        while try await states(at: first) != ["connected", "this node"] {}
        #expect(try await save("note", at: second, token) == nil)
        while try await names(at: first, token) != ["note"] {}
        return (first, second)
    }

    /// Two nodes compare what they hold, and what nobody has is given up.
    @Test func membersAreComparedAndMarked() async throws {
        let (first, second) = try await startTwoWithANote()
        let other = try #require(text(of: "node", try await run(["status"], at: second)))
        let verdict = try await run(["cluster", "verify", String(other.prefix(12))], at: first)
        #expect(verdict["different"] == .integer(0))
        #expect(verdict["records"] == .integer(1))

        let marked = try await run(["cluster", "truncate-marker", "--yes"], at: first)
        #expect(marked["scopes"] == .integer(3))
        let unsure = try await CommandLineRun(
            ["cluster", "truncate-marker"],
            variables: ["CUMULUS_ENDPOINT": try first.endpoint]
        )
        #expect(unsure.code == 64)
        #expect(unsure.errors.contains("--yes"), "\(unsure.errors)")
    }

    @Test func theStatusTellsHowFarEachMemberHasRead() async throws {
        let (first, second) = try await startTwoWithANote()
        while true {
            let members = list(try await run(["cluster", "status"], at: first))
            let vectors = members.map { list($0["scopes"]).map { $0["vector"] } }
            if vectors[0] == vectors[1], vectors[0].count > 1 {
                // Runs are named as everywhere else.
                let own = text(of: "incarnation", try await run(["status"], at: second)) ?? ""
                #expect(vectors[0].contains { $0?[own] != nil }, "\(vectors)")
                break
            }
        }
        var zones: [JSON] = []
        for node in [first, second] {
            zones.append(try await run(["cluster", "status", "--zones"], at: node))
        }
        #expect(zones[0] == zones[1])
        #expect(list(zones[0]).contains { $0["records"] == .integer(1) }, "\(zones)")
        #expect(try await second.end(SIGKILL) == .signal(SIGKILL))
        while try await states(at: first) != ["not connected", "this node"] {}
    }

    /// Nothing is lost that either of them takes, and nobody counts both as one.
    @Test func aCopiedDataDirectoryIsNoticed() async throws {
        let first = try await start("first")
        let token = try await first.makeToken()
        var second = try await start("second", beside: first)
        while try await states(at: second) != ["connected", "this node"] {}
        #expect(try await second.end(SIGTERM) == .exit(0))
        let (data, copied) = ("\(folder.path)/second", "\(folder.path)/copy")
        try FileManager.default.copyItem(atPath: data, toPath: copied)
        second = try await start("second", beside: first)
        while try await states(at: second) != ["connected", "this node"] {}
        let copy = try await start("copy", beside: first)
        while try await states(at: first) != ["this node", "two processes"] {}
        while text(of: "state", try await run(["status"], at: copy)) != "id in use" {}
        #expect(copy.errors.contains("its data directory was copied"), "\(copy.errors)")
        #expect(try await save("refused", at: copy, token)?.reason == .nodeIDInUse)
        #expect(try await save("taken", at: second, token) == nil)
        // The operator chooses which of the two stays.
        #expect(try await second.end(SIGTERM) == .exit(0))
        while try await states(at: copy) != ["connected", "this node"] {}
        #expect(try await save("later", at: copy, token) == nil)
        // A copy that is made a node of its own is welcome.
        let own = try await NodeProcess.ready(
            data: "\(folder.path)/own",
            arguments: [
                "--cluster-key", key, "--from-backup", data, "--peers", try first.endpoint,
            ]
        )
        while try await states(at: own).count < 3 {}
        for node in [first, own] {
            while try await names(at: node, token) != ["later", "taken"] {}
        }
    }

    private func container(_ node: NodeProcess, _ token: String) throws -> Container {
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.accessToken = token
        configuration.timeout = .seconds(2)
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// Saves a record; returns why it was refused.
    private func save(_ name: String, at node: NodeProcess, _ token: String) async throws
        -> ServiceError?
    {
        let container = try container(node, token)
        let record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        var refusal: ServiceError?
        do {
            _ = try await container.privateCloudDatabase.save(record)
        } catch let error as ServiceError {
            refusal = error
        }
        await container.close()
        return refusal
    }

    private func names(at node: NodeProcess, _ token: String) async throws -> Set<String> {
        let container = try container(node, token)
        var names: Set<String> = []
        for try await record in container.privateCloudDatabase.allRecords() {
            names.insert(record.recordID.recordName)
        }
        await container.close()
        return names
    }

    /// Both take no writes meanwhile: what can't work ends soon, for one of them.
    @Test func whenTheLastTwoLeaveAtOnceOneStays() async throws {
        let first = try await start("first")
        let second = try await start("second", beside: first)
        for node in [first, second] { while try await states(at: node).count < 2 {} }
        func leave(_ node: NodeProcess) async throws -> CommandLineRun {
            try await CommandLineRun(
                ["cluster", "leave"],
                variables: [
                    "CUMULUS_ENDPOINT": try node.endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
                ]
            )
        }
        let began = ContinuousClock.now
        async let one = leave(first)
        async let other = leave(second)
        let runs = try await [one, other]
        #expect(ContinuousClock.now - began < .seconds(30))
        #expect(runs.map(\.code).sorted() == [0, 1], "\(runs.map(\.errors))")
        let stays = runs[0].code == 0 ? second : first
        let leaves = runs[0].code == 0 ? first : second
        #expect(try await leaves.waitForEnd() == .exit(0))
        // The settings of the second node still name the first one's address.
        let states = try await states(at: stays).filter { $0 != "not reached" }
        #expect(states == ["removed", "this node"])
        let container = try await stays.signIn(timeout: .seconds(5))
        let id = Record.ID(recordName: "after")
        _ = try await container.privateCloudDatabase.save(
            Record(recordType: "Note", recordID: id)
        )
        await container.close()
    }

    @Test func aKeyIsMadeOnce() async throws {
        let file = "\(folder.path)/made.key"
        let made = try await CommandLineRun(["cluster", "init", file], variables: [:])
        #expect(made.code == 0, "\(made.errors)")
        let key = try Data(contentsOf: URL(filePath: file))
        let again = try await CommandLineRun(["cluster", "init", file], variables: [:])
        #expect(again.code == 65)
        #expect(try Data(contentsOf: URL(filePath: file)) == key)
        let node = try await NodeProcess.ready(
            data: "\(folder.path)/keyed",
            arguments: ["--cluster-key", file]
        )
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    @Test func aNodeJoinsWithTheSettingsThatWereMade() async throws {
        let first = try await start("first")
        let second = try await start("second", beside: first)
        while try await states(at: first).count < 2 {}
        let file = "\(folder.path)/third.json"
        let join = [
            "cluster", "join", file, "--cluster-key", key, "--data", "\(folder.path)/third",
        ]
        let made = try await run(join + ["--listen", "127.0.0.1:0"], at: first)
        let peers: [JSON] = [.string(try first.endpoint), .string(try second.endpoint)]
        #expect(made["peers"] == .array(peers))
        let third = try await NodeProcess.ready(
            data: "\(folder.path)/third",
            arguments: ["--config", file]
        )
        while try await states(at: third) != ["connected", "connected", "this node"] {}
        let otherKey = "\(folder.path)/other.key"
        try Data(String(repeating: "a5", count: 32).utf8).write(to: URL(filePath: otherKey))
        let unfit = [
            ([], "exists", 65), (["--listen", try second.endpoint], "listens on", 65),
            (["--listen", "here:x"], "is no address; write host", 64),
            (["--listen", "0.0.0.0:7420"], "--advertise", 64),
            (["--advertise", "here:x"], "is no address; write host", 64),
            (["--cluster-key", file], "64 hexadecimal digits", 65),
            (["--cluster-key", otherKey], "not the key of that member's cluster", 65),
        ]
        for (extra, words, code) in unfit {
            let path = extra.isEmpty ? file : "\(folder.path)/fourth.json"
            let again = try await CommandLineRun(
                join.map { $0 == file ? path : $0 } + extra,
                variables: [
                    "CUMULUS_ENDPOINT": try first.endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": first.operatorTokenFile,
                ]
            )
            #expect(again.code == Int32(code))
            #expect(again.errors.contains(words), "\(again.errors)")
        }
    }

    /// Both sides say which files to compare; once, however often it is tried.
    @Test func aNodeWithAnotherKeyIsNamedOnce() async throws {
        let first = try await start("first")
        var hello = Hello()
        hello.role = WireRole.peer.rawValue
        hello.endpoint = "elsewhere:7420"
        for _ in 0..<3 {
            let client = try RawClient(try first.endpoint)
            try client.send(RawClient.greeting(hello))
            #expect(try client.refusal()?.code == .notAuthenticated)
        }
        let warnings = first.errors.split(separator: "\n").filter { $0.contains("elsewhere") }
        #expect(warnings.count == 1, "\(first.errors)")
        #expect(warnings.first?.contains("warning") == true, "\(first.errors)")
        #expect(warnings.first?.contains("--cluster-key") == true, "\(first.errors)")
        let stranger = try await NodeProcess.ready(
            data: "\(folder.path)/stranger",
            arguments: ["--peers", try first.endpoint]
        )
        while !stranger.errors.contains("a peer refuses this node") {
            try await Task.sleep(for: .milliseconds(10))
        }
        let endpoint = try stranger.endpoint
        #expect(first.errors.contains(endpoint), "\(first.errors)")
    }

    /// The removed node's process ends, and stays down; without its data it is a new member.
    @Test func aRemovedNodeEndsAndComesBackAsANewOne() async throws {
        let first = try await start("first")
        let second = try await start("second", beside: first)
        while try await states(at: first).count < 2 {}
        let status = try await run(["status"], at: second)
        let nodeID = try #require(text(of: "node", status))
        let remove = ["cluster", "remove", String(nodeID.prefix(12))]
        // It is up, and could leave; itself it is never asked to remove.
        let refusals = [(first, remove, 65), (second, remove + ["--force"], 1)]
        for (node, words, code) in refusals {
            let refused = try await CommandLineRun(
                words,
                variables: [
                    "CUMULUS_ENDPOINT": try node.endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
                ]
            )
            #expect(refused.code == code, "\(refused.errors)")
            let hint = code == 65 ? "cluster leave" : "ask another node"
            #expect(refused.errors.contains(hint), "\(refused.errors)")
        }
        #expect(try await states(at: first).count == 2)
        _ = try await run(remove + ["--force"], at: first)
        #expect(try await second.waitForEnd() == .exit(70))
        #expect(second.errors.contains("took this node off the cluster's list"))
        let rest = try await states(at: first)
        #expect(rest == ["removed", "this node"], "\(rest)")
        let again = try NodeProcess(
            data: "\(folder.path)/second",
            arguments: ["--cluster-key", key, "--peers", try first.endpoint]
        )
        #expect(try await again.waitForEnd() == .exit(70))
        let third = try await start("third", beside: first)
        while try await states(at: third) != ["connected", "removed", "this node"] {}
    }

    /// What only a removed node had can be read where it was, and goes nowhere by itself.
    @Test func whatARemovedNodeHadCanBeSalvaged() async throws {
        let first = try await start("first")
        let token = try await first.makeToken()
        let second = try await start("second", beside: first)
        let unsent = Record.ID(recordName: "unsent")
        func use(
            _ node: NodeProcess,
            _ body: (Database) async throws -> Void
        ) async throws {
            var configuration = Container.Configuration(endpoints: [try node.endpoint])
            configuration.accessToken = token
            let container = Container(
                identifier: TestServer.container,
                configuration: configuration
            )
            try await body(container.privateCloudDatabase)
            await container.close()
        }
        let knowsUser = try await eventually {
            (try? await use(second) { _ = try await $0.allRecordZones() }) != nil
        }
        #expect(knowsUser)
        _ = try await first.end(SIGKILL)
        try await use(second) {
            _ = try await $0.save(Record(recordType: "Note", recordID: unsent))
        }
        let status = try await run(["status"], at: second)
        let nodeID = try #require(text(of: "node", status))
        _ = try await second.end(SIGTERM)
        let again = try await start("first")
        _ = try await run(["cluster", "remove", String(nodeID.prefix(12))], at: again)

        let old = try await NodeProcess.ready(
            data: "\(folder.path)/second",
            arguments: ["--cluster-key", key, "--peers", try again.endpoint, "--read-only"]
        )
        let shown = try await run(["status"], at: old)
        #expect(text(of: "state", shown) == "read-only")
        for words in [["cluster", "leave"], ["index", "rebuild"]] {
            let refused = try await CommandLineRun(
                words,
                variables: [
                    "CUMULUS_ENDPOINT": try old.endpoint,
                    "CUMULUS_OPERATOR_TOKEN_FILE": old.operatorTokenFile,
                ]
            )
            #expect(refused.code == 1)
            #expect(refused.errors.contains("--read-only"), "\(refused.errors)")
        }
        try await use(old) { database in
            let found = try await database.record(for: unsent)
            #expect(found.recordID == unsent)
            let error = await #expect(throws: ServiceError.self) {
                _ = try await database.save(Record(recordType: "Note", recordID: unsent))
            }
            #expect(error?.code == .permissionFailure)
            #expect(error?.message.contains("--read-only") == true)
        }
        // An operator may let somebody look.
        let admin = NodeOperator(endpoint: try old.endpoint, token: try old.operatorToken)
        _ = try await admin.addToken(forUser: "ada")
        await admin.close()
        #expect(try await states(at: again) == ["removed", "this node"])
        try await use(again) { database in
            await #expect(throws: ServiceError.self) { _ = try await database.record(for: unsent) }
        }
        #expect(try await old.end(SIGTERM) == .exit(0))
    }

    @Test func thereHasToBeAStoreToShow() async throws {
        let node = try NodeProcess(data: "\(folder.path)/none", arguments: ["--read-only"])
        #expect(try await node.waitForEnd() == .exit(1))
        #expect(node.errors.contains("there is no store"), "\(node.errors)")
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/none"))
    }
}
