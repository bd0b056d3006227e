// Words of texts in any script: the cached facts about scalars equal the library's.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@testable import CumulusStorage

@Suite struct SearchWordsTests {
    /// Letters with marks before and after composition, ligatures, digits and signs of scripts.
    private static let pieces: [String] = [
        "a", "É", "e\u{301}", "ß", "ﬁ", "İ", "ı", "ς", "Σ", "ŉ", "1", "٣", "９", "_", "'",
        "\u{2019}",
        ".", ":", "\u{B7}", ",", ";", " ", "-", "漢", "か", "が", "カ", "한", "ก", "็", "ش", "ً", "Я",
        "й",
        "\u{1F600}", "𝒜", "\u{10FFFF}", "\u{0}",
    ]

    @Test(arguments: UInt64(1)...20) func everyTextIsCutAsItsScalarsSay(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            var text = "é"
            for _ in 0..<Int.random(in: 0..<20, using: &dice) {
                let any = Unicode.Scalar(UInt32.random(in: 0..<0x30000, using: &dice))
                let piece = Self.pieces.randomElement(using: &dice) ?? ""
                text += Bool.random(using: &dice) ? piece : any.map(String.init) ?? piece
            }
            #expect(SearchWords.words(of: text) == Self.words(of: text))
        }
    }

    /// By the rules, asking the library about each scalar.
    private static func words(of text: String) -> [String] {
        var bare = String.UnicodeScalarView()
        for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
        where scalar.properties.generalCategory != .nonspacingMark {
            bare.append(scalar)
        }
        let scalars = Array(String(bare).uppercased().lowercased().unicodeScalars)
        var words: [String] = [""]
        for (index, scalar) in scalars.enumerated() {
            if standsAlone(scalar) {
                words += [String(scalar), ""]
            } else if isLetter(scalar) || isDigit(scalar) || scalar == "_" || joins(scalars, index)
            {
                words[words.count - 1].unicodeScalars.append(scalar)
            } else {
                words.append("")
            }
        }
        return words.filter { !$0.isEmpty }
    }

    private static func standsAlone(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3041...0x309F).contains(scalar.value)
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || standsAlone(scalar)
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .decimalNumber
    }

    private static func joins(_ scalars: [Unicode.Scalar], _ index: Int) -> Bool {
        guard index > 0, index + 1 < scalars.count else { return false }
        let (before, after) = (scalars[index - 1], scalars[index + 1])
        let areLetters = isLetter(before) && isLetter(after)
        let areDigits = isDigit(before) && isDigit(after)
        return switch scalars[index] {
        case "'", "\u{2019}", ".": areLetters || areDigits
        case ":", "\u{B7}": areLetters
        case ",", ";": areDigits
        default: false
        }
    }

    @Test func aWordsFirstHundredScalarsCount() {
        let long = String(repeating: "é", count: 150)
        #expect(SearchWords.words(of: long + " ü") == [String(repeating: "e", count: 100), "u"])
    }
}
