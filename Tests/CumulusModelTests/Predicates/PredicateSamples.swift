// Random predicates, and the random numbers that they are made of.
//
// Seeded: a failure comes again with the same seed.

import CumulusModel
import CumulusTesting

/// Makes predicates that a format can say.
struct PredicateSamples {
    var dice: SeededGenerator

    mutating func nodes(depth: Int = 4) -> [Query.Node] {
        switch depth == 0 ? 9 : dice.below(10) {
        case 0...3: nodes(depth: depth - 1) + nodes(depth: depth - 1) + [.and]
        case 4...5: nodes(depth: depth - 1) + nodes(depth: depth - 1) + [.or]
        case 6: [.constant(dice.below(2) == 0)]
        default: comparison()
        }
    }

    private mutating func comparison() -> [Query.Node] {
        let relation = dice.pick(Query.Relation.allCases)
        switch relation {
        case .containsAnyToken, .containsAllTokens:
            return [.comparison(.init("", relation, [.value(.string(text()))]))]
        case .isNearerThan, .isAtMostAsFarAs:
            let operands: [Query.Operand] = [.value(.location(place())), .value(.double(number()))]
            return [.comparison(.init(key(), relation, operands))]
        default:
            let node = Query.Node.comparison(.init(key(), relation, operands(of: relation)))
            return dice.below(3) == 0 ? [node, .not] : [node]
        }
    }

    private mutating func operands(of relation: Query.Relation) -> [Query.Operand] {
        switch relation {
        case .beginsWith, .listMemberBeginsWith: [.value(.string(text()))]
        case .isNil: []
        case .isIn, .listContainsAny: (0...dice.below(4)).map { _ in operand() }
        default: [operand()]
        }
    }

    private mutating func key() -> String {
        dice.pick([
            "a", "Z_9", "in", "Self", "now", "location", "allTokens", "___recordID", "count",
        ])
    }

    private mutating func operand() -> Query.Operand {
        switch dice.below(8) {
        case 0: .now
        case 1:
            .value(.int64(dice.pick([.min, .max, 0, -1, Int64(truncatingIfNeeded: dice.next())])))
        case 2: .value(.double(number()))
        case 3: .value(.timestamp(moment()))
        case 4:
            .value(.bytes((0..<dice.below(9)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }))
        case 5: .value(.location(place()))
        case 6: .value(.reference(reference()))
        default: .value(.string(text()))
        }
    }

    private mutating func reference() -> Record.Reference {
        Record.Reference(recordName: text(), action: dice.below(2) == 0 ? .none : .deleteSelf)
    }

    private mutating func text() -> String {
        let pieces = [
            "'", "\"", "\\", "\n", "\r", "\t", "\0", "\u{1B}", "\u{7F}", "\u{85}", "\u{202E}",
            "é", "e\u{301}", "漢", "👩‍👩‍👧", "%@", "#", "a", " ", "\u{FEFF}", "\u{10FFFF}", "$x",
            "\\u",
        ]
        return (0..<dice.below(8)).map { _ in dice.pick(pieces) }.joined()
    }

    private mutating func number() -> Double {
        let random = Double(bitPattern: dice.next())
        let extremes: [Double] = [
            0, -0.0, 1, -1.5, .infinity, -.infinity, .leastNonzeroMagnitude,
            .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .pi, 1e16, 1e-7, 50_000,
        ]
        return dice.below(2) == 0 && !random.isNaN ? random : dice.pick(extremes)
    }

    private mutating func moment() -> Timestamp {
        let range = Timestamp.range
        let any = Int64.random(in: range, using: &dice)
        let wholeSecond = any - any % 1_000
        let extremes = [0, -1, 999, -86_400_000, range.lowerBound, range.upperBound, wholeSecond]
        return Timestamp(millisecondsSince1970: dice.below(2) == 0 ? any : dice.pick(extremes))
    }

    private mutating func place() -> Location {
        var place = Location(latitude: number(), longitude: number())
        if dice.below(4) == 0 { place.altitude = number() }
        if dice.below(4) == 0 { place.horizontalAccuracy = number() }
        if dice.below(4) == 0 { place.verticalAccuracy = number() }
        if dice.below(4) == 0 { place.course = number() }
        if dice.below(4) == 0 { place.speed = number() }
        if dice.below(4) == 0 { place.timestamp = moment() }
        return place
    }
}

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[below(elements.count)]
    }
}
