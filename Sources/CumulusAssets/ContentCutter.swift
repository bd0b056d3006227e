// Cuts assets into chunks by content (FastCDC), so that an edit moves few of the cuts.
//
// Called where a file is at hand: in the client, the bench, tests. The numbers here are part of the
// format (`proto/assets.md`): all that cut the same bytes get the same chunks. hot: once
// per byte of an asset.

import Crypto

package enum ContentCutter {
    /// Bytes of every chunk but the last one of an asset, at least.
    package static let smallest = 64 << 10
    /// Cuts are rare before so many bytes, and frequent behind them.
    package static let average = 256 << 10
    /// Bytes of a chunk, at most.
    package static let largest = 1 << 20
    /// Zero bits at the top of the fingerprint that make a cut, before `average` and behind it.
    private static let rareBits: UInt64 = 20
    private static let frequentBits: UInt64 = 16

    /// The length of the first chunk of what is left of an asset.
    ///
    /// - Parameter bytes: Not empty; at least `largest` bytes, unless the asset ends there.
    package static func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
        let end = min(bytes.count, largest)
        guard end > smallest else { return end }
        return gear.withUnsafeBufferPointer { gear in
            var search = Search(bytes: bytes, gear: gear, position: smallest)
            return search.cut(upTo: min(average, end), zeros: rareBits)
                ?? search.cut(upTo: end, zeros: frequentBits) ?? end
        }
    }

    /// Goes through the bytes with the fingerprint of the last 64 of them.
    private struct Search {
        let bytes: UnsafeRawBufferPointer
        let gear: UnsafeBufferPointer<UInt64>
        var position: Int
        var fingerprint: UInt64 = 0

        /// Bytes that are looked through at four places at once, a quarter of them at each.
        private static let span = 4 * quarter
        private static let quarter = 4 << 10

        /// The first place whose fingerprint begins with that many zeros; nil if there is none.
        mutating func cut(upTo end: Int, zeros: UInt64) -> Int? {
            let limit: UInt64 = 1 &<< (64 &- zeros)
            while position &+ Search.span <= end, skip(limit) {}
            while position < end {
                step(&fingerprint, position)
                position &+= 1
                if fingerprint < limit { return position }
            }
            return nil
        }

        /// Passes over a span that has no cut.
        ///
        /// A fingerprint waits for the one before it, so one place after the other leaves most of
        /// a processor idle.
        private mutating func skip(_ limit: UInt64) -> Bool {
            var (one, two) = (fingerprint, fingerprint(before: position &+ Search.quarter))
            var three = fingerprint(before: position &+ 2 &* Search.quarter)
            var four = fingerprint(before: position &+ 3 &* Search.quarter)
            var place = position
            let end = position &+ Search.quarter
            while place < end {
                step(&one, place)
                step(&two, place &+ Search.quarter)
                step(&three, place &+ 2 &* Search.quarter)
                step(&four, place &+ 3 &* Search.quarter)
                if one < limit || two < limit || three < limit || four < limit { return false }
                place &+= 1
            }
            (fingerprint, position) = (four, position &+ Search.span)
            return true
        }

        private func step(_ fingerprint: inout UInt64, _ place: Int) {
            fingerprint = (fingerprint &<< 1) &+ gear[Int(bytes[place])]
        }

        /// The fingerprint depends on the last 64 bytes only: earlier ones are shifted out.
        private func fingerprint(before place: Int) -> UInt64 {
            (place &- 64..<place).reduce(into: 0) { step(&$0, $1) }
        }
    }

    /// A random number for every byte value, which anyone can make again: the first eight bytes of
    /// SHA-256 over "cumulus gear" and the byte.
    package static let gear: [UInt64] = (UInt8.min...UInt8.max).map { byte in
        SHA256.hash(data: Array("cumulus gear".utf8) + [byte]).prefix(8).reduce(0) {
            $0 << 8 | UInt64($1)
        }
    }
}
