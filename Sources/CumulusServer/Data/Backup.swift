// Backups: a directory that holds all a node needs, made while it runs; and a new node's data made
// from one.
//
// A backup is laid out like a data directory: to go back to one, put it in its place. Both ways a
// directory takes its name when it is whole.

import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusSystem
import RocksDBStorage

enum Backup {
    /// Makes the backup.
    ///
    /// - Parameter home: The node's own data.
    static func make(
        of engine: any StorageEngine,
        _ packs: any PackFiles,
        in home: DataHome,
        key: [UInt8],
        token: [UInt8],
        at path: String
    ) throws(ServiceError) -> (bytes: UInt64, files: UInt32) {
        let target = try place(path, outside: home)
        do {
            let draft = try DraftDirectory(for: target)
            try engine.copy(to: draft.path + "/store")
            // The packs are copied after the store, so all packs that it names are there.
            try packs.copy(to: draft.path + "/assets")
            let copy = try DataHome(draft.path)
            try copy.write(key.hex + "\n", to: draft.path + "/cluster.key")
            try copy.write(String(decoding: token, as: UTF8.self) + "\n", to: copy.tokenFile)
            let size = try size(of: draft.path)
            try draft.finish()
            return size
        } catch {
            throw failure(error, at: target)
        }
    }

    /// The answer of a node whose store is in a database.
    static let ofDatabase = ServiceError(
        .invalidArguments,
        """
        no backup was made: the store of this node is in a database, with its assets and keys; \
        back up the database, such as with pg_dump or pg_basebackup
        """
    )

    /// The place of a backup: a new directory outside of the node's data.
    private static func place(
        _ path: String,
        outside home: DataHome
    ) throws(ServiceError) -> String {
        var target = path
        while target.count > 1, target.hasSuffix("/") { target.removeLast() }
        guard target.hasPrefix("/"), !target.contains("\0") else {
            throw unfit("'\(path)' is no absolute path on the node's machine")
        }
        guard !FileManager.default.fileExists(atPath: target) else {
            throw unfit("\(target) is there already; name a new directory")
        }
        let folder = URL(filePath: target).deletingLastPathComponent().path
        guard let parent = realPath(folder) else {
            throw unfit("\(folder) can't be found: \(systemText())")
        }
        guard !"\(parent)/".hasPrefix("\(realPath(home.path) ?? home.path)/") else {
            throw unfit("\(target) is in the node's own data directory; name one outside of it")
        }
        return target
    }

