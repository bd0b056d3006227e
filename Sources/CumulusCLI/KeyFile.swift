// Files with keys and certificates, as commands make them.

import Foundation

enum KeyFile {
    /// Writes a file whole or not at all; nobody else ever sees a secret one.
    static func write(_ text: String, to file: String, isSecret: Bool = false) throws {
        func check(_ result: Int32) throws {
            guard result < 0 else { return }
            throw OutputProblem("\(file) can't be written: \(String(cString: strerror(errno)))")
        }
        let folder = URL(filePath: file).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let draft = file + ".new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL, isSecret ? 0o600 : 0o644)
        try check(descriptor)
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data((text + "\n").utf8))
        try handle.synchronize()
        try check(rename(draft, file))
    }
}
