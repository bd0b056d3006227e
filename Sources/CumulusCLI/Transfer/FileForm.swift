// Files that are no JSON lines, told by their first bytes, and what makes JSON lines of them.
//
// Asked by an import before anything is saved.

/// A form that an import does not read.
enum FileForm: CaseIterable {
    case gzip
    case zstd
    case xz
    case bzip2
    case zip
    case utf16
    case array

    /// The form of a file that begins with these bytes; nil if it may be JSON lines.
    init?(_ start: ArraySlice<UInt8>) {
        let form = FileForm.allCases.first { form in
            form.signs.contains { start.starts(with: $0) }
        }
        if let form {
            self = form
            return
        }
        let blank: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF]
        guard start.first(where: { !blank.contains($0) }) == UInt8(ascii: "[") else { return nil }
        self = .array
    }

    private var signs: [[UInt8]] {
        switch self {
        case .gzip: [[0x1F, 0x8B]]
        case .zstd: [[0x28, 0xB5, 0x2F, 0xFD]]
        case .xz: [[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]]
        case .bzip2: [Array("BZh".utf8)]
        case .zip: [[0x50, 0x4B, 0x03, 0x04]]
        case .utf16: [[0xFF, 0xFE], [0xFE, 0xFF]]
        case .array: []
        }
    }

    /// Says what the file is, and what to type; `file` is its name, or "-" for standard input.
    func advice(for file: String) -> String {
        let (what, command) =
            switch self {
            case .gzip: ("is compressed with gzip", "zcat")
            case .zstd: ("is compressed with zstd", "zstdcat")
            case .xz: ("is compressed with xz", "xzcat")
            case .bzip2: ("is compressed with bzip2", "bzcat")
            case .zip: ("is a zip archive", "unzip -p")
            case .utf16: ("is UTF-16", "iconv -f UTF-16 -t UTF-8")
            case .array: ("is one JSON array", "jq -c '.[]'")
            }
        let name = file == "-" ? "the input" : file
        let words = file == "-" ? command : "\(command) \(file)"
        return """
            \(name) \(what), not lines of JSON; nothing was saved: \(words) | cumulus import - …
            """
    }
}
