// What the file system says of a path, and files that are on the disk once a call returns; with the
// system's own words where it fails.
//
// Used by the stores of packs and rows, by the audit, and by `cumulusd`. It is written by hand:
// swift-system lists no directories, and neither it nor Foundation flushes one.

/// A system call on a file that failed.
package struct FileProblem: Error, CustomStringConvertible {
    /// The number of the error, such as `ENOENT`.
    package let code: Int32

    package init(_ code: Int32 = errno) {
        self.code = code
    }

    package var description: String { systemText(code) }
}

package enum Files {
    /// The names in a directory, without `.` and `..`, in order.
    package static func names(in directory: String) throws(FileProblem) -> [String] {
        guard let stream = opendir(directory) else { throw FileProblem() }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            names.append(withUnsafePointer(to: &entry.pointee.d_name) { Files.name($0) })
            errno = 0
        }
        guard errno == 0 else { throw FileProblem() }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }

    private static func name<Name>(_ name: UnsafePointer<Name>) -> String {
        name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout<Name>.size) {
            String(cString: $0)
        }
    }

    /// Whether there is a directory, or a link to one.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The bytes of a regular file; nil if the path names no such file.
    package static func size(of path: String) -> UInt64? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return UInt64(status.st_size)
    }

    /// The permissions of a file as chmod takes them; nil if they can't be read.
    package static func permissions(of path: String) -> UInt32? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return UInt32(status.st_mode & 0o777)
    }

    /// The bytes of an open file, and how many the disk holds for it; nil if that can't be told.
    package static func sizes(of descriptor: Int32) -> (size: UInt64, allocated: UInt64)? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        return (UInt64(status.st_size), UInt64(status.st_blocks) * 512)
    }

    /// Bytes of a file; fewer if it ends before.
    package static func bytes(
        of path: String,
        in range: Range<Int>
    ) throws(FileProblem) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileProblem() }
        defer { close(descriptor) }
        var problem: FileProblem?
        let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { room, filled in
            while filled < range.count {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(room)[filled...]
                )
                let place = off_t(range.lowerBound + filled)
                let count = pread(descriptor, rest.baseAddress, range.count - filled, place)
                if count < 0, errno == EINTR { continue }
                if count < 0 { problem = FileProblem() }
                guard count > 0 else { return }
                filled += count
            }
        }
        if let problem { throw problem }
        return bytes
    }

    /// The size of the file system that holds a path, or will hold it once it is made.
    package static func fileSystemBytes(of path: String) -> UInt64? {
        var state = statvfs()
        var place = path
        while statvfs(place, &state) != 0 {
            guard !["", ".", "/"].contains(place) else { return nil }
            place = parent(of: place)
        }
        // Some file systems don't say.
        guard state.f_blocks > 0 else { return nil }
        return UInt64(state.f_blocks) * UInt64(state.f_frsize)
    }

    /// The directory that holds a file of that name.
    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: Writing

    /// Gives a file this content on the disk: a crash leaves it, or what was there before.
    package static func replace(_ path: String, with content: [UInt8]) throws(FileProblem) {
        // Not named `.dbtmp`: RocksDB deletes such files.
        let draft = path + ".new"
        try write([content[...]], to: draft)
        guard rename(draft, path) == 0 else { throw FileProblem() }
        try flush(parent(of: path))
    }

    /// Writes a file with these pieces and flushes it, but not the directory that names it.
    ///
    /// A failure leaves no file.
    package static func write(
        _ pieces: [ArraySlice<UInt8>],
        to path: String
    ) throws(FileProblem) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileProblem() }
        do throws(FileProblem) {
            defer { close(descriptor) }
            for piece in pieces { try writeAll(piece, to: descriptor) }
            guard fsync(descriptor) == 0 else { throw FileProblem() }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Flushes a file, or the names in a directory.
    package static func flush(_ path: String) throws(FileProblem) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileProblem() }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileProblem() }
    }
}
