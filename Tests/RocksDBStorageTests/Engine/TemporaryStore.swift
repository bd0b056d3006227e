// Data directories for one test: opened, damaged, opened again, and gone with the test.

import CumulusModel
import CumulusStorage
import Foundation
import RocksDBStorage
import Testing

/// Owns the directories of a test: a suite holds one, so they are there until the test has ended.
final class TemporaryFolder: Sendable {
    private let path: String

    init() throws {
        let name = "cumulus-rocksdb-\(UUID().uuidString)"
        path = FileManager.default.temporaryDirectory.appending(path: name).path()
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A place for a store, where nothing is yet.
    func store() -> TemporaryStore {
        TemporaryStore(path: "\(path)/\(UUID().uuidString)")
    }

    /// The same files in another directory.
    func copy(of store: TemporaryStore) throws -> TemporaryStore {
        let copy = self.store()
        try FileManager.default.copyItem(atPath: store.path, toPath: copy.path)
        return copy
    }

    /// The files of an open store, as its process would leave them if it were killed now.
    ///
    /// RocksDB must have nothing to do. A file that is just being replaced is tried again.
    func copy(
        of store: TemporaryStore,
        openIn engine: RocksDBEngine
    ) throws -> TemporaryStore {
        defer { withExtendedLifetime(engine) {} }
        for _ in 0..<9 { if let copy = try? copy(of: store) { return copy } }
        return try copy(of: store)
    }
}

struct TemporaryStore: Sendable {
    let path: String

    /// The machine that tests need not have the free space that a server should.
    func open(
        _ profile: MemoryProfile = .small,
        reserve: UInt64 = 0,
        readOnly: Bool = false
    ) throws(RocksDBError) -> RocksDBEngine {
        try RocksDBEngine(
            directory: path,
            profile: profile,
            reserve: reserve,
            readOnly: readOnly
        )
    }

    /// What opening fails with.
    func refusal(reserve: UInt64 = 0) throws -> RocksDBError {
        do {
            _ = try open(reserve: reserve)
        } catch {
            return error
        }
        return try #require(nil, "the store opened")
    }

    /// Opens the store, runs the work and closes it.
    func use(_ work: (RocksDBEngine) throws -> Void) throws {
        try work(open())
    }

    func files(_ isWanted: (String) -> Bool) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).filter(isWanted).sorted()
    }

    /// The files of the journal, spare ones too.
    func segments() throws -> [String] {
        try files { $0.hasSuffix(".journal") }
    }

    /// The newest log of RocksDB, which only earlier releases wrote.
    func newestLog() throws -> String {
        try #require(try files { $0.hasSuffix(".log") }.last)
    }

    /// The number of the last record that `journal.end` names.
    func noted() throws -> UInt64 {
        try contents("journal.end").prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Waits until `journal.end` names this record, which takes about a second.
    func waitForEnd(at sequence: UInt64) throws {
        for _ in 0..<1_000 {
            if try noted() == sequence { return }
            usleep(10_000)
        }
        try #require(try noted() == sequence)
    }

    func remove(_ file: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(file)")
    }

    func manifest() throws -> String {
        String(decoding: try contents("CURRENT").dropLast(), as: UTF8.self)
    }

    func contents(_ file: String) throws -> Data {
        try Data(contentsOf: URL(filePath: "\(path)/\(file)"))
    }

    func change(_ file: String, _ edit: (inout Data) -> Void) throws {
        var data = try contents(file)
        edit(&data)
        try data.write(to: URL(filePath: "\(path)/\(file)"))
    }
}

extension EngineBatch {
    static func writing(_ family: Family, _ rows: [(Bytes, Bytes)]) -> EngineBatch {
        var batch = EngineBatch()
        batch.writes = rows.map { Write(family: family, key: $0.0, value: $0.1) }
        return batch
    }
}

extension EngineReader {
    func count(_ family: Family) throws -> Int {
        var count = 0
        let range = KeyRange(start: [], end: [0xff, 0xff, 0xff, 0xff])
        try scan(family, range, backwards: false) { _, _ in
            count += 1
            return true
        }
        return count
    }
}

func bytes(_ number: Int) -> Bytes {
    withUnsafeBytes(of: UInt32(number).bigEndian) { Bytes($0) }
}
