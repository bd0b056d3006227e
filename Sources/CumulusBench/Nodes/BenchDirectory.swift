// A directory for the data of a private node and of the bounds, gone when the bench ends.
//
// It stands in the current directory, so the user of the bench chooses the disk.

import CumulusTerminal
import Foundation

enum BenchDirectory {
    /// Makes a directory beside the current one, on the same disk.
    static func make(_ cleanup: Cleanup) throws -> String {
        let manager = FileManager.default
        let current = manager.currentDirectoryPath
        try refuseMemory(current)
        let path = current + "/.cumulus-bench-" + UUID().uuidString.prefix(8).lowercased()
        cleanup.add(path: path)
        do {
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            throw BenchProblem(message: "\(path) can't be made: \(error.localizedDescription)")
        }
        return path
    }

    /// A file system in memory makes every flush free, and every figure of a save worthless.
    private static func refuseMemory(_ path: String) throws {
        guard let type = fileSystem(of: path), ["tmpfs", "ramfs"].contains(type) else { return }
        throw BenchProblem(
            message: "\(path) is on a \(type), where a flush costs nothing; go to a disk"
        )
    }

    /// The type of the file system that holds a directory; nil where the system doesn't tell.
    private static func fileSystem(of path: String) -> String? {
        guard let mounts = ProcessUse.read("/proc/self/mounts") else { return nil }
        var best: (point: Substring, type: String)?
        for line in mounts.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 2 else { continue }
            let point = words[1] == "/" ? "" : words[1]
            // The last one counts where several are mounted on one another.
            guard path == point || path.hasPrefix(point + "/"),
                point.count >= best?.point.count ?? 0
            else { continue }
            best = (point, String(words[2]))
        }
        return best?.type
    }
}
