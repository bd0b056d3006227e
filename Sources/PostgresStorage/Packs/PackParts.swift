// How a pack is cut into parts, and how many of them a statement carries.
//
// Used by `SQLPacks`. The size of a part belongs to the format, since the place of a byte follows
// from it. hot: once per message of chunks, and once per chunk that is read.

import CumulusModel

struct PackParts {
    /// Bytes of each part but the last one.
    static let size = 256 << 10
    /// Parts that a statement writes: the server has them all before it locks a row.
    static let writtenAtOnce = 4
    /// Parts that a statement reads; a chunk lies in five at most.
    static let readAtOnce = 8

    /// No pack is longer: numbers of parts have 31 bits.
    static let mostBytes = size << 31

    private var pieces: [ArraySlice<UInt8>]
    private var piece = 0
    /// The number of the next part.
    private var part = 0

    init(_ pieces: [ArraySlice<UInt8>]) {
        self.pieces = pieces.filter { !$0.isEmpty }
    }

    /// The next parts, and the number of the first one; nil if there are no more.
    ///
    /// A pack without bytes has one part.
    mutating func next() -> (first: Int, parts: [Bytes])? {
        let first = part
        var parts: [Bytes] = []
        while parts.count < PackParts.writtenAtOnce, piece < pieces.count || part == 0 {
            parts.append(nextPart())
            part += 1
        }
        return parts.isEmpty ? nil : (first, parts)
    }

    private mutating func nextPart() -> Bytes {
        var part: Bytes = []
        while part.count < PackParts.size, piece < pieces.count {
            let taken = pieces[piece].prefix(PackParts.size - part.count)
            part += taken
            pieces[piece] = pieces[piece].dropFirst(taken.count)
            if pieces[piece].isEmpty { piece += 1 }
        }
        return part
    }

    // MARK: Places

    /// As much of the range as one statement reads.
    static func page(of range: Range<Int>) -> Range<Int> {
        let end = (range.lowerBound / size + readAtOnce) * size
        return range.lowerBound..<min(range.upperBound, end)
    }

    /// The number of parts that hold a range; an empty one lies in one.
    static func count(in range: Range<Int>) -> Int {
        let last = max(range.upperBound - 1, range.lowerBound) / size
        return last - range.lowerBound / size + 1
    }
}
