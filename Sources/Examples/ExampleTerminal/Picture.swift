// A picture's format and size, read from the file's head, for a terminal.
//
// The examples show it in lists, and write the file itself where the user asks for it.

public import Foundation

/// A JPEG or PNG file.
public struct Picture: Sendable {
    /// "JPEG" or "PNG".
    public let format: String
    /// Pixels from left to right.
    public let width: Int
    /// Pixels from top to bottom.
    public let height: Int
    /// The size of the file.
    public let byteCount: Int

    /// Reads the head of a file.
    ///
    /// - Throws: `StepProblem` if the file is no JPEG or PNG; what the system says if it can't be
    ///   read.
    public init(file: URL) throws {
        guard FileManager.default.fileExists(atPath: file.path) else {
            throw StepProblem("there is no file \(file.path)")
        }
        try self.init(data: Data(contentsOf: file), name: file.lastPathComponent)
    }

    /// Reads the head of a file's content.
    ///
    /// - Throws: `StepProblem` if the data is no JPEG or PNG.
    public init(data: Data, name: String) throws {
        let bytes = [UInt8](data)
        byteCount = bytes.count
        if let size = Picture.sizeOfPNG(bytes) {
            (format, width, height) = ("PNG", size.width, size.height)
        } else if let size = Picture.sizeOfJPEG(bytes) {
            (format, width, height) = ("JPEG", size.width, size.height)
        } else {
            throw StepProblem("\(name) is no JPEG or PNG picture")
        }
    }

    /// The text for people: "JPEG, 1080 x 1920, 913 KB".
    public var description: String {
        "\(format), \(width) x \(height), \((byteCount + 500) / 1_000) KB"
    }

    private static func sizeOfPNG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        guard bytes.count >= 24, bytes.starts(with: head) else { return nil }
        func number(at start: Int) -> Int {
            bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return (number(at: 16), number(at: 20))
    }

    /// A JPEG file is a list of segments: FF, a kind, a length.
    ///
    /// Markers from C0 to CF, except three, hold the picture's size.
    private static func sizeOfJPEG(_ bytes: [UInt8]) -> (width: Int, height: Int)? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        func number(at start: Int) -> Int { Int(bytes[start]) << 8 | Int(bytes[start + 1]) }
        var next = 2
        while next + 9 <= bytes.count, bytes[next] == 0xFF {
            let kind = bytes[next + 1]
            if kind == 0xFF {
                // A byte to fill up.
                next += 1
                continue
            }
            if (0xC0...0xCF).contains(kind), ![0xC4, 0xC8, 0xCC].contains(kind) {
                return (number(at: next + 7), number(at: next + 5))
            }
            next += 2 + number(at: next + 2)
        }
        return nil
    }
}
