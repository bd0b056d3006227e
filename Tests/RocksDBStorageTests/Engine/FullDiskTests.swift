// What the profiles ask of a disk, and how RocksDB says that it is full.

#if os(Linux)
    import CumulusStorage
    import Testing

    @testable import RocksDBStorage

    @Suite struct FullDiskTests {
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
