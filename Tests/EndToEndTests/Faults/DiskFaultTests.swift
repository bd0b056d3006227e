// A node whose disk is full, slow, or fails: nothing that was acknowledged is lost, what can't be
// written is refused, and what was written is read.
//
// `cluster/chaos disk` runs more rounds.

#if os(Linux)
    import Cumulus
    import CumulusModel
    import CumulusTesting
    import Foundation
    import RocksDBStorage
    import Testing

    @Suite(.serialized, .timeLimit(.minutes(60))) struct DiskFaultTests {
        private let folder: TestFolder
        private let faults: Faults

        init() throws {
            folder = try TestFolder()
            faults = try Faults("\(folder.path)/faults")
        }

        private func start(_ arguments: [String] = []) async throws -> NodeProcess {
            try await NodeProcess.ready(
                data: folder.node,
                arguments: arguments,
                environment: faults.environment
            )
        }

        private func save(_ name: String, to container: Container) async throws {
            let id = Record.ID(recordName: name)
            _ = try await container.privateCloudDatabase.save(
                Record(recordType: "Note", recordID: id)
            )
        }

        private func missing(_ names: [String], at node: NodeProcess) async throws -> [String] {
            let container = try await node.signIn()
            var found: Set<String> = []
            for try await record in container.privateCloudDatabase.allRecords(desiredKeys: []) {
                found.insert(record.recordID.recordName)
            }
            await container.close()
            return names.filter { !found.contains($0) }
        }

        /// Writes end within a second, with an error that says why; reads and the node go on.
        @Test func aFullDiskRefusesWritesAndNothingElse() async throws {
            let node = try await start()
            let container = try await node.signIn(timeout: .seconds(3))
            for round in 0..<max(1, Chaos.cycles / 4) {
                try await save("before \(round)", to: container)
                try faults.set(.freeBytes, Int64(MemoryProfile.small.reserveBytes - 1 << 20))
                let start = Date()
                var refusal: ServiceError?
                var number = 0
                while refusal == nil, Date().timeIntervalSince(start) < 5 {
                    number += 1
                    do {
                        try await save("full \(round)-\(number)", to: container)
                    } catch let error as ServiceError {
                        refusal = error
                    }
                }
                #expect(refusal?.reason == .diskFull, "\(String(describing: refusal))")
                #expect(Date().timeIntervalSince(start) < 1.5)
                let id = Record.ID(recordName: "before \(round)")
                _ = try await container.privateCloudDatabase.record(for: id)
                try faults.set(.freeBytes, -1)
                let again = Date()
                let recovers = try await eventually(seconds: 5) {
                    (try? await save("after \(round)", to: container)) != nil
                }
                #expect(recovers)
                #expect(node.errors.contains("the disk is nearly full: writes are refused"))
                #expect(node.errors.contains("the disk has room again"))
                print("full disk: goes on after \(Date().timeIntervalSince(again)) s")
            }
            await container.close()
            let names = (0..<max(1, Chaos.cycles / 4)).flatMap { ["before \($0)", "after \($0)"] }
            #expect(try await missing(names, at: node).isEmpty)
            #expect(try await node.end(SIGTERM) == .exit(0))
        }

        /// A disk that already has less room than asked for is left alone.
        @Test(.enabled(if: SmallDisk.isPermitted, "only root can mount a disk"))
        func aFullerDiskStaysAsItIs() throws {
            let disk = try SmallDisk("\(folder.path)/disk", bytes: 8 << 20)
            let free = try disk.free
            try disk.fill(leaving: free + 1)
            #expect(try disk.free == free)
        }

        /// One of three nodes has a disk that another program fills, first below the reserve and
        /// then to the last byte: it refuses writes within a second, answers reads, stays up
        /// whatever its peers tell it, and goes on when there is room.
        @Test(.enabled(if: SmallDisk.isPermitted, "only root can mount a disk"))
        func aDiskThatAnotherProgramFills() async throws {
            let cluster = try FaultCluster()
            let disk = try SmallDisk(cluster.data(0), bytes: 640 << 20)
            try await cluster.use {
                try await cluster.start()
                let container = try cluster.container(0, seconds: 3)
                try await save("first", to: container)
                try await cluster.load(followers: 0, on: [1, 2])
                for round in 0..<max(2, Chaos.cycles / 8) {
                    try await fill(disk, round, cluster, container)
                }
                await container.close()
                await cluster.finish()
                try await cluster.expectOne(within: 20)
                #expect(cluster.acknowledged > 100)
            }
        }

        /// Another program fills the disk under uploads: they are refused, what was there is read,
        /// and the same file goes up once there is room.
        @Test(.enabled(if: SmallDisk.isPermitted, "only root can mount a disk"))
        func aDiskThatIsTooSmallForAFile() async throws {
            let rounds = max(2, Chaos.cycles / 8)
            // Each round leaves a file there.
            let disk = try SmallDisk(folder.node, bytes: (512 + rounds * (24 + rounds)) << 20)
            let node = try await NodeProcess.ready(data: folder.node)
            let reserve = Int(MemoryProfile.small.reserveBytes)
            let container = try await node.signIn(timeout: .seconds(2))
            let database = container.privateCloudDatabase
            func content(_ megabytes: Int) -> Data {
                var dice = SeededGenerator(seed: UInt64(megabytes))
                let words = (0..<megabytes << 17).map { _ in dice.next() }
                return words.withUnsafeBytes { Data($0) }
            }
            func save(_ name: String, _ content: Data) async throws {
                let id = Record.ID(recordName: name)
                var record = Record(recordType: "Movie", recordID: id)
                record["file"] = .asset(Asset(data: content))
                _ = try await database.save(record)
            }
            func read(_ name: String) async throws -> Data {
                let record = try await database.record(for: Record.ID(recordName: name))
                guard case .asset(let asset) = record["file"] else { return Data() }
                return try await Data(database.bytes(of: asset, in: 0..<asset.size))
            }
            try await save("before", content(2))
            for round in 0..<rounds {
                // It ends in the middle.
                try disk.fill(leaving: reserve + 8 << 20)
                var refusal: ServiceError?
                do {
                    try await save("large \(round)", content(24 + round))
                } catch let error as ServiceError {
                    refusal = error
                }
                #expect(refusal?.reason == .diskFull, "\(String(describing: refusal))")
                #expect(try disk.free > reserve - 2 << 20, "the reserve was touched")
                try disk.fill(leaving: 0)
                #expect(try await read("before") == content(2))
                #expect(node.ending == nil, "\(node.errors.suffix(2_000))")
                try disk.clear()
                let again = Date()
                var problem: (any Error)?
                _ = try await eventually(seconds: 30) {
                    do {
                        try await save("large \(round)", content(24 + round))
                        problem = nil
                    } catch {
                        problem = error
                    }
                    return problem == nil
                }
                #expect(problem == nil, "\(String(describing: problem))")
                print("full disk: a file goes up after \(Date().timeIntervalSince(again)) s")
                #expect(try await read("large \(round)") == content(24 + round))
            }
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
        }

        private func fill(
            _ disk: SmallDisk,
            _ round: Int,
            _ cluster: FaultCluster,
            _ container: Container
        ) async throws {
            try disk.fill(leaving: 16 << 20)
            #expect(try await isRefused("low \(round)", by: container))
            try disk.fill(leaving: 0)
            let end = Date().addingTimeInterval(2)
            while Date() < end {
                let id = Record.ID(recordName: "first")
                _ = try await container.privateCloudDatabase.record(for: id)
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try disk.free < 1 << 20)
            #expect(cluster.nodes[0].ending == nil, "\(cluster.nodes[0].errors.suffix(2_000))")
            try disk.clear()
            let again = Date()
            #expect(
                try await eventually(seconds: 5) {
                    (try? await save("after \(round)", to: container)) != nil
                }
            )
            print("filled disk: goes on after \(Date().timeIntervalSince(again)) s")
        }

        /// Whether a write is refused within a second, because there is no room.
        private func isRefused(_ name: String, by container: Container) async throws -> Bool {
            try await eventually(seconds: 1.5) {
                do {
                    try await save(name, to: container)
                    return false
                } catch let error as ServiceError {
                    return error.reason == .diskFull
                }
            }
        }

        /// Nobody knows what a failed flush left: nothing is acknowledged after it, the process
        /// ends, and the next one has everything that was.
        @Test func aFlushThatFailsEndsTheProcess() async throws {
            var names: [String] = []
            for round in 0..<max(2, Chaos.cycles / 2) {
                let node = try await start()
                let container = try await node.signIn(timeout: .seconds(2))
                for number in 0..<5 {
                    let name = "r\(round)-\(number)"
                    try await save(name, to: container)
                    names.append(name)
                }
                // More than one: it may be another file that is flushed next.
                try faults.set(.failingFlushes, 100)
                let error = await #expect(throws: (any Error).self) {
                    try await save("lost \(round)", to: container)
                }
                #expect(!(error is CancellationError))
                #expect(try await node.waitForEnd() == .exit(70))
                #expect(node.errors.contains("the store failed"), "\(node.errors)")
                await container.close()
                try faults.set(.failingFlushes, 0)
            }
            let node = try await start()
            #expect(try await missing(names, at: node).isEmpty)
            #expect(try await node.end(SIGTERM) == .exit(0))
            let differences = try folder.withStore { try LogReplay.differences(in: $0) }
            #expect(differences.isEmpty)
        }

        /// Flushes that take two seconds hold up writes only.
        @Test func aSlowDiskDoesNotHoldUpReads() async throws {
            let node = try await start()
            let container = try await node.signIn()
            let database = container.privateCloudDatabase
            try await save("r", to: container)
            try faults.set(.flushDelay, 2_000)
            async let write: Void = save("slow", to: container)
            try await Task.sleep(for: .milliseconds(50))
            var longest: TimeInterval = 0
            for _ in 0..<100 {
                let start = Date()
                _ = try await database.record(for: Record.ID(recordName: "r"))
                longest = max(longest, Date().timeIntervalSince(start))
            }
            try await write
            print("slow disk: the longest read took \(longest) s beside flushes of 2 s")
            #expect(longest < 1.5)
            try faults.set(.flushDelay, 0)
            await container.close()
            #expect(try await node.end(SIGTERM) == .exit(0))
        }
    }
#endif
