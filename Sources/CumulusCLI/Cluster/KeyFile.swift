// Files with keys and certificates, as commands make them.

import Crypto
import CumulusBulk
import CumulusModel
import Foundation

enum KeyFile {
    /// The id of the cluster whose key a file holds; nil if it isn't on this machine.
    ///
    /// How the id follows from the key is fixed by proto/README.md.
    static func cluster(of file: String) throws -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        let digits = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        guard let key = Bytes(hex: digits), key.count == 32 else {
            throw InputProblem(
                "\(file) holds no cluster's key (64 hexadecimal digits); copy a member's "
                    + "DATA/cluster.key"
            )
        }
        let code = HMAC<SHA256>.authenticationCode(
            for: Bytes("cumulus cluster id".utf8),
            using: SymmetricKey(data: key)
        )
        return Bytes(code.prefix(16)).hex
    }

    /// Reads a file of text; what is wrong with it names the file.
    static func reading<Value>(
        _ file: String,
        _ read: (String) throws -> Value
    ) throws -> Value {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw InputProblem("the key \(file) can't be read")
        }
        do {
            return try read(text)
        } catch let error as ServiceError {
            throw InputProblem("\(file): \(error.message)")
        }
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
        do {
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try handle.write(contentsOf: Data((text + "\n").utf8))
            try handle.synchronize()
            try check(rename(draft, file))
        } catch let error as CocoaError {
            unlink(draft)
            throw OutputProblem("\(file) can't be written: \(error.localizedDescription)")
        }
    }
}
