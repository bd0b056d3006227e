// The words of a text for full-text search, without case and diacritics.
//
// It splits every searchable field and every search text, so both are split alike. It follows the
// word boundaries of Unicode (UAX #29) as far as they need no dictionary. Letters and digits belong
// together. An apostrophe or a point between two letters does not split a word, nor does a point or
// a comma between two digits. Every ideograph and hiragana is a word.

import CumulusModel

package enum SearchWords {
    /// The words of a text in their order, folded.
    package static func words(of text: String) -> [String] {
        var text = text
        if let words = text.withUTF8(asciiWords) { return words }
        return otherWords(text)
    }

    private static func otherWords(_ text: String) -> [String] {
        var table = FoldedScalars()
        var scalars: [Unicode.Scalar] = []
        scalars.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars { table.fold(scalar, into: &scalars) }
        let kinds = scalars.map { table.kind(of: $0) }
        var words: [String] = []
        var word = String.UnicodeScalarView()
        var length = 0
        func end() {
            if length > 0 { words.append(String(word)) }
            (word, length) = (String.UnicodeScalarView(), 0)
        }
        for (index, scalar) in scalars.enumerated() {
            let isPart = kinds[index] == .letter || kinds[index] == .digit || scalar == "_"
            if kinds[index] == .alone {
                end()
                words.append(String(scalar))
            } else if isPart || joins(scalar, kinds, at: index) {
                if length < longest { word.append(scalar) }
                length += 1
            } else {
                end()
            }
        }
        end()
        return words
    }

    /// The words of a text in ASCII, found much faster; nil if the text isn't ASCII.
    static func asciiWords(_ text: UnsafeBufferPointer<UInt8>) -> [String]? {
        var words: [String] = []
        var word: [UInt8] = []
        func end() {
            if !word.isEmpty { words.append(String(decoding: word.prefix(longest), as: UTF8.self)) }
            word.removeAll(keepingCapacity: true)
        }
        for (index, byte) in text.enumerated() {
            guard byte < 0x80 else { return nil }
            if byte.isASCIILetter {
                word.append(byte | 0x20)
            } else if byte.isASCIIDigit || byte == UInt8(ascii: "_") || joins(text, at: index) {
                word.append(byte)
            } else {
                end()
            }
        }
        end()
        return words
    }

    private static func joins(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard index > 0, index + 1 < text.count else { return false }
        let (before, after) = (text[index - 1], text[index + 1])
        let areLetters = before.isASCIILetter && after.isASCIILetter
        let areDigits = before.isASCIIDigit && after.isASCIIDigit
        return switch text[index] {
        case UInt8(ascii: "'"), UInt8(ascii: "."):
            areLetters || areDigits
        case UInt8(ascii: ":"): areLetters
        case UInt8(ascii: ","), UInt8(ascii: ";"): areDigits
        default: false
        }
    }

    /// The words of a search text, without insignificant ones.
    package static func wanted(in text: String) -> [String] {
        words(of: text).filter { !stopWords.contains($0) }
    }

    /// Whether a sign between two letters or two digits does not split them.
    private static func joins(
        _ scalar: Unicode.Scalar,
        _ kinds: [FoldedScalars.Kind],
        at index: Int
    ) -> Bool {
        guard index > 0, index + 1 < kinds.count else { return false }
        let (before, after) = (kinds[index - 1], kinds[index + 1])
        let areLetters = before.isLetter && after.isLetter
        let areDigits = before == .digit && after == .digit
        return switch scalar {
        case "'", "\u{2019}", ".": areLetters || areDigits
        case ":", "\u{B7}": areLetters
        case ",", ";": areDigits
        default: false
        }
    }

    /// How many scalars of a word count.
    private static let longest = 100

    private static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    ]
}

extension FoldedScalars.Kind {
    /// An ideograph is a letter too.
    fileprivate var isLetter: Bool { self == .letter || self == .alone }
}
