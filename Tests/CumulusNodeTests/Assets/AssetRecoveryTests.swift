// What a start does where packs are gone, come back, or are another store's.

import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AssetRecoveryTests {
    private let store: TestStore
    private let packs = MemoryPacks()

    /// A store that names packs 1 and 2, both there.
    init() throws {
        store = try TestStore()
        #expect(try store.recover(packs) == 1)
        for pack: PackNumber in 1...2 {
            try packs.write(pack, [[1, 2, 3]])
            try put(.pack(pack), PackRow(length: 3))
        }
        try store.restart()
    }

    private func put(_ key: RowKey, _ row: some RowValue) throws {
        var batch = EngineBatch()
        batch.writes.append(.init(family: key.family, key: key.bytes, value: row.rowBytes))
        try store.engine.commit(batch)
    }

    private func addMember() throws {
        let scope = try #require(try store.reader.scope(.cluster))
        let stamp = Stamp(HybridTime(1), Dot(Incarnation(7), 1))
        let other = Bytes(repeating: 9, count: 16)
        try put(
            .register(scope, MemberRegister.namespace, [other]),
            RegisterRow(stamp: stamp, value: Bytes("127.0.0.1:7421".utf8))
        )
        try store.restart()
    }

    private var named: Int {
        get throws { try store.reader.rows(.records, .all(.pack)).count }
    }

    private func outcome(_ packs: MemoryPacks, mayLose: Bool = false) -> OpenStore.Failure? {
        do {
            _ = try store.recover(packs, mayLose: mayLose)
            return nil
        } catch {
            return error as? OpenStore.Failure ?? .engine(.failed("\(error)"))
        }
    }

    @Test func whatIsThereIsKept() throws {
        try packs.write(3, [[4]])
        #expect(try store.recover(packs) == 4)
        #expect(try packs.all() == [1: 3, 2: 3])
        #expect(try named == 2)
    }

    /// A node that only shows what it has tells what is gone, and leaves rows and files alone.
    @Test func whoOnlyShowsChangesNothing() throws {
        try packs.write(3, [[4]])
        packs.remove(1)
        let run = store.state.incarnation
        let found = try AssetRecovery(engine: store.engine, packs: packs, mayLose: false)
            .run(store.state, now: store.now, changesNothing: true)
        #expect(found.missing == 1)
        #expect(found.bytes == 3)
        #expect(found.next == 4)
        #expect(found.state.incarnation == run)
        #expect(try packs.all() == [2: 3, 3: 1])
        #expect(try named == 2)
    }

    @Test func onePackThatIsGoneIsNamedNoMore() throws {
        packs.remove(1)
        #expect(outcome(packs) == nil)
        #expect(try named == 1)
    }

    /// As if their disk was not mounted.
    @Test func aNodeOnItsOwnDoesNotGiveUpItsOnlyPacks() throws {
        let empty = MemoryPacks()
        #expect(outcome(empty) == .packsGone(2))
        #expect(try named == 2)
        #expect(outcome(packs) == nil)
        #expect(try packs.all().count == 2)
        #expect(outcome(empty, mayLose: true) == nil)
        #expect(try named == 0)
    }

    @Test func aMemberGoesOnAndAsksOthers() throws {
        try addMember()
        let empty = MemoryPacks()
        #expect(outcome(empty) == nil)
        #expect(try named == 0)
        #expect(outcome(empty) == nil)
    }

    @Test func packsThatComeBackAreNotTakenForTheNewOnes() throws {
        try addMember()
        #expect(outcome(MemoryPacks()) == nil)
        #expect(outcome(packs) == .otherPacks(2))
        #expect(outcome(packs, mayLose: true) == .otherPacks(2))
        #expect(try packs.all().count == 2)
    }

    @Test func packsOfAnotherStoreAreLeftAlone() throws {
        let other = try TestStore(seed: 2)
        #expect(outcome(MemoryPacks(copying: packs)) == nil)
        #expect(throws: OpenStore.Failure.otherPacks(2)) { try other.recover(packs) }
        #expect(try packs.all().count == 2)
    }

    /// As after an older release, which knew no origin and took its file for nobody's.
    @Test func anOriginThatIsGoneIsSetAgain() throws {
        let copy = MemoryPacks(packs.content)
        #expect(outcome(copy) == nil)
        let origin: PackOriginRow? = try store.reader.row(.packOrigin)
        #expect(try copy.origin() == origin?.run)
    }

    @Test func partOfPacksWithoutAnOriginIsLeftAlone() throws {
        let copy = MemoryPacks([2: [1, 2, 3]])
        #expect(outcome(copy) == .otherPacks(1))
        #expect(try named == 2 && copy.all().count == 1)
    }

    /// A store from before there was one takes what is there.
    @Test(arguments: [false, true]) func anOlderStoreGetsAnOrigin(isHalfDone: Bool) throws {
        var batch = EngineBatch()
        let key = RowKey.packOrigin
        batch.writes.append(.init(family: key.family, key: key.bytes, value: nil))
        try store.engine.commit(batch)
        let copy = isHalfDone ? MemoryPacks(copying: packs) : MemoryPacks(packs.content)
        #expect(outcome(copy) == nil)
        let origin: PackOriginRow? = try store.reader.row(.packOrigin)
        #expect(try origin != nil && copy.origin() == origin?.run)
        #expect(try copy.all().count == 2)
    }

    @Test func aDirectoryKeepsItsOriginAndSoDoesItsCopy() throws {
        let folder = try TemporaryFolder()
        let directory = try PackDirectory("\(folder.path)/assets")
        #expect(try directory.origin() == nil)
        try directory.setOrigin(Incarnation(.max))
        try directory.setOrigin(Incarnation(0x9f3a_44c1_d2e0_b7f5))
        try directory.write(1_000, [[1], [2, 3]])
        try directory.copy(to: "\(folder.path)/copy")
        for path in ["assets", "copy"] {
            let opened = try PackDirectory("\(folder.path)/\(path)")
            #expect(try opened.origin() == Incarnation(0x9f3a_44c1_d2e0_b7f5))
            #expect(try opened.all() == [1_000: 3])
        }
    }
}
