// Plain bytes, as storage, digests and the wire hand them around, and their order.
//
// Called by every target below the client's surface.

/// Owned bytes.
@usableFromInline package typealias Bytes = [UInt8]

/// The order of an ordered store: as unsigned bytes, a prefix before what it begins.
package func precedes(_ left: Bytes, _ right: Bytes) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in compare(left, right) < 0 }
    }
}

/// The same of parts of bytes.
package func precedes(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in compare(left, right) < 0 }
    }
}

/// As `==`, eight bytes at a time.
package func areEqual(_ left: Bytes, _ right: Bytes) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in left.count == right.count && compare(left, right) == 0 }
    }
}

/// Negative, zero or positive, like `memcmp` followed by a comparison of lengths.
package func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let shared = min(left.count, right.count)
    var index = 0
    // Eight bytes at a time, read so that their numbers compare as they do.
    while index + 8 <= shared {
        let leftWord = left.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
        let rightWord = right.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
        if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
        index += 8
    }
    while index < shared {
        let difference = Int(left[index]) - Int(right[index])
        if difference != 0 { return difference }
        index += 1
    }
    return left.count - right.count
}

extension String {
    /// The text that is written as these bytes; nil if they are not UTF-8.
    ///
    /// For short texts, what `String(validating:as:)` does costs several times as much: it looks up
    /// generic types at run time.
    package init?(utf8 bytes: ArraySlice<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        // Decoding mends what is wrong, and what was mended has other bytes.
        let isWhole = utf8.withContiguousStorageIfAvailable { decoded in
            bytes.withUnsafeBytes { compare(UnsafeRawBufferPointer(decoded), $0) == 0 }
        }
        guard isWhole ?? utf8.elementsEqual(bytes) else { return nil }
    }
}

extension Bytes {
    /// Lower-case hexadecimal, for messages, logs and tests.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            unsafeUninitializedCapacity: 2 * count
        ) { text in
            for (index, byte) in enumerated() {
                text[2 * index] = digits[Int(byte >> 4)]
                text[2 * index + 1] = digits[Int(byte & 15)]
            }
            return 2 * count
        }
    }

    /// The bytes that pairs of hexadecimal digits stand for; nil if the text is anything else.
    package init?(hex text: some StringProtocol) {
        var bytes = Bytes()
        var high: UInt8?
        for character in text.utf8 {
            guard let digit = Bytes.digit(character) else { return nil }
            if let pending = high {
                bytes.append(pending << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        guard high == nil else { return nil }
        self = bytes
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension UInt8 {
    package var isASCIILetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    package var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
