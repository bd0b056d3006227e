// Byte arrays, as storage, digests and the wire use them, and their order.
//
// Called by every target below the client's surface.

/// Owned bytes.
@usableFromInline package typealias Bytes = [UInt8]

/// Whether `left` comes before `right` in an ordered store.
///
/// Bytes compare as unsigned numbers, and a prefix comes before everything that it begins.
package func precedes(_ left: Bytes, _ right: Bytes) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in compare(left, right) < 0 }
    }
}

/// Whether one slice comes before another, in the order of whole arrays.
package func precedes(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in compare(left, right) < 0 }
    }
}

/// Whether two slices are equal, as `==` says; compares eight bytes at a time.
package func areEqual(_ left: Bytes, _ right: Bytes) -> Bool {
    left.withUnsafeBytes { left in
        right.withUnsafeBytes { right in left.count == right.count && compare(left, right) == 0 }
    }
}

/// Negative, zero or positive, like `memcmp` followed by a comparison of lengths.
package func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let shared = min(left.count, right.count)
    var index = 0
    // Read as big-endian words, eight bytes at a time compare as they do byte by byte.
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
    /// Decodes UTF-8; returns nil if the bytes are not valid.
    ///
    /// For short texts, `String(validating:as:)` costs several times as much, because it looks up
    /// generic types at run time.
    package init?(utf8 bytes: ArraySlice<UInt8>) {
        self.init(decoding: bytes, as: UTF8.self)
        // Decoding replaces invalid bytes, so an invalid text has other bytes afterwards.
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

    /// Decodes pairs of hexadecimal digits; returns nil if the text holds anything else.
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
