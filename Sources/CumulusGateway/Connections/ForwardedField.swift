// The addresses that proxies write into the head of a request: `Forwarded` of RFC 7239, and the
// older `X-Forwarded-For`.
//
// Called by `TrustedProxies`. Both fields are lists to which each proxy adds the address of its
// caller. Synchronous; whatever stands in a field, it is read to its end in one pass.

import CumulusModel
import CumulusTransport
import NIOCore

enum ForwardedField {
    /// The addresses of an `X-Forwarded-For`, nearest to this node last; nil stands for what is
    /// no address.
    static func addresses(ofXForwardedFor text: String) -> [Bytes?] {
        text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { address(of: String(Substring($0))) }
    }

    /// The addresses of a `Forwarded`; an entry that names none has nil.
    static func addresses(ofForwarded text: String) -> [Bytes?] {
        // A quote that does not end may hide entries of the proxy.
        guard let entries = split(text.utf8[...], at: UInt8(ascii: ",")) else { return [nil] }
        return entries.map { entry in
            let pairs = split(entry, at: UInt8(ascii: ";")) ?? []
            let nodes = pairs.compactMap { node(ofPair: $0) }
            return nodes.count == 1 ? address(of: nodes[0]) : nil
        }
    }

    /// The parts between separators that stand in no quotes; nil if a quote does not end.
    private static func split(
        _ text: Substring.UTF8View,
        at separator: UInt8
    ) -> [Substring.UTF8View]? {
        var parts: [Substring.UTF8View] = []
        var (start, isQuoted, isEscaped) = (text.startIndex, false, false)
        for index in text.indices {
            let byte = text[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if !isQuoted, byte == separator {
                parts.append(text[start..<index])
                start = text.index(after: index)
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    /// The value of a pair `for=`, without quotes; nil for other pairs.
    private static func node(ofPair pair: Substring.UTF8View) -> String? {
        let parts = pair.split(
            separator: UInt8(ascii: "="),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, trimmed(Substring(parts[0])).lowercased() == "for" else {
            return nil
        }
        let value = trimmed(Substring(parts[1]))
        guard value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") else {
            return String(value)
        }
        return String(value.dropFirst().dropLast())
    }

    private static func trimmed(_ text: Substring) -> Substring {
        func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }

    /// The address of an entry, which may have a port; nil if it has none.
    static func address(of entry: String) -> Bytes? {
        let text = trimmed(entry[...])
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"), isPort(text[text.index(after: end)...])
            else { return nil }
            let inner = text[..<end].dropFirst()
            return inner.contains(":") ? bytes(of: inner) : nil
        }
        let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
        guard colons == 1, let colon = text.firstIndex(of: ":") else { return bytes(of: text) }
        return isPort(text[colon...]) ? bytes(of: text[..<colon]) : nil
    }

    /// Whether a text is empty, or a colon and a port; the port may be a name that hides it.
    private static func isPort(_ text: Substring) -> Bool {
        guard text.first == ":" else { return text.isEmpty }
        let port = text.utf8.dropFirst()
        return !port.isEmpty && port.count <= 64
            && port.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "._-".utf8.contains($0) }
    }

    /// Reads an IP address that has no port; returns nil if the text is not such an address.
    ///
    /// An IPv4 address has 4 bytes, also where it is written inside an IPv6 address. Other IPv6
    /// addresses have 16.
    static func bytes(of text: Substring) -> Bytes? {
        let isPlausible = text.utf8.allSatisfy {
            $0.isASCIIDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20)
                || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":")
        }
        guard isPlausible, (2...45).contains(text.utf8.count) else { return nil }
        return (try? SocketAddress(ipAddress: String(text), port: 0))?.addressBytes
    }
}
