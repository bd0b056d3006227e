// The path `asset`: content up, up again, down, compressible content up, and many small files.
//
// Counted in megabytes (10^6 bytes of content), the small ones in files. Each stands beside what
// the part that limits it can do alone: the disk, SHA-256 on all processors, writing a file, zstd
// on one processor. The last row is what sockets could carry.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

extension Bench {
    func asset(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let folder = try target.directory ?? BenchDirectory.make(cleanup)
        let bounds = BenchAssetBounds(folder: folder)
        let noise = try BenchContent.noise(megabytes: options.megabytes, in: folder)
        let text = try BenchContent.text(
            megabytes: options.megabytes,
            linesOf: options.text,
            in: folder
        )
        var figures: [BenchFigure] = []

        var up = try await measure("asset up", target) { try await target.put(noise, as: "up") }
        up.compare(with: [try bounds.disk()])
        figures.append(up)

        var again = try await measure("asset again", target) {
            try await target.put(noise, as: "again")
        }
        again.compare(with: [bounds.hash()])
        figures.append(again)

        var down = try await measure("asset down", target) { try await target.get("up") }
        down.compare(with: [try bounds.fileWrite()])
        figures.append(down)

        var packed = try await measure("asset text up", target) {
            try await target.put(text, as: "text")
        }
        packed.compare(with: [bounds.compression()])
        figures.append(packed)

        var small = try await measure("asset small", target, count: BenchContent.smallFiles) {
            try await target.putSmall()
        }
        let perFile = 1e6 / Double(BenchContent.smallBytes)
        var bound = try bounds.disk()
        bound.perSecond *= perFile
        small.compare(with: [bound])
        figures.append(small)

        var sockets = try await measure("socket copy", target) {}
        sockets.perSecond = try bounds.socketCopy().perSecond
        (sockets.serverMicroseconds, sockets.clientMicroseconds) = (nil, nil)
        figures.append(sockets)
        return figures
    }

    /// Runs something once.
    ///
    /// - Parameter count: The operations of one turn; nil counts megabytes.
    private func measure(
        _ path: String,
        _ target: BenchTarget,
        count: Int? = nil,
        _ work: () async throws -> Void
    ) async throws -> BenchFigure {
        let progress = BenchProgress("measuring \(path)")
        defer { progress.end() }
        let operations = count ?? options.megabytes
        let start = Date()
        let before = BenchMeter(target)
        let began = ContinuousClock.now
        try await work()
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let use = BenchMeter(target).use(since: before)
        var figure = BenchFigure(path: path, since: start, milliseconds: [])
        figure.count(operations, seconds: seconds, use)
        return figure
    }
}

extension BenchTarget {
    /// Saves a file on a record.
    fileprivate func put(_ file: String, as name: String) async throws {
        var record = Record(recordType: "File", recordID: Record.ID(recordName: name, zoneID: zone))
        record["content"] = .asset(Asset(fileURL: URL(filePath: file)))
        try await save([record])
    }

    /// Downloads what was saved; nothing of it is here.
    fileprivate func get(_ name: String) async throws {
        let id = Record.ID(recordName: name, zoneID: zone)
        guard case .asset(let asset) = try await database.record(for: id)["content"] else {
            throw BenchProblem(message: "record '\(name)' has no asset")
        }
        _ = try await database.download(asset)
    }

    /// Saves small files, a record each, on all connections.
    fileprivate func putSmall() async throws {
        let files = 0..<BenchContent.smallFiles
        try await BenchLanes.run(files.batches, lanes: 4, "saving files", firstSeed: 10) {
            [self] numbers, dice in
            let records = numbers.map { number in
                var record = Record(
                    recordType: "File",
                    recordID: Record.ID(recordName: "small-\(number)", zoneID: zone)
                )
                let content = BenchContent.bytes(BenchContent.smallBytes, &dice)
                record["content"] = .asset(Asset(data: Data(content)))
                return record
            }
            try await save(records)
        }
    }
}
