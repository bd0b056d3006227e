// The texts of URLs: the path and what stands in it, percent-encoding, and the query.
//
// Paths are searched byte by byte, as servers in front of a node do, and several times per request.
// Clients percent-encode tokens once, twice or not at all. Reading a token tries all three forms.

import CumulusModel

package enum WebText {
    /// A text without percent-encoding; nil if an escape is cut off or the bytes are no text.
    package static func percentDecoded(_ text: some StringProtocol) -> String? {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }

    /// The values of a request target's query, as they were sent; the first of each name counts.
    package static func query(of target: String) -> [String: String] {
        let bytes = target.utf8
        guard let start = bytes.firstIndex(of: UInt8(ascii: "?")) else { return [:] }
        var values: [String: String] = [:]
        for pair in bytes[bytes.index(after: start)...].split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = String(Substring(pair[..<end]))
            guard values[name] == nil else { continue }
            values[name] = String(Substring(pair[end...].dropFirst()))
        }
        return values
    }

    /// The readings of a token in a URL, the likeliest first.
    package static func readings(of text: String) -> [String] {
        // Most tokens have one.
        let hasOne = text.utf8.allSatisfy { $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: " ") }
        if hasOne { return [text] }
        var readings: [String] = []
        func add(_ reading: String?) {
            if let reading, !readings.contains(reading) { readings.append(reading) }
        }
        let once = percentDecoded(text)
        add(once)
        add(once.flatMap { percentDecoded($0) })
        for reading in readings { add(reading.replacing(" ", with: "+")) }
        add(text)
        return readings
    }
}

extension WebText {
    /// A random UUID of two random numbers, in upper case as clients show it.
    package static func uuid(_ high: UInt64, _ low: UInt64) -> String {
        let version = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let variant = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        let length = 36
        return String(unsafeUninitializedCapacity: length) { text in
            var shift = 64
            var number = version
            for place in 0..<length {
                if place == 8 || place == 13 || place == 18 || place == 23 {
                    text[place] = UInt8(ascii: "-")
                    continue
                }
                if shift == 0 { (shift, number) = (64, variant) }
                shift -= 4
                let digit = UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 15
                text[place] = (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "A") - 10) + digit
            }
            return length
        }
    }
}

extension WebText {
    /// A text with percent-encoding, so that it can be a value in a query or a form.
    package static func percentEncoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in text.utf8 {
            if byte.isASCIILetter || byte.isASCIIDigit || "-._~".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Pairs as a form sends them, and as a query holds them.
    package static func form(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { percentEncoded($0.name) + "=" + percentEncoded($0.value) }
            .joined(separator: "&")
    }

    /// A URL with more in its query.
    package static func adding(_ pairs: [(name: String, value: String)], to url: String) -> String {
        url + (url.contains("?") ? "&" : "?") + form(pairs)
    }

    /// The values of a form, or of a query without its question mark.
    ///
    /// The first of each name counts. Values that can't be decoded are left out.
    package static func fields(of text: String) -> [String: String] {
        query(of: "?" + text).compactMapValues { percentDecoded($0.replacing("+", with: " ")) }
    }

    /// The value of a cookie; nil if the browser sent no such cookie.
    package static func cookie(_ name: String, in header: String?) -> String? {
        for pair in (header ?? "").split(separator: ";") {
            let pair = pair.drop { $0 == " " }
            if pair.hasPrefix(name + "=") { return String(pair.dropFirst(name.count + 1)) }
        }
        return nil
    }
}

// MARK: Paths

extension WebText {
    /// The path of a request's target: what stands before its query.
    package static func path(of target: String) -> Substring {
        Substring(Substring(target).utf8.prefix { $0 != UInt8(ascii: "?") })
    }

    /// The first place of a text in a path, compared byte by byte; nil if it does not occur.
    package static func range(of text: String, in path: Substring) -> Range<String.Index>? {
        var (searched, text) = (path, text)
        let offset = searched.withUTF8 { path in
            text.withUTF8 { text in path.indices.first { path[$0...].starts(with: text) } }
        }
        guard let offset else { return nil }
        let start = path.utf8.index(path.startIndex, offsetBy: offset)
        return start..<path.utf8.index(start, offsetBy: text.utf8.count)
    }

    /// The last part of a target's path; nil if something else than this stands before it.
    package static func lastPart(of target: String, after text: String) -> Substring? {
        let path = path(of: target)
        guard let range = range(of: text, in: path) else { return nil }
        let part = path[range.upperBound...]
        return part.isEmpty || part.utf8.contains(UInt8(ascii: "/")) ? nil : part
    }
}
