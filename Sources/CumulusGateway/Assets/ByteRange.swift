// The part of a file that a request asks for by its `Range` header.
//
// Read for downloads. Players of sound and films ask for parts. A header that can't be met is
// ignored, as HTTP allows: the answer is then the whole file.

package enum ByteRange {
    /// The bytes that a header names; nil for a header that names no single part of the file.
    package static func range(_ header: String, of size: UInt64) -> Range<UInt64>? {
        let unit = "bytes="
        guard header.hasPrefix(unit), size > 0 else { return nil }
        let ends = header.dropFirst(unit.count).split(
            separator: "-",
            omittingEmptySubsequences: false
        )
        guard ends.count == 2 else { return nil }
        let (first, last) = (number(ends[0]), number(ends[1]))
        if ends[0].isEmpty {
            guard let last, last > 0 else { return nil }
            return size - min(last, size)..<size
        }
        guard let first, first < size else { return nil }
        if ends[1].isEmpty { return first..<size }
        guard let last, last >= first else { return nil }
        return first..<min(last, size - 1) + 1
    }

    private static func number(_ text: Substring) -> UInt64? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? UInt64(text) : nil
    }
}
