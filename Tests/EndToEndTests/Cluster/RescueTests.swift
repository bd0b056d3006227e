// Commits that only a removed node had come back from its directory, also if the command or a node
// is killed meanwhile.

#if os(Linux)
    import Cumulus
    import CumulusModel
    import CumulusTerminal
    import CumulusTesting
    import Foundation
    import Testing

    @Suite(.timeLimit(.minutes(2))) struct RescueTests {
        private let folder: TestFolder
        private let key: String
        private static let notes = 24
        private static let counter = Record.ID(recordName: "counter")

        init() throws {
            folder = try TestFolder()
            key = "\(folder.path)/key"
            try Data(String(repeating: "5a", count: 32).utf8).write(to: URL(filePath: key))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        }

        // MARK: Parts

        private func start(
            _ name: String,
            port: Int = 0,
            beside peer: NodeProcess? = nil,
            environment: [String: String] = [:]
        ) async throws -> NodeProcess {
            var arguments = ["--cluster-key", key, "--log-keep-seconds", "0"]
            if let peer { arguments += ["--peers", try peer.endpoint] }
            return try await NodeProcess.ready(
                data: "\(folder.path)/\(name)",
                port: port,
                arguments: arguments,
                environment: environment
            )
        }

        private func variables(_ node: NodeProcess) throws -> [String: String] {
            [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
            ]
        }

        private func run(_ words: [String], at node: NodeProcess) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: try variables(node))
        }

        private var rescue: [String] { ["cluster", "rescue", "\(folder.path)/third"] }

        /// Runs it to its end; the sum of a number over all scopes.
        private func rescue(
            _ words: [String] = [],
            at node: NodeProcess,
            sum key: String
        ) async throws -> Int64 {
            let done = try await run(rescue + ["--json"] + words, at: node)
            #expect(done.code == 0, "\(done.errors)")
            guard case .array(let scopes)? = try JSONReader.read(done.output.utf8)["scopes"] else {
                return -1
            }
            return scopes.reduce(0) { sum, scope in
                if case .integer(let count)? = scope[key] { sum + count } else { sum }
            }
        }

        private func use<Value>(
            _ node: NodeProcess,
            _ token: String,
            _ body: (Database) async throws -> Value
        ) async throws -> Value {
            var configuration = Container.Configuration(endpoints: [try node.endpoint])
            configuration.accessToken = token
            let container = Container(
                identifier: TestServer.container,
                configuration: configuration
            )
            let result = await Result { try await body(container.privateCloudDatabase) }
            await container.close()
            return try result.get()
        }

        private func add(_ count: Int64, at node: NodeProcess, _ token: String) async throws {
            var record = Record(recordType: "Counter", recordID: Self.counter)
            record.increment("n", by: count)
            let change = record
            try await use(node, token) { database in
                let results = try await database.modifyRecords(
                    saving: [change],
                    deleting: [],
                    savePolicy: .changedKeys
                )
                _ = try results.saveResults[Self.counter]?.get()
            }
        }

        private func status(of node: NodeProcess) async throws -> NodeOperator.Status {
            let admin = NodeOperator(endpoint: try node.endpoint, token: try node.operatorToken)
            let result = await Result { try await admin.status() }
            await admin.close()
            return try result.get()
        }

        /// Commits of all scopes that a node has applied.
        private func commits(at node: NodeProcess) async throws -> UInt64 {
            try await status(of: node).scopes.reduce(0) { $0 + $1.commits }
        }

        private static let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 >> 7) })

        private func name(_ number: Int) -> Record.ID { Record.ID(recordName: "note\(number)") }

        /// Data that no other node has: large records, increments between them, a file, and a user.
        private func work(at node: NodeProcess, _ token: String) async throws {
            for number in 0..<Self.notes {
                var record = Record(recordType: "Note", recordID: name(number))
                record["text"] = .string(String(repeating: "\(number % 10)", count: 200_000))
                if number == 0 { record["file"] = .asset(Asset(data: Self.content)) }
                let note = record
                try await use(node, token) { _ = try await $0.save(note) }
                try await add(1, at: node, token)
            }
            let admin = NodeOperator(endpoint: try node.endpoint, token: try node.operatorToken)
            _ = try await admin.addUser("bob", in: nil)
            await admin.close()
        }

        private func expectAll(at node: NodeProcess, _ token: String) async throws {
            try await use(node, token) { database in
                for number in 0..<Self.notes {
                    let found = try await database.record(for: name(number))
                    #expect(
                        found["text"]
                            == .string(String(repeating: "\(number % 10)", count: 200_000))
                    )
                }
                let counter = try await database.record(for: Self.counter)
                #expect(counter["n"] == .int64(Int64(1_000 + 100 + Self.notes)))
                guard case .asset(let file) = try await database.record(for: name(0))["file"]
                else {
                    Issue.record("the file is not there")
                    return
                }
                let bytes = try await database.bytes(of: file, in: 0..<file.size)
                #expect(Data(bytes) == Self.content)
            }
            let users = try await run(["user", "list"], at: node)
            #expect(users.output.contains("bob"), "\(users.output)")
        }

        // MARK: The test

        /// Takes about 8 s: three nodes start, two of them again, and flushes are slow while the
        /// command runs, so that both kills fall into its middle.
        @Test func whatOnlyARemovedNodeHadComesBackOnce() async throws {
            let faults = try Faults("\(folder.path)/faults")
            var first = try await start("first", environment: faults.environment)
            let port = try first.port
            let token = try await first.makeToken()
            let lost = try await start("second", beside: first)
            let third = try await start("third", beside: first)
            var counter = Record(recordType: "Counter", recordID: Self.counter)
            counter["n"] = 1_000
            let made = counter
            try await use(first, token) { _ = try await $0.save(made) }
            let isKnown = try await eventually {
                (try? await use(third, token) { try await $0.record(for: Self.counter) }) != nil
            }
            #expect(isKnown)
            _ = try await first.end(SIGKILL)
            _ = try await lost.end(SIGKILL)
            try await work(at: third, token)

            // While it runs, and while it is a member, its directory is not for this.
            let inUse = try await run(rescue, at: third)
            #expect(inUse.code == 65 && inUse.errors.contains("a process uses"), "\(inUse.errors)")
            let nodeID = try await status(of: third).nodeID
            #expect(try await third.end(SIGTERM) == .exit(0))
            first = try await start("first", port: port, environment: faults.environment)
            let second = try await start("second", beside: first)
            let member = try await run(rescue, at: first)
            #expect(member.code == 65 && member.errors.contains("is a member"), "\(member.errors)")
            let removed = try await run(["cluster", "remove", nodeID], at: first)
            #expect(removed.code == 0, "\(removed.errors)")
            try await add(100, at: first, token)

            let all = try await rescue(["--dry-run"], at: first, sum: "lacks")
            #expect(all > 2 * Int64(Self.notes))
            let before = try await commits(at: first)
            try faults.set(.flushDelay, 150)
            try await killRescue(at: first, beyond: before + 4)
            try await killNode(first, port: port, beyond: before + 12)
            try faults.set(.flushDelay, 0)
            first = try await start("first", port: port, environment: faults.environment)
            let rest = try await rescue(at: first, sum: "handedOver")
            #expect(rest > 0 && rest < all - 4, "\(rest) of \(all)")
            #expect(try await rescue(at: first, sum: "handedOver") == 0)
            #expect(try await rescue(at: first, sum: "lacks") == 0)

            try await expectTheSame(first, second)
            for node in [first, second] { try await expectAll(at: node, token) }
        }

        /// The command is killed when some of it is handed over.
        private func killRescue(at node: NodeProcess, beyond count: UInt64) async throws {
            let command = try ChildProcess(
                [try ChildProcess.builtProgram("cumulus")] + rescue,
                variables: try variables(node),
                output: "\(folder.path)/out",
                errors: "\(folder.path)/err"
            )
            while try await commits(at: node) < count {
                try #require(command.ending == nil, "it was done before it was killed")
            }
            command.kill(SIGKILL)
            #expect(try await command.waitForEnd(seconds: 20) == .signal(SIGKILL))
        }

        /// The node that takes it is killed in the middle of the second run.
        private func killNode(
            _ node: NodeProcess,
            port: Int,
            beyond count: UInt64
        ) async throws {
            let command = try ChildProcess(
                [try ChildProcess.builtProgram("cumulus")] + rescue + ["--timeout", "1"],
                variables: try variables(node),
                output: "\(folder.path)/out",
                errors: "\(folder.path)/err"
            )
            while try await commits(at: node) < count {
                try #require(command.ending == nil, "it was done before the node was killed")
            }
            _ = try await node.end(SIGKILL)
            #expect(try await command.waitForEnd(seconds: 20) == .exit(69))
        }

        private func expectTheSame(_ first: NodeProcess, _ second: NodeProcess) async throws {
            func held(_ node: NodeProcess) async throws -> (scopes: [String], lacks: Int) {
                let status = try await status(of: node)
                let scopes = status.scopes.map {
                    "\($0.container) \($0.environment) \($0.commits) \($0.digest)"
                }
                return (scopes.sorted(), status.wantedAssets)
            }
            let isSame = try await eventually(seconds: 20) {
                let (one, other) = (try await held(first), try await held(second))
                return one == other && one.lacks == 0
            }
            #expect(isSame)
            let nodeID = try await status(of: second).nodeID
            let verified = try await run(["cluster", "verify", nodeID], at: first)
            #expect(verified.code == 0, "\(verified.output) \(verified.errors)")
        }
    }
#endif
