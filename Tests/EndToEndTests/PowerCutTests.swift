// A node whose machine loses its power: what it acknowledged had been flushed before.
//
// A killed process leaves its writes with the kernel; the shim `powercut.c` knows what was flushed,
// and `cluster/powercut` takes the rest away. With flushing switched off the same check has to find
// a save missing, or it would show nothing. `cluster/chaos power` cuts more often.

#if os(Linux)
    import Cumulus
    import CumulusTesting
    import Foundation
    import Testing

    @Suite(.serialized, .timeLimit(.minutes(60))) struct PowerCutTests {
        private static let rounds = max(4, Chaos.cycles / 2)
        private let folder: TestFolder
        private let shim: String

        init() throws {
            folder = try TestFolder()
            shim = "\(folder.path)/powercut.so"
            let source = "\(PowerCutTests.root)/Tests/Shims/powercut.c"
            try PowerCutTests.run(
                "/usr/bin/env",
                ["cc", "-shared", "-fPIC", "-O2", "-o", shim, source]
            )
            for name in ["node", "state"] {
                try FileManager.default.createDirectory(
                    atPath: "\(folder.path)/\(name)",
                    withIntermediateDirectories: false
                )
            }
        }

        @Test func acknowledgedSavesSurviveAPowerCut() async throws {
            var acknowledged: Set<String> = []
            for round in 1...Self.rounds {
                acknowledged.formUnion(try await cut(round))
                let content = try folder.withStore { try StoreContent($0) }
                let missing = acknowledged.subtracting(content.names)
                #expect(missing.isEmpty, "round \(round), seed \(Chaos.seed)")
            }
            print(
                """
                power cuts: \(Self.rounds), seed \(Chaos.seed): \(acknowledged.count) \
                acknowledged saves
                """
            )
            #expect(acknowledged.count > Self.rounds)
            // Opening the store above wrote to it beyond the shim's sight; the log must be whole.
            let differences = try folder.withStore { try LogReplay.differences(in: $0) }
            #expect(differences.isEmpty)
        }

        @Test func withoutFlushingAnAcknowledgedSaveIsMissing() async throws {
            let acknowledged = try await cut(1, deafTo: ".log")
            #expect(!acknowledged.isEmpty)
            let content = try folder.withStore { try StoreContent($0) }
            #expect(!acknowledged.isSubset(of: content.names), "the cut took nothing")
        }

        // MARK: Parts

        /// Lets writers write, kills the node, cuts the power; the acknowledged names.
        private func cut(_ round: Int, deafTo suffix: String? = nil) async throws -> Set<String> {
            var environment = [
                "LD_PRELOAD": shim,
                "CUMULUS_POWERCUT_DIR": folder.node,
                "CUMULUS_POWERCUT_STATE": "\(folder.path)/state",
            ]
            environment["CUMULUS_POWERCUT_DEAF"] = suffix
            let node = try await NodeProcess.ready(data: folder.node, environment: environment)
            let container = try await node.signIn(timeout: .seconds(10))
            let database = container.privateCloudDatabase
            // However slow the machine is, something is acknowledged before the kill.
            let first = "r\(round)-first"
            let id = Record.ID(recordName: first)
            try await database.save(Record(recordType: "Note", recordID: id))
            let names = await withTaskGroup(of: Set<String>.self) { group in
                for writer in 0..<16 {
                    group.addTask { await save("r\(round)-w\(writer)", to: database) }
                }
                group.addTask {
                    var dice = SeededGenerator(seed: Chaos.seed &+ UInt64(round))
                    let milliseconds = Int.random(in: 100...400, using: &dice)
                    try? await Task.sleep(for: .milliseconds(milliseconds))
                    node.kill(SIGKILL)
                    await container.close()
                    return []
                }
                return await group.reduce(into: Set([first])) { $0.formUnion($1) }
            }
            try await #expect(node.waitForEnd() == .signal(SIGKILL))
            let script = "\(PowerCutTests.root)/cluster/powercut"
            let tear = ["--tear", "\(Chaos.seed)-\(round)"]
            try PowerCutTests.run(
                script,
                [folder.node, "\(folder.path)/state"] + (round % 2 == 0 ? tear : [])
            )
            return names
        }

        /// Saves records until one fails; the names of those that were acknowledged.
        private func save(_ prefix: String, to database: Database) async -> Set<String> {
            var names: Set<String> = []
            while true {
                let name = "\(prefix)-\(names.count)"
                var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
                record["text"] = .string(String(repeating: "x", count: 200))
                guard (try? await database.save(record)) != nil else { return names }
                names.insert(name)
            }
        }

        private static let root = URL(filePath: #filePath)
            .deletingLastPathComponent()
            .appending(path: "../..")
            .standardizedFileURL
            .path()

        /// Runs a program to its end; one that fails fails the test, with what it said.
        private static func run(_ program: String, _ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(filePath: program)
            process.arguments = arguments
            let output = Pipe()
            process.standardOutput = output
            process.standardError = output
            try process.run()
            let said = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                let text = String(decoding: said, as: UTF8.self)
                throw NodeProcess.Failure(
                    "\(program) \(arguments.joined(separator: " ")): \(text)"
                )
            }
        }
    }
#endif
