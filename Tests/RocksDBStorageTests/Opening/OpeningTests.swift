// Opening a data directory: refusals with their lines, and states that are accepted.

import CumulusModel
import CumulusStorage
import Foundation
import RocksDBStorage
import Synchronization
import Testing

@Suite struct OpeningTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aDirectoryInUseIsLocked() throws {
        let store = folder.store()
        try store.use { _ throws in
            let refusal = try store.refusal()
            #expect(refusal == .locked(directory: store.path))
            #expect("\(refusal)" == "\(store.path) is in use by another process")
        }
        try store.use { _ in }
    }

    /// It closed its descriptor twice: the second time it could be somebody else's.
    @Test func aRefusalClosesNothingElse() throws {
        let store = folder.store()
        try store.use { _ throws in
            let isOver = Atomic<Bool>(false)
            let lost = Atomic<Int>(0)
            let ended = DispatchSemaphore(value: 0)
            Thread {
                while !isOver.load(ordering: .relaxed) {
                    let file = open("/dev/null", O_RDONLY)
                    for _ in 0..<20 where fcntl(file, F_GETFD) < 0 {
                        lost.wrappingAdd(1, ordering: .relaxed)
                    }
                    close(file)
                }
                ended.signal()
            }.start()
            for _ in 0..<2_000 { _ = try store.refusal() }
            isOver.store(true, ordering: .relaxed)
            ended.wait()
            #expect(lost.load(ordering: .relaxed) == 0)
        }
    }

    @Test func lessFreeThanTheReserveIsRefusedBeforeAnythingIsWritten() throws {
        let store = folder.store()
        let refusal = try store.refusal(reserve: .max)
        guard case .diskFull(store.path, _, .max) = refusal else { throw refusal }
        #expect(try store.files { _ in true } == [])
    }

    @Test func aMissingParentIsUnusable() throws {
        let path = folder.store().path
        #expect(
            throws: RocksDBError.unusable(
                directory: "\(path)/deeper",
                reason: "No such file or directory"
            )
        ) { try RocksDBEngine(directory: "\(path)/deeper", profile: .small, reserve: 0) }
    }

    @Test func aMissingCurrentIsDamageAndNoNewStore() throws {
        let store = folder.store()
        try store.use { try $0.commit(.writing(.meta, [([1], [1])])) }
        let current = try store.contents("CURRENT")
        try FileManager.default.removeItem(atPath: "\(store.path)/CURRENT")
        #expect(try store.refusal() == .currentMissing(directory: store.path))
        try current.write(to: URL(filePath: "\(store.path)/CURRENT"))
        try store.use { engine throws in #expect(try engine.get(.meta, [1], reach: .disk) == [1]) }
    }

    @Test func aCurrentThatNamesNoFileIsDamage() throws {
        let store = folder.store()
        try store.use { _ in }
        try store.change("CURRENT") { $0[10] ^= 1 }
        #expect(try store.refusal() == .damaged(file: "\(store.path)/CURRENT", offset: 0))
    }

    /// A crash between the first files of a new store leaves no CURRENT and no rows.
    @Test func aStoreThatWasCutWhileBeingMadeIsMade() throws {
        let store = folder.store()
        try FileManager.default.createDirectory(
            atPath: store.path,
            withIntermediateDirectories: false
        )
        try Data([1, 2, 3]).write(to: URL(filePath: "\(store.path)/MANIFEST-000001"))
        try store.use { try $0.commit(.writing(.meta, [([1], [1])])) }
    }

    /// Bytes of the list of tables, each flipped on its own, never pass for whole.
    ///
    /// The last entry can't be told from one that was cut, so there a note is enough.
    @Test func aFlippedByteInTheListOfTablesIsNoticed() throws {
        let store = folder.store()
        for round in 0..<2 {
            try store.use { try $0.commit(.writing(.meta, [(bytes(round), [])])) }
        }
        let manifest = try store.manifest()
        let size = try store.contents(manifest).count
        for offset in stride(from: 0, to: size, by: 7) {
            let copy = try folder.copy(of: store)
            try copy.change(manifest) { $0[offset] ^= 0x10 }
            do {
                let engine = try copy.open()
                #expect(!engine.notes.isEmpty, "byte \(offset) of \(size)")
            } catch {
                switch error {
                case .damaged, .unusable, .endMissing, .logGap: break
                default: throw error
                }
            }
        }
    }
}
