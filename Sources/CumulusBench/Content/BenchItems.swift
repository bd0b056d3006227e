// The records that the path `query` asks about: five fields with an index each, and a body.
//
// The content of a record follows from its number, so that queries can have answers of a known
// size, whatever the number of records is.

import Cumulus
import CumulusModel
import Foundation

struct BenchItems: Sendable {
    let count: Int
    private let bodies: [String]

    /// Records of one owner, and those with one word; on average.
    static let perOwner = 100
    static let perWord = 100
    private static let wordsPerRecord = 3

    init(count: Int) {
        self.count = count
        var dice = SeededGenerator(seed: 0)
        bodies = (0..<64).map { _ in BenchItems.letters(300, &dice) }
    }

    /// Records that exist twice: with indexes and without.
    static let replaced = 1_000

    static func id(_ number: Int, of type: String = "Item") -> Record.ID {
        let digits = String(number)
        let zeros = String(repeating: "0", count: max(0, 8 - digits.count))
        return Record.ID(recordName: "\(type)-\(zeros)\(digits)")
    }

    /// - Parameter seed: The seed of its content; nil means the number.
    func record(_ number: Int, type: String, seed: Int? = nil) -> Record {
        var dice = SeededGenerator(seed: UInt64(seed ?? number))
        var record = Record(recordType: type, recordID: BenchItems.id(number, of: type))
        record["owner"] = .string(anyOwner(&dice))
        record["rank"] = .int64(.random(in: 0..<1_000_000_000, using: &dice))
        record["title"] = .string(BenchItems.letters(24, &dice))
        let words = (0..<BenchItems.wordsPerRecord).map { _ in anyWord(&dice) }
        record["words"] = .string(words.joined(separator: " "))
        record["place"] = .location(BenchItems.anyPlace(&dice))
        record["body"] = .string(bodies[number % bodies.count])
        return record
    }

    func anyOwner(_ dice: inout SeededGenerator) -> String {
        "owner\(Int.random(in: 0..<max(1, count / BenchItems.perOwner), using: &dice))"
    }

    func anyWord(_ dice: inout SeededGenerator) -> String {
        let words = count * BenchItems.wordsPerRecord / BenchItems.perWord
        return "word\(Int.random(in: 0..<max(1, words), using: &dice))"
    }

    /// Evenly over the sphere.
    static func anyPlace(_ dice: inout SeededGenerator) -> Location {
        let height = Double.random(in: -1...1, using: &dice)
        return Location(
            latitude: asin(height) * 180 / .pi,
            longitude: .random(in: -180...180, using: &dice)
        )
    }

    static func letters(_ count: Int, _ dice: inout SeededGenerator) -> String {
        String(
            decoding: (0..<count).map { _ in
                UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z"), using: &dice)
            },
            as: UTF8.self
        )
    }
}
