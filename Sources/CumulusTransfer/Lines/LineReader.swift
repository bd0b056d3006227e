// The lines of a file or of standard input, one at a time, never the whole of it in memory.

package import CumulusSystem
import CumulusTerminal

package struct LineReader {
    struct Line {
        /// The line's number from 1, as editors count.
        var number: Int
        /// The line without its terminator; nil if it was longer than any record can be.
        var bytes: ArraySlice<UInt8>?
    }

    /// A record of 1 MB, every byte of it escaped as six.
    package static let longestLine = 8 << 20

    /// Stands at the beginning of UTF-8 that some editors write, and belongs to no line.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let file: OpenFile
    private let longestLine: Int
    private var buffer: [UInt8] = []
    /// The start of the next line in `buffer`.
    private var start = 0
    private var number = 0
    private var isAtEnd = false
    /// Bytes of the file that were handed out so far.
    private(set) var byteCount = 0

    package init(_ file: OpenFile, longestLine: Int = LineReader.longestLine) {
        self.file = file
        self.longestLine = longestLine
    }

    /// The first bytes, which stay to be read.
    package mutating func peek() throws -> ArraySlice<UInt8> {
        while buffer.count < 16, !isAtEnd { try fill() }
        return buffer[start...].prefix(4_096)
    }

    /// The next line, nil at the end; an unfinished last line counts.
    mutating func next() throws -> Line? {
        var searched = start
        var isTooLong = false
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                return line(upTo: end, endBytes: 1, isTooLong)
            }
            if isAtEnd {
                let isNothing = start == buffer.count && !isTooLong
                return isNothing ? nil : line(upTo: buffer.count, endBytes: 0, isTooLong)
            }
            if buffer.count - start > longestLine {
                // The rest of a line that is too long is not kept.
                isTooLong = true
                byteCount += buffer.count - start
                start = buffer.count
            }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            try fill()
        }
    }

    private mutating func fill() throws {
        do throws(FileProblem) {
            isAtEnd = try file.take(upTo: 256 << 10, into: &buffer) == 0
        } catch {
            throw InputProblem("the input can't be read: \(error)")
        }
    }

    private mutating func line(upTo end: Int, endBytes: Int, _ isTooLong: Bool) -> Line {
        number += 1
        var bytes = buffer[start..<end]
        if number == 1, bytes.starts(with: LineReader.byteOrderMark) { bytes.removeFirst(3) }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        byteCount += end + endBytes - start
        start = end + endBytes
        return Line(number: number, bytes: isTooLong ? nil : bytes)
    }
}
