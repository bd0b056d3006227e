// The resources of the machine that this process uses, as the system counts them.
//
// Asked when metrics are read.

package struct ProcessUse: Sendable {
    /// nil means that the system does not tell.
    package var residentBytes: UInt64?
    package var processorSeconds: Double?
    package var openFiles: Int?

    package init() {}

    package static func now() -> ProcessUse {
        var use = ProcessUse()
        use.residentBytes = residentBytes()
        use.processorSeconds = processorSeconds()
        #if os(Linux)
            use.openFiles = (try? Files.names(in: "/proc/self/fd")).map { $0.count - 1 }
        #else
            use.openFiles = (try? Files.names(in: "/dev/fd")).map { $0.count - 1 }
        #endif
        return use
    }

    private static func processorSeconds() -> Double? {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    #if os(Linux)
        /// The second number of `/proc/self/statm`, in pages.
        private static func residentBytes() -> UInt64? {
            guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
            else { return nil }
            let numbers = text.split(separator: " ")
            guard numbers.count > 1, let pages = UInt64(numbers[1]) else { return nil }
            return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
        }
    #else
        private static func residentBytes() -> UInt64? {
            var info = mach_task_basic_info()
            var count = mach_msg_type_number_t(
                MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size
            )
            let flavor = task_flavor_t(MACH_TASK_BASIC_INFO)
            let result = withUnsafeMutablePointer(to: &info) { info in
                info.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
                    task_info(mach_task_self_, flavor, $0, &count)
                }
            }
            return result == KERN_SUCCESS ? info.resident_size : nil
        }
    #endif
}
