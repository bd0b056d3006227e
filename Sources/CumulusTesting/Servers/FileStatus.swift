// The status of files, for tests that look at what a program left behind.

package import Foundation

package enum FileStatus {
    /// The kind of a file as in `S_IFREG`, of a link itself; 0 if there is no file.
    package static func kind(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
    }

    /// Bytes that a file takes on the disk; 0 if it is no regular file.
    package static func diskBytes(_ path: String) -> Int {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
        return Int(status.st_blocks) * 512
    }
}