    /// The path without links; nil if there is no such directory.
    private static func realPath(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    private static func unfit(_ why: String) -> ServiceError {
        ServiceError(.invalidArguments, "no backup was made: \(why)")
    }

    private static func failure(_ error: any Error, at target: String) -> ServiceError {
        let why = if case EngineError.failed(let text) = error { text } else { "\(error)" }
        // Both the engine's error and this file's are text.
        let isFull =
            error as? PackError == .full
            || [ENOSPC, EDQUOT].contains { why.contains(String(cString: strerror($0))) }
        guard isFull else {
            return ServiceError(.internalError, "no backup was made at \(target): \(why)")
        }
        return ServiceError(
            .serviceUnavailable,
            .diskFull,
            "no backup was made: the disk of \(target) is full; free space, or name another one"
        )
    }

    /// Makes the data directory of a new node from a backup of another one; one that has a store
    /// is left as it is, and one that has anything else is refused.
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
            throw StartProblem("\(backup) holds no backup of a node")
        }
        if isDraft(backup) { throw unfinished(\.node.fromBackup, backup) }
        // Written between its packs and its store: an earlier try ended there.
        let unfinished = home.path + "/restore" + DraftDirectory.ending
        if manager.fileExists(atPath: unfinished) { try? manager.removeItem(atPath: home.assets) }
        try checkEmpty(home)
        let draft = try DraftDirectory(for: home.store)
        var assets: DraftDirectory?
        // Without them the new node asks others for the missing chunks.
        if manager.fileExists(atPath: backup + "/assets") {
            let copy = try DraftDirectory(for: home.assets)
            do {
                try PackDirectory(backup + "/assets").copy(to: copy.path)
            } catch {
                throw StartProblem("\(backup)/assets can't be copied: \(error)")
            }
            assets = copy
        }
        do {
            try manager.removeItem(atPath: draft.path)
            try manager.copyItem(atPath: backup + "/store", toPath: draft.path)
            // The engine makes its folders for everybody to look into.
            chmod(draft.path, 0o700)
            let engine = try RocksDBEngine(directory: draft.path, profile: profile)
            var dice = NodeDice(environment)
            try OpenStore.rename(engine, using: &dice)
        } catch let failure as OpenStore.Failure {
            throw StartProblem("\(backup): \(failure.message)")
        } catch {
            throw StartProblem("\(backup) can't be copied: \(error)")
        }
        let key = home.path + "/cluster.key"
        if !manager.fileExists(atPath: key),
            let text = try? String(contentsOfFile: backup + "/cluster.key", encoding: .utf8)
        {
            try home.write(text, to: key)
        }
        try home.write("", to: unfinished)
        try assets?.finish()
        try draft.finish()
        try? manager.removeItem(atPath: unfinished)
        return true
    }

    /// Refuses a data directory that a backup made and did not finish.
    static func checkFinished(_ home: DataHome) throws {
        if isDraft(home.path) { throw unfinished(\.node.data, home.path) }
    }

    /// Refuses to begin with an empty store where a backup or a restore has begun to make one.
    static func checkDrafts(of home: DataHome) throws {
        if home.hasStore { return }
        let place = realPath(home.path) ?? home.path
        for draft in [place, home.store].map({ $0 + DraftDirectory.ending })
        where FileManager.default.fileExists(atPath: draft) {
            throw StartProblem(
                """
                \(home.path) has no store, and a backup or a restore that was not finished left \
                \(draft): start with --from-backup and a whole backup; or delete \(draft) to \
                begin with an empty node
                """
            )
        }
    }

    private static func isDraft(_ path: String) -> Bool {
        (realPath(path) ?? path).hasSuffix(DraftDirectory.ending)
    }

    private static func unfinished(
        _ setting: Configuration.Text,
        _ path: String
    ) -> StartProblem {
        StartProblem(setting, "\(path) is a backup that was not finished; name a whole one")
    }

    /// Nothing that stands there may be lost, or get between what a backup holds.
    ///
    /// A key may be there first, and what an earlier try left.
    private static func checkEmpty(_ home: DataHome) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: home.path).filter {
            $0 != "cluster.key" && $0 != "lost+found" && !$0.hasSuffix(DraftDirectory.ending)
        }
        guard names.isEmpty else {
            throw StartProblem(
                """
                \(home.path) is not empty (\(names.sorted().joined(separator: ", "))): name an \
                empty directory for what is in the backup, or move away what is there
                """
            )
        }
    }

    private static func size(of path: String) throws -> (bytes: UInt64, files: UInt32) {
        var (bytes, files): (UInt64, UInt32) = (0, 0)
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            guard let size = Files.size(of: "\(path)/\(name)") else { continue }
            bytes += size
            files += 1
        }
        return (bytes, files)
    }
}

/// A directory in the making, beside the place that it is for; gone unless it is finished.
private final class DraftDirectory {
    static let ending = ".cumulus-partial"

    let path: String
    private let target: String
    private var isFinished = false

    init(for target: String) throws {
        self.target = target
        path = target + DraftDirectory.ending
        // Removes the leftovers of an earlier try.
        try? FileManager.default.removeItem(atPath: path)
        guard mkdir(path, 0o700) == 0 else {
            throw StartProblem("\(path) can't be made: \(systemText())")
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
            throw StartProblem("\(target) can't be named: \(systemText())")
        }
        isFinished = true
        try flush(URL(filePath: target).deletingLastPathComponent().path)
    }

    private func flush(_ path: String) throws {
        do {
            try Files.flush(path)
        } catch {
            throw StartProblem("\(path) can't be flushed: \(error)")
        }
    }
}
