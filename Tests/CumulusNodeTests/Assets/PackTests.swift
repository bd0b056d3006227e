// The promises of packs, in memory and in a directory.

import CumulusStorage
import CumulusTesting
import Testing

@Suite struct PackTests {
    @Test func memoryConforms() throws {
        let packs = MemoryPacks()
        try PackConformance(packs) { MemoryPacks(copying: packs) }.check(seed: 1)
    }

    @Test func aDirectoryConforms() throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/assets"
        try PackConformance(PackDirectory(path)) { try PackDirectory(path) }.check(seed: 2)
    }
}
