// A node on a small disk of its own that is filled at full speed: by saves, by assets, and by
// another program to the last byte. The node never ends, loses nothing that it acknowledged, and
// takes the deletes that make room again.
//
// `cluster/chaos disk` runs more rounds.

#if os(Linux)
    import Cumulus
    import CumulusModel
    import CumulusStorage
    import CumulusTesting
    import Foundation
    import RocksDBStorage
    import Synchronization
    import Testing

    @Suite(
        .serialized,
        .timeLimit(.minutes(60)),
        .enabled(if: SmallDisk.isPermitted, "only root can mount a disk")
    ) struct FullDiskFaultTests {
        private let folder: TestFolder

        init() throws { folder = try TestFolder() }

        private func start() async throws -> NodeProcess {
            let arguments = [
                "--log-keep-seconds", "1", "--limits", "assetGraceMilliseconds=1000",
            ]
            return try await NodeProcess.ready(data: folder.node, arguments: arguments)
        }

        /// What no profile can do with is refused, with what it takes.
        @Test func aDiskThatIsTooSmallIsRefused() async throws {
            let disk = try SmallDisk(folder.node, bytes: 220 << 20)
            let refused = try NodeProcess(data: folder.node)
            try await #expect(refused.waitForEnd() == .exit(1))
            #expect(refused.errors.contains("a node needs 500000000"), "\(refused.errors)")
            #expect(try disk.free > 0)
        }

        /// Room for a record is held before anything of it is written.
        @Test func aBatchThatDoesNotFitIsRefusedWhole() throws {
            let disk = try SmallDisk(folder.node, bytes: 400 << 20)
            func commit(_ number: UInt8, size: Int, to engine: RocksDBEngine) throws {
                var batch = EngineBatch()
                let value = Bytes(repeating: number, count: size)
                batch.writes = [.init(family: .records, key: [number], value: value)]
                try engine.commit(batch)
            }
            try folder.withStore { engine in
                for number: UInt8 in 0..<3 { try commit(number, size: 100, to: engine) }
                // RocksDB needs less for a table.
                try disk.fill(leaving: 40 << 20)
                let error = #expect(throws: EngineError.self) {
                    try commit(9, size: 64 << 20, to: engine)
                }
                guard case .full = error else { throw try #require(error) }
                try commit(3, size: 100, to: engine)
            }
            try disk.clear()
            try folder.withStore { engine in
                for number: UInt8 in 0..<4 {
                    let value = try engine.get(.records, [number], reach: .disk)
                    #expect(value == Bytes(repeating: number, count: 100))
                }
                #expect(try engine.get(.records, [9], reach: .disk) == nil)
            }
        }

        /// A disk of 1 GB, from empty to full and back.
        ///
        /// Only where `cluster/chaos` asks for it: to fill the disk takes about a minute.
        @Test(.enabled(if: Chaos.isAsked)) func aDiskIsFilledAtFullSpeedAndFreed() async throws {
            let disk = try SmallDisk(folder.node, bytes: 1_000_000_000)
            let node = try await start()
            let token = try await node.makeToken()
            let container = try await node.signIn(token: token, timeout: .seconds(10))
            let load = FullDiskLoad(container.privateCloudDatabase)
            let filling = Task { await load.run() }
            var dice = SeededGenerator(seed: Chaos.seed)
            for _ in 0..<max(4, Chaos.cycles) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 200...1_500, using: &dice)))
                try disk.fill(leaving: 0)
                try await Task.sleep(for: .milliseconds(Int.random(in: 100...1_500, using: &dice)))
                #expect(node.ending == nil, "\(node.errors.suffix(2_000))")
                try disk.clear()
            }
            // Nobody helps now: the node itself fills the disk, as far as it may.
            let isFull = try await eventually(seconds: 120) {
                try disk.free < Int(MemoryProfile.small.reserveBytes) && load.isRefused
            }
            #expect(isFull)
            load.finish()
            await filling.value
            // Flushes and merges that are under way use it, and give it back.
            let isLeft = try await eventually(seconds: 60) {
                try disk.free > Int(MemoryProfile.small.deleteReserveBytes)
            }
            #expect(isLeft)
            #expect(node.ending == nil, "\(node.errors.suffix(2_000))")
            #expect(try await load.missing().isEmpty)
            let (records, files) = load.counts
            print("full disk: \(records) records of 60 KB and \(files) files of 1 MB")
            await container.close()
            // What its journal holds is replayed at the next start.
            try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
            try disk.fill(leaving: Int(MemoryProfile.small.reserveBytes) - 32 << 20)
            try await free(disk, load, token)
            // The node has dropped commits by then: there is nothing to replay.
            let differences = try folder.withStore { try DerivedRows.differences(in: $0) }
            #expect(differences.isEmpty)
        }

        /// A node starts on the full disk, says so, and deletes make room for saves.
        ///
        /// - Parameter token: The user's token: a full disk has no room for another one.
        private func free(
            _ disk: SmallDisk,
            _ load: FullDiskLoad,
            _ token: String
        ) async throws {
            let node = try await start()
            let container = try await node.signIn(token: token, timeout: .seconds(10))
            let database = container.privateCloudDatabase
            let again = load.with(database)
            #expect(try await again.missing().isEmpty)
            // The node drops its logs in its first seconds; tables may be smaller than they were.
            let isRefused = try await eventually(seconds: 20) {
                try disk.fill(leaving: Int(MemoryProfile.small.reserveBytes) - 8 << 20)
                do {
                    _ = try await database.save(Record(recordType: "Note"))
                    return false
                } catch let error as ServiceError {
                    return error.reason == .diskFull
                }
            }
            #expect(isRefused)
            #expect(node.errors.contains("the disk is nearly full: writes are refused"))
            let start = Date()
            try await again.deleteAll()
            let isFree = try await eventually(seconds: 60) {
                (try? await database.save(Record(recordType: "Note"))) != nil
            }
            #expect(isFree)
            print("full disk: saves go on \(Date().timeIntervalSince(start)) s after deletes began")
            #expect(node.errors.contains("the disk has room again"))
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
        }
    }

    /// Saves records of 60 KB and files of 1 MB as fast as it goes, and keeps their names.
    private final class FullDiskLoad: Sendable {
        private struct State {
            var records: Set<String> = []
            var files: Set<String> = []
            var isOver = false
            var refused = 0
        }

        private let database: Database
        private let state: Mutex<State>

        init(_ database: Database) {
            self.database = database
            state = Mutex(State())
        }

        private init(_ database: Database, _ state: sending State) {
            self.database = database
            self.state = Mutex(state)
        }

        /// The same names, seen through another connection.
        func with(_ database: Database) -> FullDiskLoad {
            FullDiskLoad(database, state.withLock { $0 })
        }

        var counts: (records: Int, files: Int) {
            state.withLock { ($0.records.count, $0.files.count) }
        }

        /// All that was tried of late was refused.
        var isRefused: Bool { state.withLock { $0.refused > 100 } }

        func finish() { state.withLock { $0.isOver = true } }

        func run() async {
            await withTaskGroup(of: Void.self) { group in
                for task in 0..<6 { group.addTask { await self.save(task) } }
            }
        }

        private func save(_ task: Int) async {
            var dice = SeededGenerator(seed: UInt64(task))
            var number = 0
            while !state.withLock({ $0.isOver }) {
                number += 1
                let name = "r\(task)-\(number)"
                let isFile = task == 0
                let words = (0..<(isFile ? 1 << 17 : 7_500)).map { _ in dice.next() }
                let content = words.withUnsafeBytes { Data($0) }
                let id = Record.ID(recordName: name)
                var record = Record(recordType: isFile ? "Movie" : "Note", recordID: id)
                record["content"] = isFile ? .asset(Asset(data: content)) : .bytes(Array(content))
                guard (try? await database.save(record)) != nil else {
                    state.withLock { $0.refused += 1 }
                    try? await Task.sleep(for: .milliseconds(20))
                    continue
                }
                state.withLock { state in
                    state.refused = 0
                    if isFile { state.files.insert(name) } else { state.records.insert(name) }
                }
            }
        }

        /// Acknowledged records that are missing.
        func missing() async throws -> Set<String> {
            var missing = state.withLock { $0.records.union($0.files) }
            for try await record in database.allRecords(desiredKeys: []) {
                missing.remove(record.recordID.recordName)
            }
            return missing
        }

        func deleteAll() async throws {
            var names: [String] = []
            for try await record in database.allRecords(desiredKeys: []) {
                names.append(record.recordID.recordName)
            }
            while !names.isEmpty {
                let ids = names.suffix(100).map { Record.ID(recordName: $0) }
                names.removeLast(ids.count)
                // Flushes and merges that are under way leave no room even for these, for a moment.
                let areGone = try await eventually(seconds: 30) {
                    do {
                        let results = try await database.modifyRecords(saving: [], deleting: ids)
                        for result in results.deleteResults.values { try result.get() }
                        return true
                    } catch let error as ServiceError where error.reason == .diskFull {
                        return false
                    }
                }
                guard areGone else { throw ChildProcess.Failure("deletes are refused for 30 s") }
            }
        }
    }
#endif
