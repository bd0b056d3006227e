// Two parts of the path `replicate`: what a copy before the answer costs, and what three nodes of
// this machine take together.
//
// Every save replaces a whole record of 300 bytes. Compared figures are measured in turn, or right
// after each other, in the same run.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

extension Bench {
    /// One save after the other: on one node, and on another one too before it is answered.
    func copies(_ cluster: BenchCluster) async throws -> [BenchFigure] {
        let first = cluster.members[0]
        let local = cluster.container(first, concern: .local)
        let replicated = cluster.container(first, concern: .replicated(1))
        let progress = BenchProgress("measuring: a copy before the answer")
        defer { progress.end() }
        let start = Date()
        let end = start.addingTimeInterval(options.seconds)
        var waits: [[Double]] = [[], []]
        while Date() < end {
            for (index, container) in [local, replicated].enumerated() {
                let begun = DispatchTime.now().uptimeNanoseconds
                try await save(waits[0].count, in: container.privateCloudDatabase)
                waits[index].append(Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e6)
            }
        }
        await local.close()
        await replicated.close()
        let alone = BenchFigure(path: "save, local", since: start, milliseconds: waits[0])
        var both = BenchFigure(path: "save, replicated(1)", since: start, milliseconds: waits[1])
        let wanted = 2.5 * (alone.p50 ?? 0)
        both.targets.append(
            .init(
                text: String(format: "p50 <= %.2f ms (2.5 x local)", wanted),
                isMet: both.p50 ?? .infinity <= wanted
            )
        )
        return [alone, both]
    }

    /// Many writers on one node, and spread over three.
    ///
    /// Each begins with empty stores; nodes that share the processors share the event loops too.
    func spread(_ cleanup: Cleanup) async throws -> [BenchFigure] {
        let alone = try await load(nodes: ["alone"], cleanup)
        var spread = try await load(nodes: ["first", "second", "third"], cleanup)
        spread.compare(with: [.init(name: "1 node", perSecond: alone.perSecond)])
        spread.expect(ratio: 0.6)
        let bounds = BenchBounds(options, try BenchDirectory.make(cleanup), cleanup)
        let engine = try bounds.engine(savesPerCommit: options.inFlight, fieldBytes: 270)
        return [alone, spread] + [Bench.ceiling(alone, engine)].compactMap(\.self)
    }

    /// The rate of three nodes if two of them only committed the rows of a save; nil where the
    /// system doesn't tell the cost of a save.
    ///
    /// Computed: all processors, divided by the processor time of a save on one node, client
    /// included, and of two commits by the bare engine.
    private static func ceiling(
        _ alone: BenchFigure,
        _ engine: BenchFigure.Bound
    ) -> BenchFigure? {
        guard let server = alone.serverMicroseconds, let client = alone.clientMicroseconds,
            let commit = engine.cpuMicroseconds
        else { return nil }
        let processors = ProcessInfo.processInfo.activeProcessorCount
        var figure = BenchFigure(
            path: "the same, if two did no more than the engine",
            start: alone.start,
            seconds: alone.seconds,
            operations: 0,
            perSecond: Double(processors) * 1e6 / (server + client + 2 * commit),
            serverMicroseconds: server + 2 * commit,
            clientMicroseconds: client
        )
        figure.compare(with: [.init(name: "1 node", perSecond: alone.perSecond)])
        return figure
    }

    /// Nodes of a cluster of their own, which hold the same in the end.
    private func load(nodes names: [String], _ cleanup: Cleanup) async throws -> BenchFigure {
        let cluster = BenchCluster(options, try BenchDirectory.make(cleanup), cleanup)
        defer { cluster.stopAll() }
        let share = ProcessInfo.processInfo.activeProcessorCount / names.count
        for name in names { try await cluster.start(name, threads: max(1, share)) }
        try await cluster.waitUntilEqual(seconds: 120)
        let nodes = names.count == 1 ? "1 node" : "\(names.count) nodes"
        let figure = try await load(cluster, "save, \(options.inFlight) writers on \(nodes)")
        try await cluster.waitUntilEqual(seconds: 120)
        return figure
    }

    private func load(_ cluster: BenchCluster, _ path: String) async throws -> BenchFigure {
        let containers = cluster.members.map { cluster.container($0, connections: 2) }
        let progress = BenchProgress("measuring: \(path)")
        defer { progress.end() }
        let (count, seconds) = (options.inFlight, options.seconds)
        let nodes = cluster.members.map(\.process.id)
        let before = (nodes.map(ProcessUse.of), ProcessUse.own())
        let start = Date()
        let waits = try await withThrowingTaskGroup(of: [Double].self) { group in
            for writer in 0..<count {
                let container = containers[writer % containers.count]
                let database = container.privateCloudDatabase
                group.addTask(executorPreference: container.connectionExecutor) {
                    var (waits, number): ([Double], Int) = ([], writer)
                    while Date().timeIntervalSince(start) < seconds {
                        let begun = DispatchTime.now().uptimeNanoseconds
                        try await save(number % 10_000, in: database)
                        waits.append(Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e6)
                        number += count
                    }
                    return waits
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        var figure = BenchFigure(path: path, since: start, milliseconds: waits)
        figure.countProcessors(of: nodes, since: before)
        for container in containers { await container.close() }
        return figure
    }

    /// Replaces a record, one of many.
    func save(_ number: Int, in database: Database) async throws {
        try await database.save([Bench.note(number)], .allKeys)
    }
}

extension BenchFigure {
    /// Adds the resources that nodes and client have used since a moment.
    fileprivate mutating func countProcessors(
        of nodes: [Int32],
        since before: (nodes: [ProcessUse?], client: ProcessUse)
    ) {
        let each = Double(max(1, operations))
        let client = ProcessUse.own().cpuMicroseconds - before.client.cpuMicroseconds
        clientMicroseconds = client / each
        let used = zip(nodes, before.nodes).map { node, before in
            before.flatMap { before in
                ProcessUse.of(node).map { $0.cpuMicroseconds - before.cpuMicroseconds }
            }
        }
        guard !used.contains(nil) else { return }
        serverMicroseconds = used.compactMap(\.self).reduce(0, +) / each
    }
}
