// The newest lines of an audit log, read back from the disk.
//
// Asked by `AuditFiles` for the console, which shows an operator what a user was refused. It reads
// while the log is written: a line that is not whole yet is left out.

package import CumulusModel
import CumulusSystem

extension AuditFile {
    /// The newest lines, oldest first, of at most so many bytes; without their ends.
    ///
    /// Lines of the last moment may be missing, and all of them if no file can be read.
    package func newestLines(byteLimit: Int) -> [Bytes] {
        let (newer, isWhole) = AuditFile.tail(of: path, byteLimit: byteLimit)
        // If the newer file is cut, the older one would leave a gap.
        let left = isWhole ? byteLimit - newer.count : 0
        let older = left > 0 ? AuditFile.tail(of: path + ".1", byteLimit: left).lines : []
        return [older, newer].flatMap { part in
            part.split(separator: UInt8(ascii: "\n")).map { Bytes($0) }
        }
    }

    /// The end of a file, from the beginning of a line to the end of one; and whether it begins
    /// where the file does.
    private static func tail(
        of path: String,
        byteLimit: Int
    ) -> (lines: ArraySlice<UInt8>, isWhole: Bool) {
        guard let size = Files.size(of: path).flatMap({ Int(exactly: $0) }) else {
            return ([], true)
        }
        let start = max(0, size - byteLimit)
        let newline = UInt8(ascii: "\n")
        guard let bytes = try? Files.bytes(of: path, in: start..<size),
            let last = bytes.lastIndex(of: newline)
        else { return ([], start == 0) }
        let whole = bytes[...last]
        if start == 0 { return (whole, true) }
        return (whole.firstIndex(of: newline).map { whole[($0 + 1)...] } ?? [], false)
    }
}
