// The bounds of a transfer's parts alone, in megabytes a second: the disk, writing a file, SHA-256,
// zstd, a copy over loopback.
//
// Measured in this process beside the figures of `Bench+Asset`, for half a second each.

import Crypto
import CumulusAssets
import CumulusModel
import Foundation

struct BenchAssetBounds {
    let folder: String
    private static let block = 1_000_000
    private static let enough = Duration.milliseconds(500)

    /// Files of two megabytes, each flushed, in a folder that is flushed too: as the node packs.
    func disk() throws -> BenchFigure.Bound {
        let bytes = noise + noise
        let place = "\(folder)/bound-disk"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: place) }
        let directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(directory) }
        var number = 0
        return try rate("disk", blocks: 2) {
            number += 1
            let file = open("\(place)/\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(file) }
            guard write(file, bytes, bytes.count) == bytes.count, fdatasync(file) == 0,
                fsync(directory) == 0
            else { throw BenchProblem(message: "\(place) can't be written") }
        }
    }

    /// Into a new file, without a flush: as a download ends.
    func fileWrite() throws -> BenchFigure.Bound {
        let bytes = noise
        let path = "\(folder)/bound-file"
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            unlink(path)
        }
        return try rate("file write") {
            guard write(file, bytes, bytes.count) == bytes.count else {
                throw BenchProblem(message: "\(path) can't be written")
            }
        }
    }

    /// The rate on all processors.
    func hash() -> BenchFigure.Bound {
        let bytes = noise
        let processors = ProcessInfo.processInfo.activeProcessorCount
        return rate("SHA-256", blocks: 8 * processors) {
            DispatchQueue.concurrentPerform(iterations: processors) { _ in
                for _ in 0..<8 { _ = SHA256.hash(data: bytes) }
            }
        }
    }

    /// The rate on one processor.
    func compression() -> BenchFigure.Bound {
        let codec = ChunkCodec()
        let text =
            FileManager.default.contents(atPath: "\(folder)/text")?.prefix(Self.block) ?? Data()
        let bytes = [UInt8](text)[...]
        return rate("zstd, a core") {
            _ = codec.chunk(bytes, digest: [])
        }
    }

    /// The rate from one thread to another through a socket pair.
    func socketCopy() throws -> BenchFigure.Bound {
        let bytes = noise
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw BenchProblem(message: "no socket pair could be made")
        }
        let (writing, reading) = (ends[0], ends[1])
        let reader = Thread {
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while read(reading, &room, room.count) > 0 {}
            close(reading)
        }
        reader.start()
        defer { close(writing) }
        return try rate("socket copy") {
            var written = 0
            while written < bytes.count {
                let count = bytes.withUnsafeBytes { bytes in
                    write(writing, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                }
                guard count > 0 else { throw BenchProblem(message: "a socket pair broke") }
                written += count
            }
        }
    }

    private var noise: [UInt8] {
        var dice = SeededGenerator(seed: 7)
        return BenchContent.bytes(Self.block, &dice)
    }

    private func rate(
        _ name: String,
        blocks: Int = 1,
        _ work: () throws -> Void
    ) rethrows -> BenchFigure.Bound {
        let began = ContinuousClock.now
        var count = 0
        while ContinuousClock.now - began < Self.enough {
            try work()
            count += blocks
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        return BenchFigure.Bound(name: name, perSecond: Double(count) / seconds)
    }
}
