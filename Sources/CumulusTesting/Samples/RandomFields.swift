// Random fields of every kind, small enough to meet each other often.

package import CumulusModel

package enum RandomFields {
    /// Up to `count` fields with names from a to z, without removals.
    package static func fields(
        upTo count: Int,
        using dice: inout SeededGenerator
    ) -> [String: FieldValue] {
        var fields: [String: FieldValue] = [:]
        for _ in 0..<Int.random(in: 0...count, using: &dice) {
            fields[name(using: &dice)] = value(using: &dice)
        }
        return fields
    }

    package static func name(using dice: inout SeededGenerator) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let length = Int.random(in: 1...2, using: &dice)
        return String((0..<length).map { _ in letters[Int.random(in: 0..<26, using: &dice)] })
    }

    /// Anything but an asset, which can't be saved yet.
    package static func value(using dice: inout SeededGenerator) -> FieldValue {
        guard Int.random(in: 0..<4, using: &dice) == 0 else { return scalar(using: &dice) }
        let kind = Int.random(in: 0..<7, using: &dice)
        let count = Int.random(in: 0...4, using: &dice)
        return .list((0..<count).map { _ in scalar(of: kind, using: &dice) })
    }

    private static func scalar(using dice: inout SeededGenerator) -> FieldValue {
        scalar(of: Int.random(in: 0..<7, using: &dice), using: &dice)
    }

    private static func scalar(of kind: Int, using dice: inout SeededGenerator) -> FieldValue {
        switch kind {
        case 0: .string(["", "a", "ab", "é", "漢字", "\u{0}x"].randomElement(using: &dice) ?? "")
        case 1: .int64(integer(using: &dice))
        case 2: .double([0, -0.0, 1.5, -.infinity, 1e300].randomElement(using: &dice) ?? 0)
        case 3: .timestamp(Timestamp(millisecondsSince1970: integer(using: &dice) >> 18))
        case 4: .bytes((0..<Int.random(in: 0...5, using: &dice)).map { UInt8($0 * 63) })
        case 5: .location(location(using: &dice))
        default:
            .reference(
                Record.Reference(
                    recordName: name(using: &dice),
                    action: Bool.random(using: &dice) ? .deleteSelf : .none
                )
            )
        }
    }

    private static func integer(using dice: inout SeededGenerator) -> Int64 {
        Int64(bitPattern: dice.next()) >> Int64.random(in: 0...63, using: &dice)
    }

    private static func location(using dice: inout SeededGenerator) -> Location {
        var location = Location(
            latitude: .random(in: -90...90, using: &dice),
            longitude: .random(in: -180...180, using: &dice)
        )
        if Bool.random(using: &dice) { location.altitude = 0 }
        if Bool.random(using: &dice) { location.speed = 3.5 }
        if Bool.random(using: &dice) {
            location.timestamp = Timestamp(millisecondsSince1970: 5)
        }
        return location
    }
}
