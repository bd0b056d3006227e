// The part of a file that a request asks for by its conditions and its `Range`: all of it, a part,
// or nothing.
//
// Made by `WebDownload`, in the order of RFC 9110, section 13.2.2. Players of sound and films ask
// for parts. A range that names several parts, or that can't be read, is ignored, as HTTP allows:
// the answer is then the whole file.

import CumulusModel

package enum FilePart: Hashable, Sendable {
    case whole
    case bytes(Range<UInt64>)
    /// The range begins behind the end of the file: 416.
    case beyondTheEnd
    /// The caller has the file already: 304.
    case known
    /// The caller means another file: 412.
    case another

    /// - Parameters:
    ///   - tag: The file's entity tag, with its quotes.
    ///   - size: In bytes.
    package init(_ request: WebRequest, of tag: String, size: UInt64) {
        let headers = request.headers
        if let wanted = headers["if-match"], !FilePart.lists(wanted, tag, isWeak: false) {
            self = .another
        } else if let known = headers["if-none-match"], FilePart.lists(known, tag, isWeak: true) {
            self = .known
        } else if let range = headers["range"], request.method == "GET",
            (headers["if-range"] ?? tag) == tag
        {
            self = FilePart.part(range, size)
        } else {
            self = .whole
        }
    }

    /// Whether a condition's list has the tag; a weak comparison takes the weak form of it, too.
    private static func lists(_ list: String, _ tag: String, isWeak: Bool) -> Bool {
        list == "*"
            || list.split { ", \t".contains($0) }.contains {
                $0 == tag || (isWeak && $0 == "W/" + tag)
            }
    }

    private static func part(_ header: String, _ size: UInt64) -> FilePart {
        let unit = "bytes="
        guard header.prefix(unit.count).lowercased() == unit else { return .whole }
        let ends = header.dropFirst(unit.count).split(
            separator: "-",
            omittingEmptySubsequences: false
        )
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }) else {
            return .whole
        }
        switch (number(ends[0]), number(ends[1])) {
        case (nil, nil): return .whole
        case (nil, let count?):
            if count == 0 { return .beyondTheEnd }
            return size == 0 ? .whole : .bytes(size - min(count, size)..<size)
        case (let first?, let last):
            if let last, last < first { return .whole }
            if first >= size { return .beyondTheEnd }
            return .bytes(first..<min(last ?? size, size - 1) + 1)
        }
    }

    /// nil for an empty text; a number that is too large counts as the largest.
    private static func number(_ digits: Substring) -> UInt64? {
        digits.isEmpty ? nil : UInt64(digits) ?? .max
    }
}
