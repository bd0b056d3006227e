// The words of a text, as full-text search compares them: without case and diacritics.
//
// Called for every searchable field and for what callers search for, so that both are cut alike.
// Follows the word boundaries of Unicode (UAX #29) as far as they need no dictionary: letters and
// digits belong together, an apostrophe or a point between two letters and a point or a comma
// between two digits part nothing, and every ideograph and hiragana stands for itself.

import CumulusModel
import Foundation

package enum SearchWords {
    /// The words of a text in their order, folded.
    package static func words(of text: String) -> [String] {
        var text = text
        if let words = text.withUTF8(asciiWords) { return words }
        var words: [String] = []
        var word = String.UnicodeScalarView()
        func end() {
            if !word.isEmpty { words.append(String(word.prefix(longest))) }
            word = String.UnicodeScalarView()
        }
        let scalars = Array(folded(text).unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            if standsAlone(scalar) {
                end()
                word.append(scalar)
                end()
            } else if isPart(scalar) || joins(scalars, at: index) {
                word.append(scalar)
            } else {
                end()
            }
        }
        end()
        return words
    }

    /// The same of a text in ASCII, much faster; nil if it isn't.
    static func asciiWords(_ text: UnsafeBufferPointer<UInt8>) -> [String]? {
        var words: [String] = []
        var word: [UInt8] = []
        func end() {
            if !word.isEmpty { words.append(String(decoding: word.prefix(longest), as: UTF8.self)) }
            word.removeAll(keepingCapacity: true)
        }
        for (index, byte) in text.enumerated() {
            guard byte < 0x80 else { return nil }
            if isLetter(byte) {
                word.append(byte | 0x20)
            } else if isDigit(byte) || byte == UInt8(ascii: "_") || joins(text, at: index) {
                word.append(byte)
            } else {
                end()
            }
        }
        end()
        return words
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func joins(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        guard index > 0, index + 1 < text.count else { return false }
        let (before, after) = (text[index - 1], text[index + 1])
        return switch text[index] {
        case UInt8(ascii: "'"), UInt8(ascii: "."):
            isLetter(before) && isLetter(after) || isDigit(before) && isDigit(after)
        case UInt8(ascii: ":"): isLetter(before) && isLetter(after)
        case UInt8(ascii: ","), UInt8(ascii: ";"): isDigit(before) && isDigit(after)
        default: false
        }
    }

    /// The words that somebody searches for: those that say nothing are left out.
    package static func wanted(in text: String) -> [String] {
        words(of: text).filter { !stopWords.contains($0) }
    }

    /// What two spellings of a word have in common.
    private static func folded(_ text: String) -> String {
        var bare = String.UnicodeScalarView()
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            bare.append(scalar)
        }
        // Both ways: some letters have several small forms of one large one.
        return String(bare).uppercased().lowercased()
    }

    private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        isLetter(scalar) || isDigit(scalar) || scalar == "_"
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .decimalNumber
    }

    private static func standsAlone(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3041...0x309F).contains(scalar.value)
    }

    /// A sign between two letters or between two digits that doesn't part them.
    private static func joins(_ scalars: [Unicode.Scalar], at index: Int) -> Bool {
        guard index > 0, index + 1 < scalars.count else { return false }
        let (before, after) = (scalars[index - 1], scalars[index + 1])
        return switch scalars[index] {
        case "'", "\u{2019}", ".": isLetter(before) && isLetter(after) || arePoint(before, after)
        case ":", "\u{B7}": isLetter(before) && isLetter(after)
        case ",", ";": isDigit(before) && isDigit(after)
        default: false
        }
    }

    private static func arePoint(_ before: Unicode.Scalar, _ after: Unicode.Scalar) -> Bool {
        isDigit(before) && isDigit(after)
    }

    /// Scalars of a word that count.
    private static let longest = 100

    private static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    ]
}
