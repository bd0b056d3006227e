// Room for a batch that is held before it is written, and what the profiles ask of a disk.

#if os(Linux)
    import CumulusStorage
    import CumulusSystem
    import Foundation
    import Testing

    @testable import RocksDBStorage

    @Suite struct LogRoomTests {
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        /// The bytes belong to the log before they are written, and its end stays where it is.
        @Test func roomIsTakenInTheNewestLog() throws {
            let path = folder.store().path
            let directory = try DataDirectory(locking: path)
            for name in ["000004.log", "000009.log"] {
                try Data(count: 100).write(to: URL(filePath: "\(path)/\(name)"))
            }
            let room = LogRoom(directory, least: 0)
            try room.hold(3 << 20)
            func allocated(_ name: String) throws -> (size: UInt64, allocated: UInt64) {
                let file = try FileHandle(forReadingFrom: URL(filePath: "\(path)/\(name)"))
                return try #require(Files.sizes(of: file.fileDescriptor))
            }
            #expect(try allocated("000009.log").size == 100)
            #expect(try allocated("000009.log").allocated >= 3 << 20)
            #expect(try allocated("000004.log").allocated < 1 << 20)
            // It didn't grow, so there is a newer one.
            try Data(count: 100).write(to: URL(filePath: "\(path)/000010.log"))
            try room.hold(2 << 20)
            #expect(try allocated("000010.log").allocated >= 2 << 20)
        }

        @Test func withoutTheLeastNothingIsWritten() throws {
            let store = folder.store()
            try store.use { try $0.commit(.writing(.meta, [([1], [1])])) }
            let directory = try DataDirectory(locking: store.path)
            let error = #expect(throws: EngineError.self) {
                try LogRoom(directory, least: .max).hold(1)
            }
            guard case .full = error else { throw try #require(error) }
        }

        /// Batches that are refused for want of room were not written; all others were.
        @Test func messagesOfAFullDiskAreToldApart() {
            let full = "IO error: No space left on device: While appending to file: 7.sst"
            #expect(EngineError(writing: full) == .full(full))
            let other = "IO error: No such file: No space left on device"
            #expect(EngineError(writing: other) == .failed(other))
        }

        @Test(arguments: MemoryProfile.allCases)
        func aReserveHoldsWhatTheEngineNeeds(profile: MemoryProfile) {
            let flush = UInt64(profile.writeBufferBytes)
            #expect(profile.deleteReserveBytes >= flush + UInt64(profile.mergeBytes))
            #expect(profile.reserveBytes >= profile.deleteReserveBytes + 2 * flush)
            #expect(profile.smallestDiskBytes > profile.reserveBytes * 3 / 2)
        }
    }
#endif
