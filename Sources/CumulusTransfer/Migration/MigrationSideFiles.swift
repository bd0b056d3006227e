// The files beside a state file: what waits in each lane, and the tokens of users at the source.
//
// `MigrationFile` has them. What waits is added to the end of a lane's file before the state says
// that it counts, so that many names are not written with each page anew; what a migration added
// and the state does not count is cut off. A token is on the disk before the next request uses it.

import Crypto
import CumulusModel
import CumulusSystem
import CumulusTerminal
import Synchronization

/// The files of what waits: one for each lane in which something does.
struct WaitingFiles {
    private struct Entry {
        var waiting: MigrationWaiting
        var mark: MigrationWaiting.Mark
    }

    private let folder: String
    private var entries: [MigrationLane: Entry] = [:]
    /// Files that count no more once the state is written.
    private var stale: [String] = []

    init(_ folder: String) throws {
        self.folder = folder
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw OutputProblem("\(folder) can't be made")
        }
    }

    private func path(_ lane: MigrationLane, _ number: Int64) -> String {
        let parts = [
            lane.caller, lane.database.name, lane.zone.owner, lane.zone.name, lane.type ?? "",
        ]
        let text = JSON.array(parts.map { .string($0) } + [.bool(lane.type == nil)]).text
        let name = Bytes(SHA256.hash(data: Bytes(text.utf8)).prefix(16)).hex
        return "\(folder)/\(name)-\(number)"
    }

    /// What waits, as far as a state's mark says.
    mutating func read(
        _ lane: MigrationLane,
        _ mark: MigrationWaiting.Mark
    ) throws -> MigrationWaiting {
        let path = path(lane, mark.number)
        guard let file = try? OpenFile(reading: path), let data = try? file.readToEnd(),
            data.count >= mark.bytes
        else { throw InputProblem("\(path) is missing or damaged, and the state needs it") }
        var waiting = MigrationWaiting()
        do {
            for line in data.prefix(Int(mark.bytes)).split(separator: UInt8(ascii: "\n")) {
                try waiting.add(try JSONReader.read(line))
            }
        } catch {
            throw InputProblem("\(path) is damaged: \(error)")
        }
        entries[lane] = Entry(waiting: waiting, mark: mark)
        return waiting
    }

    /// Writes what waits now; the mark goes into the state, nil where nothing waits.
    mutating func write(
        _ lane: MigrationLane,
        _ waiting: MigrationWaiting
    ) throws -> MigrationWaiting.Mark? {
        let old = entries[lane]
        if let old, old.waiting == waiting { return old.mark }
        if waiting.isEmpty {
            forget(lane)
            return nil
        }
        var mark = MigrationWaiting.Mark(number: (old?.mark.number ?? -1) + 1, bytes: 0)
        var added = waiting
        if let old, let addition = waiting.addition(to: old.waiting) {
            (mark, added) = (old.mark, addition)
        } else {
            forget(lane)
        }
        let line = Bytes((added.json.text + "\n").utf8)
        try add(line, to: path(lane, mark.number), at: mark.bytes)
        mark.bytes += Int64(line.count)
        entries[lane] = Entry(waiting: waiting, mark: mark)
        return mark
    }

    private func add(_ bytes: Bytes, to path: String, at place: Int64) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw OutputProblem("\(path) can't be written") }
        let file = OpenFile(descriptor)
        guard ftruncate(descriptor, off_t(place)) == 0,
            lseek(descriptor, off_t(place), SEEK_SET) == off_t(place)
        else { throw OutputProblem("\(path) can't be written") }
        try put(Data(bytes), to: file, path)
        do {
            try file.flush()
            if place == 0 { try Files.flush(folder) }
        } catch {
            throw OutputProblem("\(path) can't be written")
        }
    }

    private mutating func forget(_ lane: MigrationLane) {
        guard let entry = entries.removeValue(forKey: lane) else { return }
        stale.append(path(lane, entry.mark.number))
    }

    /// Forgets lanes that are gone.
    mutating func keep(only lanes: some Collection<MigrationLane>) {
        guard entries.keys.contains(where: { !lanes.contains($0) }) else { return }
        for lane in entries.keys where !lanes.contains(lane) { forget(lane) }
    }

    /// Removes the files that no state names any more.
    mutating func clean() {
        for path in stale { unlink(path) }
        stale = []
    }
}

/// Tokens of users at the source as the service renewed them last, by the SHA-256 of the token with
/// which it began.
final class MigrationTokens: Sendable {
    private let path: String
    private let tokens: Mutex<[String: String]>

    init(_ path: String, _ tokens: [String: String]) {
        self.path = path
        self.tokens = Mutex(tokens)
    }

    subscript(key: String) -> String? { tokens.withLock { $0[key] } }

    func keep(_ key: String, _ token: String) throws {
        let tokens = tokens.withLock { tokens in
            tokens[key] = token
            return tokens
        }
        try MigrationFile.replace(path, with: MigrationState.object(tokens))
    }
}
