// The path `lag`: how soon a node shows what was saved on another one, beside ever more writers.
//
// Two nodes of this machine. One caller saves a record of 300 bytes on the first node and reads it
// on the second one with its session, again and again: how long that waits is the lag. Writers keep
// the first node busy meanwhile, each with one save after the other, so the load is what they and
// the caller got done.

import Cumulus
import CumulusTerminal
import Foundation

extension Bench {
    /// Doubled until it is what is in flight elsewhere.
    private var crowds: [Int] {
        [0] + (0...10).map { 1 << $0 }.filter { $0 < options.inFlight } + [options.inFlight]
    }

    func lag(_ cleanup: Cleanup) async throws -> [BenchFigure] {
        let cluster = BenchCluster(options, try BenchDirectory.make(cleanup), cleanup)
        defer { cluster.stopAll() }
        for name in ["first", "second"] { try await cluster.start(name) }
        var figures: [BenchFigure] = []
        for writers in crowds {
            try await cluster.waitUntilEqual(seconds: 120)
            figures.append(try await lag(beside: writers, cluster))
        }
        return figures
    }

    /// The rate is the rate of all saves; the times run until a save is shown.
    private func lag(beside writers: Int, _ cluster: BenchCluster) async throws -> BenchFigure {
        let path = "shown beside \(writers) writers"
        let progress = BenchProgress("measuring: \(path)")
        defer { progress.end() }
        let container = cluster.container(cluster.members[0], connections: 2)
        let start = Date()
        let end = start.addingTimeInterval(options.seconds)
        async let saves = self.saves(by: writers, in: container.privateCloudDatabase, until: end)
        let waits = try await waits(cluster, until: end)
        var figure = BenchFigure(path: path, since: start, milliseconds: waits)
        figure.operations += try await saves
        figure.perSecond = Double(figure.operations) / figure.seconds
        await container.close()
        return figure
    }

    /// How many saves that many writers got done.
    private func saves(by writers: Int, in database: Database, until end: Date) async throws -> Int
    {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var count = 0
                    while Date() < end {
                        // None of these is a record that is looked at.
                        try await save(
                            10_000_000 + (writer + count * writers) % 10_000,
                            in: database
                        )
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
    }
}
