// Schemas and damaged texts by chance, the same ones for the same seed.

import CumulusModel
import CumulusTesting

/// Valid schemas of all sizes, small ones mostly.
struct RandomSchemas {
    private var dice: SeededGenerator

    init(seed: UInt64) { dice = SeededGenerator(seed: seed) }

    static let types: [DeclaredType] = {
        let kinds = FieldKind.allCases
        let sealed = kinds.filter(\.isEncryptable)
        let stored: [FieldType] =
            kinds.map { .one($0) } + kinds.map { .list($0) } + sealed.map { .encrypted($0) }
            + sealed.map { .encryptedList($0) }
        let numbers: [FieldKind?] = [nil, .int64, .double]
        return stored.map { .type($0) } + numbers.map { .number(preferred: $0) }
    }()

    static let words = [
        "a", "b", "title", "Title", "TITLE", "grant", "To", "LIST", "string", "a_b", "x9", "Z_",
        "aLongNameThatMovesTheColumnOfTypes", "number", "preferred", "record", "define", "AS",
        String(repeating: "n", count: 255),
    ]

    mutating func next() -> Schema {
        let roles = names(upTo: 4) + (chance(of: 4) ? ["Park Ranger", "a;b", "//"] : [])
        var types = names(upTo: 6).map { type($0, roles) }
        if chance(of: 3) { types.append(type("cloudkit.share", roles)) }
        return Schema(roles: roles, recordTypes: types)
    }

    private mutating func type(_ name: String, _ roles: [String]) -> Schema.RecordType {
        var fields = names(upTo: 12).map { field($0, pick(Self.types)) }
        for system in SystemField.allCases where chance(of: 3) {
            fields.append(field(system.rawValue, .type(.one(system.kind))))
        }
        if name == "cloudkit.share", chance(of: 2) {
            fields.append(field("cloudkit.title", .type(.one(.string))))
        }
        let all = roles + ["_world", "_icloud", "_creator"]
        let grants = all.shuffled(using: &dice).prefix(number(to: 5)).map { role in
            Schema.Grant(role: role, permissions: .init(rawValue: UInt8(number(to: 7))))
        }
        return Schema.RecordType(name: name, fields: fields, grants: grants)
    }

    private mutating func field(_ name: String, _ type: DeclaredType) -> Schema.Field {
        let some = Schema.Indexes(rawValue: UInt8(number(to: 7)))
        return .init(name: name, type: type, indexes: some.intersection(type.possibleIndexes))
    }

    private mutating func names(upTo count: Int) -> [String] {
        Array(Self.words.shuffled(using: &dice).prefix(number(to: count)))
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(to: elements.count - 1)]
    }

    private mutating func chance(of sides: Int) -> Bool { number(to: sides - 1) == 0 }

    private mutating func number(to last: Int) -> Int { Int.random(in: 0...last, using: &dice) }
}

/// Damages texts: some bytes go, come, change or come twice.
struct TextDamage {
    private var dice: SeededGenerator

    init(seed: UInt64) { dice = SeededGenerator(seed: seed) }

    private static let pieces: [Bytes] =
        [
            "(", ")", "<", ">", ",", ";", "\"", "//", "--", "/*", "*/", "\n", " ", "\r\n", "\0",
            "GRANT ", "LIST<", "QUERYABLE ", "STRING ", "READ, ", "TO ", "RECORD TYPE ", "_", "é",
        ]
        .map { Bytes($0.utf8) } + [[0xFF], [0xC3], [0xF0, 0x9F]]

    mutating func text(_ text: Bytes) -> String {
        var bytes = text
        for _ in 0..<Int.random(in: 1...3, using: &dice) { damage(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func damage(_ bytes: inout Bytes) {
        let start = Int.random(in: 0...bytes.count, using: &dice)
        let end = min(bytes.count, start + Int.random(in: 0...12, using: &dice))
        let piece = Self.pieces.randomElement(using: &dice) ?? []
        switch Int.random(in: 0...4, using: &dice) {
        case 0: bytes.removeSubrange(start..<end)
        case 1: bytes.insert(contentsOf: piece, at: start)
        case 2: bytes.replaceSubrange(start..<min(start + 1, end), with: piece)
        case 3: bytes.insert(contentsOf: Bytes(bytes[start..<end]), at: start)
        default: bytes.replaceSubrange(start..<end, with: bytes[start..<end].reversed())
        }
    }
}
