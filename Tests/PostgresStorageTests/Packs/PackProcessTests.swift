// Packs of processes of their own: one is killed in the middle of a write, another one shows how
// much memory large packs take.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PackProcessTests {
    private static let mebibyte = SampleAsset.stream(1 << 20)
    private static let tornParts = 64

    // MARK: Torn writes

    /// What was written is there, and what was torn goes when the next process starts.
    @Test func aTornUploadGoesAtTheNextStart() async throws {
        let database = try TestDatabase()
        let url = try database.address().url
        await #expect(processExitsWith: .signal(SIGKILL)) { [url = url as String] in
            try Self.writeUntilKilled(url)
        }
        let engine = try database.open(patience: .seconds(5))
        let packs = engine.packs
        let found = try packs.all()
        #expect(found[1] == 1 << 20)
        let torn = try #require(found[2])
        #expect(torn < Self.tornParts * PackParts.size, "the child was killed too late")
        #expect(try packs.read(1, 0..<1 << 20) == Self.mebibyte)

        let store = try TestStore(engine: engine)
        var batch = EngineBatch()
        let (key, row) = (RowKey.pack(1), PackRow(length: 1 << 20).rowBytes)
        batch.writes.append(.init(family: key.family, key: key.bytes, value: row))
        try engine.commit(batch)
        try store.restart()
        #expect(try store.recover(packs) == 3)
        #expect(try packs.all() == [1: 1 << 20])
        #expect(try database.run("SELECT part FROM cumulus_pack").count == 4)
    }

    /// Runs in a process of its own, which another thread kills once parts of a pack are there.
    private static func writeUntilKilled(_ url: String) throws {
        let address = try PostgresAddress(url)
        let packs = try PostgresEngine(address).packs
        try packs.write(1, [mebibyte[...]])
        let watcher = try Session(address, application: "watcher")
        Thread.detachNewThread {
            while true {
                let answer = try? watcher.run("SELECT part FROM cumulus_pack WHERE pack = 2")
                if answer?.count ?? 0 > 0 { kill(getpid(), SIGKILL) }
                usleep(1_000)
            }
        }
        let pieces = Array(repeating: mebibyte[...], count: tornParts / 4)
        try packs.write(2, pieces)
        // It was killed before this.
        sleep(20)
    }

    // MARK: Memory

    #if os(Linux)

        /// 20 MB are written and read with the memory of some parts.
        @Test func largePacksTakeLittleMemory() async throws {
            let url = try TestDatabase().address().url
            await #expect(processExitsWith: .success) { [url = url as String] in
                let grown = try Self.growth(url)
                guard (0..<10 << 20).contains(grown) else { exit(1) }
            }
        }

        /// Bytes by which the most memory of this process rises.
        private static func growth(_ url: String) throws -> Int {
            let packs = try PostgresEngine(PostgresAddress(url)).packs
            try packs.write(1, [mebibyte[...]])
            guard try packs.read(1, 0..<mebibyte.count) == mebibyte else { return -1 }
            let before = try peak()
            try packs.write(2, Array(repeating: mebibyte[...], count: 20))
            for number in 0..<20 {
                let range = number << 20..<(number + 1) << 20
                guard try packs.read(2, range) == mebibyte else { return -1 }
            }
            return try peak() - before
        }

        private static func peak() throws -> Int {
            let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            let number = line.split(separator: " ").compactMap { Int($0) }.first
            return try #require(number) << 10
        }

    #endif
}
