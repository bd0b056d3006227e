// Files with keys and certificates, as commands make them.

import Crypto
import CumulusModel
import CumulusSystem
import CumulusTerminal

enum KeyFile {
    /// The id of the cluster whose key a file holds; nil if it isn't on this machine.
    ///
    /// How the id follows from the key is fixed by proto/peers.md.
    static func cluster(of file: String) throws -> String? {
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        let digits = text?.trimmed ?? ""
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
        let content = try InputFile.content(file, "the key")
        guard let text = String(utf8: Bytes(content)[...]) else {
            throw InputProblem("\(file) holds no key: it is no text")
        }
        do {
            return try read(text)
        } catch let error as ServiceError {
            throw InputProblem("\(file): \(error.message)")
        }
    }

    /// Writes a file whole or not at all; nobody else ever sees a secret one.
    ///
    /// Its folder must be there.
    static func write(_ text: String, to file: String, isSecret: Bool = false) throws {
        let draft = draft(of: file)
        let descriptor = try begin(draft, of: file, isSecret: isSecret)
        do {
            let opened = OpenFile(descriptor)
            try writeAll(Array((text + "\n").utf8)[...], to: descriptor)
            try opened.flush()
            guard rename(draft, file) == 0 else { throw unwritable(file) }
        } catch {
            unlink(draft)
            guard let problem = error as? FileProblem else { throw error }
            throw OutputProblem("\(file) can't be written: \(problem)")
        }
    }

    /// Throws where `write` would throw.
    ///
    /// Commands that get a value only once check this before they ask for it. An existing file
    /// keeps its content.
    static func checkWritable(_ file: String) throws {
        let draft = draft(of: file)
        close(try begin(draft, of: file, isSecret: true))
        unlink(draft)
    }

    /// Makes a folder that only its owner can enter, and the folders above it.
    ///
    /// If that fails, the next file in it can't be written, which says why.
    static func makeFolder(_ folder: String) {
        try? FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    /// The draft lies beside the file, since a file can be renamed only within its file system.
    private static func draft(of file: String) -> String { file + ".new" }

    /// Opens a new draft of a file, and returns its descriptor.
    private static func begin(_ draft: String, of file: String, isSecret: Bool) throws -> Int32 {
        if Files.isDirectory(file) {
            throw OutputProblem("\(file) can't be written: it is a folder; name a file in it")
        }
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL, isSecret ? 0o600 : 0o644)
        guard descriptor >= 0 else { throw unwritable(file) }
        return descriptor
    }

    /// Why the last call failed.
    private static func unwritable(_ file: String) -> OutputProblem {
        let reason = errno
        let folder = URL(filePath: file).deletingLastPathComponent().path
        if reason == ENOENT, !FileManager.default.fileExists(atPath: folder) {
            return OutputProblem(
                "\(file) can't be written: there is no folder \(folder); make it first"
            )
        }
        return OutputProblem("\(file) can't be written: \(systemText(reason))")
    }
}
