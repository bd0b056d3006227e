// Reads that must not go to the disk, right after a store was opened: the row as it is, or the word
// that it isn't in memory. Never another value.

import CumulusModel
import CumulusStorage
import RocksDBStorage
import Testing

@Suite struct MemoryReachTests {
    private let folder: TemporaryFolder
    private let key = bytes(7)
    private let value = Bytes(repeating: 1, count: 100)

    init() throws { folder = try TemporaryFolder() }

    /// A store of many tables doesn't open all of them at once.
    @Test func aRowOfATableThatIsNotOpenIsNotMistaken() throws {
        let store = folder.store()
        for _ in 0..<30 {
            let engine = try store.open()
            for family in Family.allCases {
                let early = read(family, engine)
                let stored = try engine.get(family, key, reach: .disk)
                #expect(early == .success(stored) || early == .failure(.notInMemory))
                let row = (key, value)
                try engine.commit(.writing(family, [row]))
            }
        }
    }

    @Test func anEmptyRowIsReadFromTheDisk() throws {
        let engine = try folder.store().open()
        let row = (key, Bytes())
        try engine.commit(.writing(.index, [row]))
        #expect(read(.index, engine) == .failure(.notInMemory))
        #expect(try engine.get(.index, key, reach: .disk) == [])
    }

    private func read(_ family: Family, _ engine: RocksDBEngine) -> Result<Bytes?, EngineError> {
        Result { () throws(EngineError) in try engine.get(family, key, reach: .memory) }
    }
}
