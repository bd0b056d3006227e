// The state file of a migration, and the folder for assets on their way.
//
// One process has a state file at a time. The file is replaced as a whole, so that a migration that
// was killed leaves the state before or after a page. Users may be many, and seldom come: they are
// in a file beside it, which is written before the state that needs them. So is what waits, and so
// are the tokens of users at the source; only the owner of the files can read them.

import CumulusModel
import CumulusSystem
import CumulusTerminal

final class MigrationFile {
    private let path: String
    /// Holds the lock until the process ends.
    private let lock: OpenFile
    /// How many users are on the disk.
    private var userCount = 0
    private var waiting: WaitingFiles
    let tokens: MigrationTokens
    /// Where assets are between the two sides.
    let folder: String

    /// - Throws: `InputProblem` if another process has the file; `OutputProblem` if it can't be
    ///   made.
    init(_ path: String) throws {
        self.path = path
        // No folder of anybody else has this name: what is in it goes.
        folder = path + ".files-on-their-way"
        guard let lock = try? OpenFile(emptying: path + ".lock") else {
            throw OutputProblem("\(path).lock can't be written")
        }
        guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw InputProblem("another migration is at work with \(path)")
        }
        self.lock = lock
        waiting = try WaitingFiles(path + ".waiting")
        tokens = MigrationTokens(path + ".tokens", try MigrationFile.tokens(path + ".tokens"))
        do {
            // What an interrupted migration left is fetched again.
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw OutputProblem("\(folder) can't be made")
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
        // It stays while something waits.
        rmdir(path + ".waiting")
    }

    /// nil if there is no file yet.
    func read() throws -> MigrationState? {
        guard var state = try read(path) else { return nil }
        if let users = try read(path + ".users") {
            state.users.merge(users.users) { own, _ in own }
            userCount = state.users.count
        }
        for (lane, progress) in state.lanes {
            guard let mark = progress.mark else { continue }
            state.lanes[lane]?.waiting = try waiting.read(lane, mark)
        }
        return state
    }

    private func read(_ path: String) throws -> MigrationState? {
        try MigrationFile.json(path).map { try MigrationState($0) }
    }

    /// nil if there is no such file.
    private static func json(_ path: String) throws -> JSON? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let file = try? OpenFile(reading: path), let data = try? file.readToEnd() else {
            throw InputProblem("\(path) can't be read")
        }
        do {
            return try JSONReader.read(data)
        } catch {
            throw InputProblem("\(path) is no file of a migration: \(error.message)")
        }
    }

    private static func tokens(_ path: String) throws -> [String: String] {
        guard case .object(let members)? = try json(path) else { return [:] }
        var tokens: [String: String] = [:]
        for member in members {
            if case .string(let text) = member.value { tokens[member.key] = text }
        }
        return tokens
    }

    func write(_ state: MigrationState) throws {
        if state.users.count != userCount {
            var users = MigrationState(source: state.source, target: state.target)
            users.users = state.users
            try MigrationFile.replace(path + ".users", with: users.json)
            userCount = state.users.count
        }
        var rest = state
        rest.users = [:]
        for (lane, progress) in state.lanes {
            let mark = try waiting.write(lane, progress.waiting)
            rest.lanes[lane]?.mark = mark
            rest.lanes[lane]?.waiting = MigrationWaiting()
        }
        waiting.keep(only: state.lanes.keys)
        try MigrationFile.replace(path, with: rest.json)
        waiting.clean()
    }

    static func replace(_ path: String, with json: JSON) throws {
        do throws(FileProblem) {
            try Files.replace(path, with: Array((json.text + "\n").utf8))
        } catch {
            throw OutputProblem("\(path) can't be written: \(error)")
        }
    }
}
