// Backups: a directory that holds all a node needs, made while it runs; and a new node's data made
// from one.
//
// A backup is laid out like a data directory: to go back to one, put it in its place. Both ways a
// directory takes its name when it is whole.

import CumulusModel
import CumulusNode
import CumulusStorage
import Foundation
import RocksDBStorage

enum Backup {
    /// Makes the backup.
    ///
    /// Throws `Configuration.Problem`.
    static func make(
        of engine: any StorageEngine,
        _ packs: any PackFiles,
        key: [UInt8],
        token: [UInt8],
        at path: String
    ) throws -> (bytes: UInt64, files: UInt32) {
        guard path.hasPrefix("/"), !path.contains("\0") else {
            throw problem("'\(path)' is no absolute path on the node's machine")
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw problem("\(path) is there already; name a new directory")
        }
        let draft = try DraftDirectory(for: path)
        do {
            try engine.copy(to: draft.path + "/store")
        } catch {
            throw problem("the store can't be copied: \(error)")
        }
        do {
            // After the store: all packs that it names are there.
            try packs.copy(to: draft.path + "/assets")
        } catch {
            throw problem("the assets can't be copied: \(error)")
        }
        let home = try DataHome(draft.path)
        try home.write(key.hex + "\n", to: draft.path + "/cluster.key")
        try home.write(String(decoding: token, as: UTF8.self) + "\n", to: home.tokenFile)
        let size = try size(of: draft.path)
        try draft.finish()
        return size
    }

    /// Makes the data directory of a new node from a backup of another one; one that has a store
    /// is left as it is.
    ///
    /// The new node has a name of its own. Returns whether it was made.
    static func restore(
        _ backup: String,
        to home: DataHome,
        _ profile: MemoryProfile,
        _ environment: NodeEnvironment
    ) throws -> Bool {
        let manager = FileManager.default
        guard !manager.fileExists(atPath: home.store) else { return false }
        guard manager.fileExists(atPath: backup + "/store/CURRENT") else {
            throw problem("\(backup) holds no backup of a node")
        }
        let draft = try DraftDirectory(for: home.store)
        // Without them the new node asks others for what is missing.
        if manager.fileExists(atPath: backup + "/assets") {
            do {
                // What an earlier try left.
                try? manager.removeItem(atPath: home.assets)
                try PackDirectory(backup + "/assets").copy(to: home.assets)
            } catch {
                throw problem("\(backup)/assets can't be copied: \(error)")
            }
        }
        do {
            try manager.removeItem(atPath: draft.path)
            try manager.copyItem(atPath: backup + "/store", toPath: draft.path)
            let engine = try RocksDBEngine(directory: draft.path, profile: profile)
            var dice = NodeDice(environment)
            try OpenStore.rename(engine, using: &dice)
        } catch let failure as OpenStore.Failure {
            throw problem("\(backup): \(failure.message)")
        } catch {
            throw problem("\(backup) can't be copied: \(error)")
        }
        let key = home.path + "/cluster.key"
        if !manager.fileExists(atPath: key),
            let text = try? String(contentsOfFile: backup + "/cluster.key", encoding: .utf8)
        {
            try home.write(text, to: key)
        }
        try draft.finish()
        return true
    }

    private static func size(of path: String) throws -> (bytes: UInt64, files: UInt32) {
        var (bytes, files): (UInt64, UInt32) = (0, 0)
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            bytes += (attributes[.size] as? NSNumber)?.uint64Value ?? 0
            files += 1
        }
        return (bytes, files)
    }

    fileprivate static func problem(_ message: String) -> Configuration.Problem {
        Configuration.Problem(message: message)
    }
}

/// A directory in the making, beside the place that it is for; gone unless it is finished.
private final class DraftDirectory {
    let path: String
    private let target: String
    private var isFinished = false

    init(for target: String) throws {
        self.target = target
        path = target + ".cumulus-partial"
        // What an earlier try left.
        try? FileManager.default.removeItem(atPath: path)
        guard mkdir(path, 0o700) == 0 else {
            throw Backup.problem("\(path) can't be made: \(String(cString: strerror(errno)))")
        }
    }

    deinit {
        if !isFinished { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Gives it its name, once all that is in it is on the disk.
    func finish() throws {
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            try flush("\(path)/\(name)")
        }
        try flush(path)
        guard rename(path, target) == 0 else {
            throw Backup.problem("\(target) can't be named: \(String(cString: strerror(errno)))")
        }
        isFinished = true
        try flush(URL(filePath: target).deletingLastPathComponent().path)
    }

    private func flush(_ path: String) throws {
        let descriptor = open(path, O_RDONLY)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw Backup.problem("\(path) can't be flushed: \(String(cString: strerror(errno)))")
        }
    }
}

extension Configuration.Problem: CustomStringConvertible {
    var description: String { message }
}
