// Files with keys and certificates, as commands make them.

import Foundation

enum KeyFile {
    /// Whether a file is on this machine; throws if it is, and holds no cluster's key.
    static func holdsKey(_ file: String) throws -> Bool {
        guard FileManager.default.fileExists(atPath: file) else { return false }
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        let digits = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard digits.count == 64, digits.allSatisfy(\.isHexDigit) else {
            throw InputProblem(
                "\(file) holds no cluster's key (64 hexadecimal digits); copy a member's "
                    + "DATA/cluster.key"
            )
        }
        return true
    }

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
