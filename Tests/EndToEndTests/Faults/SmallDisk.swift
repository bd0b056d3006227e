// A small disk of its own for a node: a file with a file system in it, mounted over a loop device.
// Only root may do that; other users skip the tests that need it.

#if os(Linux)
    import CumulusTesting
    import Foundation

    final class SmallDisk {
        /// Where it is mounted.
        let path: String
        private let image: String
        private var filler: String { "\(path)/filler" }

        /// Whether this process may mount one.
        static let isPermitted: Bool = {
            guard geteuid() == 0, let folder = try? TestFolder() else { return false }
            return (try? SmallDisk("\(folder.path)/disk", bytes: 8 << 20)) != nil
        }()

        init(_ path: String, bytes: Int) throws {
            self.path = path
            image = "\(path).image"
            guard FileManager.default.createFile(atPath: image, contents: nil) else {
                throw ChildProcess.Failure("\(image) can't be made")
            }
            try FileHandle(forWritingTo: URL(filePath: image)).truncate(atOffset: UInt64(bytes))
            try ChildProcess.run(["mkfs.ext4", "-q", "-m", "0", image])
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
            try ChildProcess.run(["mount", "-o", "loop", image, path])
        }

        /// A process with open files there goes on; no other process finds it.
        deinit { try? ChildProcess.run(["umount", "--lazy", path]) }

        /// Bytes that are free.
        var free: Int {
            get throws {
                let attributes = try FileManager.default.attributesOfFileSystem(forPath: path)
                return (attributes[.systemFreeSize] as? NSNumber)?.intValue ?? 0
            }
        }

        /// Takes the room of all but so many bytes, as another program would.
        func fill(leaving rest: Int) throws {
            guard FileManager.default.createFile(atPath: filler, contents: nil) else { return }
            let file = try FileHandle(forWritingTo: URL(filePath: filler))
            defer { try? file.close() }
            var end = try file.seekToEnd()
            var most = 64 << 20
            while true {
                // Below zero when somebody else wrote meanwhile.
                let surplus = try free - rest
                guard surplus > 0 else { return }
                let piece = min(most, surplus)
                if posix_fallocate(file.fileDescriptor, off_t(end), off_t(piece)) == 0 {
                    end += UInt64(piece)
                } else if most <= 1 << 10 {
                    return
                } else {
                    most /= 2
                }
            }
        }

        func clear() throws {
            try FileManager.default.removeItem(atPath: filler)
        }
    }
#endif
