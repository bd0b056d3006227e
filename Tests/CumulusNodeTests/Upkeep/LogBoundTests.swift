// How much disk the log of a missing member may take, unless an operator says it.

import CumulusNode
import CumulusSystem
import Foundation
import Testing

@Suite struct LogBoundTests {
    @Test(
        arguments: [
            (nil, 8 << 30), (1 << 30, (1 << 30) / 10), (80 << 30, 8 << 30), (1 << 50, 8 << 30),
        ] as [(UInt64?, UInt64)]
    )
    func aSmallDiskIsNotFilled(fileSystem: UInt64?, bound: UInt64) {
        #expect(Collector.Schedule.logBytes(onFileSystemOf: fileSystem) == bound)
    }

    @Test func theFileSystemIsKnownBeforeTheDirectoryIsMade() throws {
        let folder = FileManager.default.temporaryDirectory.path
        let size = try #require(Files.fileSystemBytes(of: folder))
        #expect(size > 1 << 20)
        #expect(Files.fileSystemBytes(of: "\(folder)/not/made") == size)
        #expect(Files.fileSystemBytes(of: "not-made") == Files.fileSystemBytes(of: "."))
        #expect(Files.fileSystemBytes(of: "/proc/not-made") == nil)
    }
}
