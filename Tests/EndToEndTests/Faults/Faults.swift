// What a test does to the machine of a node: its clock, its disk, its flushes, by the shim
// `Tests/Shims/faults.c`.

#if os(Linux)
    import CumulusTesting
    import Foundation

    final class Faults: Sendable {
        enum Kind: Int {
            /// Milliseconds that are added to the wall clock.
            case clockOffset
            /// How many flushes fail from now on.
            case failingFlushes
            /// Bytes that are free on the disk; below 0: as it is.
            case freeBytes
            /// Milliseconds that each flush takes longer.
            case flushDelay
            /// Parts per million by which the wall clock is too fast.
            case clockDrift
            /// Milliseconds since 1970 at which the wall clock stands still; 0: it goes.
            case clockStop
        }

        private let file: FileHandle
        private let path: String
        private let shim: String

        /// `path` is of a file that is made; the shim is built beside it.
        init(_ path: String) throws {
            self.path = path
            shim = path + ".so"
            let source = Checkout.file("Tests/Shims/faults.c").path()
            try ChildProcess.run(["cc", "-shared", "-fPIC", "-O2", "-o", shim, source])
            try Data(count: 48).write(to: URL(filePath: path))
            file = try FileHandle(forUpdating: URL(filePath: path))
            try set(.freeBytes, -1)
        }

        func set(_ kind: Kind, _ value: Int64) throws {
            try file.seek(toOffset: UInt64(kind.rawValue * 8))
            try file.write(contentsOf: withUnsafeBytes(of: value) { Data($0) })
        }

        var environment: [String: String] { ["LD_PRELOAD": shim, "CUMULUS_FAULTS": path] }
    }
#endif
