// The path `replicate`: a node that was not there catches up, by the log and by the state of
// another one, and how soon it shows what that one saves.
//
// Records have 300 bytes. The rate of the batches that filled the first node, measured in the same
// run, stands beside the rates of catching up.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

extension Bench {
    func replicate(_ cleanup: Cleanup) async throws -> [BenchFigure] {
        let directory = try BenchDirectory.make(cleanup)
        let cluster = BenchCluster(options, directory, cleanup)
        defer { cluster.stopAll() }
        try await cluster.start("first")
        let filled = try await fill(cluster)
        let bound = BenchFigure.Bound(name: "batch", perSecond: filled.perSecond)

        var byLog = try await catchUp("catch-up by log", "log", cluster)
        byLog.compare(with: [bound])
        byLog.expect(ratio: 0.8)
        cluster.stopAll()

        // Alone, the first node keeps no log that others might need.
        let first = try await cluster.start("first", logSeconds: 1)
        try await forgetOthers(first, cluster)
        var byState = try await catchUp("catch-up by state", "state", cluster)
        byState.compare(with: [bound])

        // A node that has the records may lack the user who reads them.
        try await cluster.waitUntilEqual(seconds: 120)
        let flush = try BenchBounds(options, directory, cleanup).flush()
        let shown = try await show(cluster, flush)
        let copies = try await copies(cluster)
        cluster.stopAll()
        let spread = try await spread(cleanup)
        return [filled, byLog, byState, shown] + copies + spread
    }

    /// Saves all records on the first node, in batches.
    private func fill(_ cluster: BenchCluster) async throws -> BenchFigure {
        let container = cluster.container(cluster.members[0], connections: options.connections)
        let start = Date()
        let (database, lanes) = (container.privateCloudDatabase, options.connections)
        let all = 0..<options.records
        try await BenchLanes.run(all.batches, lanes: lanes, "saving records") { numbers, _ in
            try await database.save(numbers.map(Bench.note), .ifServerRecordUnchanged)
        }
        await container.close()
        return figure("batch of 300 bytes", since: start, cluster.members[0])
    }

    /// A record of about 300 bytes.
    static func note(_ number: Int) -> Record {
        var dice = SeededGenerator(seed: UInt64(number))
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        let text = (0..<240).map { _ in UInt8.random(in: letters, using: &dice) }
        var record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: "note-\(number)")
        )
        record["text"] = .string(String(decoding: text, as: UTF8.self))
        record["number"] = .int64(Int64(number))
        return record
    }

    private func figure(
        _ path: String,
        since start: Date,
        _ member: BenchNode
    ) -> BenchFigure {
        let seconds = Date().timeIntervalSince(start)
        let use = ProcessUse.of(member.process.id)
        return BenchFigure(
            path: path,
            start: start.formatted(.iso8601),
            seconds: seconds,
            operations: options.records,
            perSecond: Double(options.records) / seconds,
            serverMicroseconds: use.map { $0.cpuMicroseconds / Double(options.records) },
            serverResident: use?.resident,
            serverPeakResident: use?.peakResident
        )
    }

    // MARK: Catching up

    /// Starts an empty node, and waits until it holds what the first one does.
    private func catchUp(
        _ path: String,
        _ name: String,
        _ cluster: BenchCluster
    ) async throws -> BenchFigure {
        let wanted = try await cluster.members[0].operate {
            try await BenchCluster.digest($0)
        }
        let progress = BenchProgress("measuring \(path)")
        defer { progress.end() }
        let start = Date()
        let follower = try await cluster.start(name)
        try await follower.operate { node in
            let end = Date(timeIntervalSinceNow: 600)
            while try await BenchCluster.digest(node) != wanted {
                guard Date() < end else {
                    throw BenchProblem(message: "\(path): not done after 600 s")
                }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
        return figure(path, since: start, follower)
    }

    /// Takes all other nodes off the list, and waits until the log is gone.
    private func forgetOthers(
        _ first: BenchNode,
        _ cluster: BenchCluster
    ) async throws {
        try await first.operate { node in
            for member in try await node.members() where !member.isThis && !member.isRemoved {
                _ = try await node.removeMember(member.nodeID)
            }
        }
        try await Task.sleep(for: .seconds(4))
    }

    // MARK: Showing

    /// Saves on the first node, and reads on the last one in the same session at once: from the
    /// answer of the one to the answer of the other.
    private func show(
        _ cluster: BenchCluster,
        _ flush: BenchFigure.Bound
    ) async throws -> BenchFigure {
        let progress = BenchProgress("measuring: shown by a peer")
        defer { progress.end() }
        let start = Date()
        let waits = try await waits(cluster, until: start.addingTimeInterval(options.seconds))
        var figure = BenchFigure(path: "shown by a peer", since: start, milliseconds: waits)
        figure.compare(with: [flush])
        return figure
    }

    /// How long each of many saves on the first node was not shown by the last one yet, in
    /// milliseconds from when it was answered.
    func waits(_ cluster: BenchCluster, until end: Date) async throws -> [Double] {
        let writer = cluster.container(cluster.members[0])
        let reader = cluster.container(cluster.members[cluster.members.count - 1])
        var waits: [Double] = []
        while Date() < end {
            let record = Bench.note(waits.count % options.records)
            try await writer.privateCloudDatabase.save([record], .allKeys)
            let saved = DispatchTime.now().uptimeNanoseconds
            reader.join(writer.session)
            _ = try await reader.privateCloudDatabase.record(for: record.recordID)
            waits.append(Double(DispatchTime.now().uptimeNanoseconds - saved) / 1e6)
        }
        await writer.close()
        await reader.close()
        return waits
    }
}
