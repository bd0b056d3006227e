// A cluster whose clocks jump by an hour, stand still, and run at different speeds: the node that
// is wrong refuses writes until it is right, no commit is from the future, and ten seconds after
// the last jump all hold the same.
//
// `cluster/chaos clock` runs more cycles.

#if os(Linux)
    import Cumulus
    import CumulusModel
    import CumulusStorage
    import CumulusTesting
    import Foundation
    import RocksDBStorage
    import Testing

    @Suite(.serialized, .timeLimit(.minutes(60))) struct ClockFaultTests {
        /// Commits whose time is not later than the previous commit's of the same run.
        private static func stepsBack(_ engine: RocksDBEngine) throws -> [Dot] {
            var found: [Dot] = []
            var last: (run: Bytes, stamp: Stamp)?
            for row in try ReadTransaction(engine, reach: .disk).rows(.log, .all(.commit)) {
                let stamp = try Commit(row.value).stamp
                // Scope and incarnation.
                let run = Bytes(row.key.dropLast(8))
                if let last, last.run == run, stamp.time <= last.stamp.time {
                    found.append(stamp.dot)
                }
                last = (run, stamp)
            }
            return found
        }

        /// A clock stands still for a while, and is right again.
        private func stop(_ dice: inout SeededGenerator, _ faults: [Faults]) async throws {
            let number = Int.random(in: 0..<3, using: &dice)
            try faults[number].set(.clockStop, Int64(Date().timeIntervalSince1970 * 1_000))
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...500, using: &dice)))
            try faults[number].set(.clockStop, 0)
        }

        /// One time server sets all clocks wrong, and right again.
        ///
        /// Writers go on within seconds each time, and all nodes take what the others made. The
        /// test looks after each of four jumps: about 30 s.
        @Test func clocksThatJumpTogetherLoseNothing() async throws {
            let folder = try TestFolder()
            let faults = try (0..<3).map { try Faults("\(folder.path)/faults\($0)") }
            let cluster = try FaultCluster()
            try await cluster.use {
                try await cluster.start { faults[$0].environment }
                try await cluster.load()
                #expect(try await cluster.haveMet())
                for offset in [3_600_000, 0, -3_600_000, 0] as [Int64] {
                    for fault in faults { try fault.set(.clockOffset, offset) }
                    try await Task.sleep(for: .seconds(6))
                    let before = cluster.writers.map(\.state.acknowledged.count)
                    let goesOn = try await eventually(seconds: 10) {
                        zip(cluster.writers, before).allSatisfy {
                            $0.state.acknowledged.count > $1 + 10
                        }
                    }
                    #expect(goesOn, "all clocks at \(offset) ms")
                }
                await cluster.finish()
                try await cluster.expectOne(within: 10)
                for node in cluster.nodes { #expect(try await node.end(SIGTERM) == .exit(0)) }
            }
        }

        @Test func clocksThatJumpLoseNothing() async throws {
            let folder = try TestFolder()
            let faults = try (0..<3).map { try Faults("\(folder.path)/faults\($0)") }
            let cluster = try FaultCluster()
            try await cluster.use {
                // One clock is half a second per thousand too fast all the time.
                try faults[2].set(.clockDrift, 500)
                try await cluster.start { faults[$0].environment }
                try await cluster.load()
                var dice = SeededGenerator(seed: Chaos.seed)
                #expect(try await cluster.haveMet())
                var refused = 0
                for cycle in 0..<Chaos.cycles {
                    let number = Int.random(in: 0..<3, using: &dice)
                    let hour: Int64 = Bool.random(using: &dice) ? 3_600_000 : -3_600_000
                    try faults[number].set(.clockOffset, hour)
                    try await Task.sleep(
                        for: .milliseconds(Int.random(in: 100...500, using: &dice))
                    )
                    if try await cluster.status(cluster.nodes[number])["state"]
                        == .string("clock wrong")
                    {
                        refused += 1
                    }
                    try faults[number].set(.clockOffset, 0)
                    if cycle % 2 == 1 { try await stop(&dice, faults) }
                    try await Task.sleep(for: .milliseconds(Int.random(in: 50...300, using: &dice)))
                }
                await cluster.finish()
                try await cluster.expectOne(within: 10)
                print(
                    """
                    clock: \(Chaos.cycles) jumps of an hour, \(Chaos.cycles / 2) clocks that stood \
                    still, one 500 ppm too fast; seed \(Chaos.seed): \(refused) times \
                    the node was seen refusing; \(cluster.acknowledged) acknowledged changes
                    """
                )
                #expect(refused == Chaos.cycles)
                for node in cluster.nodes {
                    #expect(!node.errors.contains("commits of a node are refused"))
                    #expect(try await node.end(SIGTERM) == .exit(0))
                }
                for number in 0..<3 {
                    let store = "\(cluster.data(number))/store"
                    let engine = try RocksDBEngine(directory: store, profile: .small, reserve: 0)
                    #expect(try Self.stepsBack(engine).isEmpty)
                    #expect(try DerivedRows.differences(in: engine).isEmpty)
                }
            }
        }
    }
#endif
