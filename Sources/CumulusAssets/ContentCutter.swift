// Where an asset is cut into chunks: FastCDC, by content, so that an edit moves few of the cuts.
//
// Called by whoever has a file: the client, the bench, tests. The numbers here are part of the
// format (`proto/README.md`, "Assets"): all that cut the same bytes get the same chunks. hot: once
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
    /// - Parameter bytes: Not empty; at least `largest` of them, unless the asset ends there.
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

        /// The first place where the fingerprint begins with so many zeros; nil: there is none.
        ///
        /// Two bytes at a time, so that one doesn't wait for what the other did to the
        /// fingerprint: twice as fast as one by one.
        mutating func cut(upTo end: Int, zeros: UInt64) -> Int? {
            let limit: UInt64 = 1 &<< (64 &- zeros)
            while position &+ 1 < end {
                let first = gear[Int(bytes[position])]
                let both = (first &<< 1) &+ gear[Int(bytes[position &+ 1])]
                if (fingerprint &<< 1) &+ first < limit { return position &+ 1 }
                fingerprint = (fingerprint &<< 2) &+ both
                position &+= 2
                if fingerprint < limit { return position }
            }
            guard position < end else { return nil }
            fingerprint = (fingerprint &<< 1) &+ gear[Int(bytes[position])]
            position &+= 1
            return fingerprint < limit ? position : nil
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
