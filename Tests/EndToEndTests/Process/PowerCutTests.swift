// A node whose machine loses its power: what it acknowledged had been flushed before.
//
// A killed process leaves its writes with the kernel; the shim `powercut.c` knows what was flushed,
// and `cluster/powercut` takes the rest away. With flushing switched off the same check has to find
// a save, or the bytes of an asset, missing, or it would show nothing. `cluster/chaos power` cuts
// more often.

#if os(Linux)
    import Cumulus
    import CumulusModel
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
            let source = Checkout.file("Tests/Shims/powercut.c").path()
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
            let files = acknowledged.filter { $0.hasSuffix(Self.file) }
            print(
                """
                power cuts: \(Self.rounds), seed \(Chaos.seed): \(acknowledged.count) \
                acknowledged saves, \(files.count) of them with a file
                """
            )
            #expect(files.count >= Self.rounds && acknowledged.count > 2 * Self.rounds)
            #expect(try await unreadable(files).isEmpty)
            // Opening the store above wrote to it beyond the shim's sight; the log must be whole.
            let differences = try folder.withStore { try LogReplay.differences(in: $0) }
            #expect(differences.isEmpty)
        }

        @Test func withoutFlushingAnAcknowledgedSaveIsMissing() async throws {
            let acknowledged = try await cut(1, deafTo: Self.log)
            #expect(!acknowledged.isEmpty)
            // It may know already that the store reached further, and the store isn't opened then.
            try FileManager.default.removeItem(atPath: "\(folder.node)/store/journal.end")
            let content = try folder.withStore { try StoreContent($0) }
            #expect(!acknowledged.isSubset(of: content.names), "the cut took nothing")
        }

        @Test func withoutFlushingAnAcknowledgedFileIsNotWhole() async throws {
            let files = try await cut(1, deafTo: ".pack").filter { $0.hasSuffix(Self.file) }
            let content = try folder.withStore { try StoreContent($0) }
            #expect(!files.isEmpty && files.isSubset(of: content.names))
            #expect(try await !unreadable(files).isEmpty, "the cut took nothing")
        }

        /// On a disk, and by the shim's count: who saves alone waits for a flush of his own, and 64
        /// who save together share them.
        @Test func oneSaverFlushesEachTimeAndManyShareAFlush() async throws {
            let node = try await NodeProcess.ready(data: folder.node, environment: watched)
            let container = try await node.signIn(timeout: .seconds(10))
            let database = container.privateCloudDatabase
            try await database.save(record("first"))
            let start = try logFlushes()
            for number in 0..<50 { try await database.save(record("alone-\(number)")) }
            let alone = try logFlushes() - start
            try await withThrowingTaskGroup(of: Void.self) { group in
                for saver in 0..<64 {
                    group.addTask {
                        for number in 0..<20 {
                            try await database.save(record("\(saver)-\(number)"))
                        }
                    }
                }
                try await group.waitForAll()
            }
            let together = try logFlushes() - start - alone
            print("flushes: \(alone) for 50 saves of one, \(together) for 1280 of 64")
            #expect(alone >= 50)
            #expect(together > 0 && together <= 64 * 20 / 4)
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
        }

        // MARK: Parts

        /// What makes the shim watch a node.
        private var watched: [String: String] {
            [
                "LD_PRELOAD": shim,
                "CUMULUS_POWERCUT_DIR": folder.node,
                "CUMULUS_POWERCUT_STATE": "\(folder.path)/state",
            ]
        }

        /// How often the segments that the store has now were flushed.
        private func logFlushes() throws -> Int {
            let manager = FileManager.default
            let logs = try manager.contentsOfDirectory(atPath: "\(folder.node)/store")
                .filter { $0.hasSuffix(Self.log) }
            let inodes = try logs.map { name in
                let file = try manager.attributesOfItem(atPath: "\(folder.node)/store/\(name)")
                return String(try #require(file[.systemFileNumber] as? Int))
            }
            let journal = try String(
                contentsOfFile: "\(folder.path)/state/journal",
                encoding: .utf8
            )
            return journal.split(separator: "\n").count { line in
                let words = line.split(separator: " ")
                return words[0] == "file" && inodes.contains(String(words[1]))
            }
        }

        /// What names of the files end with that batches are written to first.
        private static let log = ".journal"

        /// What names of records end with that have a file.
        private static let file = "-file"

        /// The content of a record's file: a chunk or two that no other record has.
        private func content(of name: String) -> Data {
            var dice = SeededGenerator(seed: name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
            return Data((0..<200_000).map { _ in UInt8.random(in: .min ... .max, using: &dice) })
        }

        /// Starts the node again; the names of those records whose file is not what it was.
        private func unreadable(_ names: Set<String>) async throws -> [String] {
            let node = try await NodeProcess.ready(data: folder.node)
            let container = try await node.signIn(timeout: .seconds(2))
            let database = container.privateCloudDatabase
            var found: [String] = []
            for name in names.sorted() {
                let record = try await database.record(for: Record.ID(recordName: name))
                guard case .asset(let asset) = record["file"],
                    let bytes = try? await database.bytes(of: asset, in: 0..<asset.size),
                    Data(bytes) == content(of: name)
                else {
                    found.append(name)
                    continue
                }
            }
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
            return found
        }

        /// Lets writers write, kills the node, cuts the power; the acknowledged names.
        private func cut(_ round: Int, deafTo suffix: String? = nil) async throws -> Set<String> {
            var environment = watched
            environment["CUMULUS_POWERCUT_DEAF"] = suffix
            let node = try await NodeProcess.ready(data: folder.node, environment: environment)
            let container = try await node.signIn(timeout: .seconds(10))
            let database = container.privateCloudDatabase
            // However slow the machine is, something is acknowledged before the kill.
            let first = ["r\(round)-first", "r\(round)-first\(Self.file)"]
            for name in first { try await database.save(record(name)) }
            let names = await withTaskGroup(of: Set<String>.self) { group in
                for writer in 0..<16 {
                    let suffix = writer % 4 == 0 ? Self.file : ""
                    group.addTask { await save("r\(round)-w\(writer)", suffix, to: database) }
                }
                group.addTask {
                    var dice = SeededGenerator(seed: Chaos.seed &+ UInt64(round))
                    let milliseconds = Int.random(in: 100...400, using: &dice)
                    try? await Task.sleep(for: .milliseconds(milliseconds))
                    node.kill(SIGKILL)
                    await container.close()
                    return []
                }
                return await group.reduce(into: Set(first)) { $0.formUnion($1) }
            }
            try await #expect(node.waitForEnd() == .signal(SIGKILL))
            let script = Checkout.file("cluster/powercut").path()
            let tear = ["--tear", "\(Chaos.seed)-\(round)"]
            try PowerCutTests.run(
                script,
                [folder.node, "\(folder.path)/state"] + (round % 2 == 0 ? tear : [])
            )
            return names
        }

        /// Saves records until one fails; returns the names of the acknowledged ones.
        private func save(
            _ prefix: String,
            _ suffix: String,
            to database: Database
        ) async -> Set<String> {
            var names: Set<String> = []
            while true {
                let name = "\(prefix)-\(names.count)\(suffix)"
                guard (try? await database.save(record(name))) != nil else { return names }
                names.insert(name)
            }
        }

        private func record(_ name: String) -> Record {
            var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
            record["text"] = .string(String(repeating: "x", count: 200))
            if name.hasSuffix(Self.file) { record["file"] = .asset(Asset(data: content(of: name))) }
            return record
        }

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
