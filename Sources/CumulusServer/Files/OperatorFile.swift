// Reads the files that an operator names in the settings, and the files that these name.
//
// Called by `IssuerFile`, `WebhookFile` and `PushFile`, and by `Wiring` for the file of web apps.
//
// Folder: files of the operator's that are read again when they change. Read `OperatorFile`, then
// `IssuerFile`, `WebhookFile` and `PushFile`.

import CumulusModel
import CumulusSystem

enum OperatorFile {
    struct Unusable: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private static let mostSecretBytes = 4 << 10

    static func bytes(of path: String, limit: Int) throws(Unusable) -> Bytes {
        guard let size = Files.size(of: path), size <= UInt64(limit),
            let data = FileManager.default.contents(atPath: path), data.count <= limit
        else {
            throw Unusable("\(path) can't be read, or is larger than \(limit >> 10) KiB")
        }
        return Bytes(data)
    }

    /// The first word of a file that holds a secret.
    static func line(of file: String) throws(Unusable) -> String {
        let text = String(decoding: try bytes(of: file, limit: mostSecretBytes), as: UTF8.self)
        guard let line = text.split(whereSeparator: \.isWhitespace).first else {
            throw Unusable("\(file) holds no secret")
        }
        return String(line)
    }

    /// A path that is not absolute begins in the folder of the file that names it.
    static func place(of path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
