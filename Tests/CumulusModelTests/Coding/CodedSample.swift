// A message with a field of every kind, at random, for the tests of the coders.

import CumulusModel
import CumulusTesting

struct CodedSample: Coded, Hashable {
    struct Part: Coded, Hashable {
        var name = ""
        var size: UInt64 = 0
        var parts: [Bytes] = []
        var inner: Leaf?

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &name)
            try coder.number(2, &size)
            try coder.list(3, &parts)
            try coder.message(4, &inner)
        }
    }

    struct Leaf: Coded, Hashable {
        var value: Int64 = 0

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.signed(1, &value)
        }
    }

    enum Choice: Hashable {
        case number(UInt64)
        case flag(Bool)
        case signed(Int64)
        case double(Double)
        case bytes(Bytes)
        case text(String)
        case part(Part)

        var number: Int {
            switch self {
            case .number: 20
            case .flag: 21
            case .signed: 22
            case .double: 23
            case .bytes: 24
            case .text: 25
            case .part: 26
            }
        }
    }

    var number: UInt64 = 0
    var short: UInt32 = 0
    var signed: Int64 = 0
    var flag = false
    var fixed: UInt64 = 0
    var double = 0.0
    var bytes: Bytes = []
    var slice: ArraySlice<UInt8> = []
    var text = ""
    var checked = ""
    var list: [Bytes] = []
    var texts: [String] = []
    var checkedTexts: [String] = []
    /// Fields with the number 30.
    var run: Bytes = []
    var parts: [Part] = []
    var packed: [UInt64] = []
    var shorts: [UInt32] = []
    var fixeds: [UInt64] = []
    var always = Part()
    var sometimes: Part?
    var choice: Choice?
    var maybeShort: UInt32?
    var maybeSigned: Int64?
    var maybeDouble: Double?
    var maybeBytes: Bytes?
    var maybeText: String?

    init() {}

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &number)
        try coder.number(2, &short)
        try coder.signed(3, &signed)
        try coder.flag(4, &flag)
        try coder.fixed64(5, &fixed)
        try coder.double(6, &double)
        try coder.bytes(7, &bytes)
        try coder.slice(8, &slice)
        try coder.text(9, &text)
        try coder.checkedText(10, &checked)
        try coder.list(11, &list)
        try coder.list(12, &texts)
        try coder.checkedList(13, &checkedTexts)
        try coder.list(14, &parts)
        try coder.packed(15, &packed)
        try coder.list(16, packed: &shorts)
        try coder.packedFixed64(17, &fixeds)
        try coder.message(18, &always)
        try coder.message(19, &sometimes)
        try codeChoice(&coder)
        try coder.run(30, &run)
        try coder.optional(200, &maybeShort)
        try coder.optional(201, &maybeSigned)
        try coder.optional(202, &maybeDouble)
        try coder.optional(203, &maybeBytes)
        try coder.optional(204, &maybeText)
    }

    private mutating func codeChoice(_ coder: inout some Coder) throws(MalformedBytes) {
        switch try coder.choice(20...26, choice?.number) {
        case 20:
            var value: UInt64 = if case .number(let value) = choice { value } else { 0 }
            try coder.member(20, &value)
            choice = .number(value)
        case 21:
            var value = if case .flag(let value) = choice { value } else { false }
            try coder.member(21, &value)
            choice = .flag(value)
        case 22:
            var value: Int64 = if case .signed(let value) = choice { value } else { 0 }
            try coder.member(22, &value)
            choice = .signed(value)
        case 23:
            var value: Double = if case .double(let value) = choice { value } else { 0 }
            try coder.member(23, &value)
            choice = .double(value)
        case 24:
            var value: Bytes = if case .bytes(let value) = choice { value } else { [] }
            try coder.member(24, &value)
            choice = .bytes(value)
        case 25:
            var value = if case .text(let value) = choice { value } else { "" }
            try coder.member(25, &value)
            choice = .text(value)
        case 26:
            var value = if case .part(let value) = choice { value } else { Part() }
            try coder.member(26, &value)
            choice = .part(value)
        default: break
        }
    }

    /// Bytes of memory, about, besides the struct itself.
    var heldBytes: Int {
        func held(_ part: Part) -> Int { part.name.utf8.count + held(part.parts) }
        func held(_ list: [Bytes]) -> Int { list.reduce(8 * list.count) { $0 + $1.count } }
        return bytes.count + text.utf8.count + checked.utf8.count + held(list)
            + (texts + checkedTexts).reduce(0) { $0 + 16 + $1.utf8.count }
            + parts.reduce(0) { $0 + MemoryLayout<Part>.stride + held($1) }
            + 8 * (packed.count + fixeds.count) + 4 * shorts.count + held(always)
    }
}

// MARK: - At random

extension CodedSample {
    init(using dice: inout SeededGenerator) {
        number = Self.word(&dice)
        short = UInt32(truncatingIfNeeded: Self.word(&dice))
        signed = Int64(bitPattern: Self.word(&dice))
        flag = Bool.random(using: &dice)
        fixed = Self.word(&dice)
        double = Self.double(&dice)
        bytes = Self.bytes(&dice)
        slice = Self.bytes(&dice)[...]
        text = Self.text(&dice)
        checked = Self.text(&dice)
        list = Self.list(&dice, Self.bytes)
        texts = Self.list(&dice, Self.text)
        checkedTexts = Self.list(&dice, Self.text)
        parts = Self.list(&dice, Self.part)
        packed = Self.list(&dice, Self.word)
        shorts = Self.list(&dice) { UInt32(truncatingIfNeeded: Self.word(&$0)) }
        fixeds = Self.list(&dice, Self.word)
        always = Self.part(&dice)
        sometimes = Bool.random(using: &dice) ? Self.part(&dice) : nil
        choice = Self.choice(&dice)
        var writer = CanonicalWriter()
        for content in Self.list(&dice, Self.bytes) { writer.present(30, bytes: content) }
        run = writer.bytes
        if Bool.random(using: &dice) { maybeShort = UInt32.random(in: 0...1, using: &dice) }
        if Bool.random(using: &dice) { maybeSigned = Int64.random(in: -1...1, using: &dice) }
        if Bool.random(using: &dice) { maybeDouble = Self.double(&dice) }
        if Bool.random(using: &dice) { maybeBytes = Self.bytes(&dice) }
        if Bool.random(using: &dice) { maybeText = Self.text(&dice) }
    }

    private static func choice(_ dice: inout SeededGenerator) -> Choice? {
        switch Int.random(in: 0..<8, using: &dice) {
        case 0: .number(word(&dice))
        case 1: .flag(Bool.random(using: &dice))
        case 2: .signed(Int64(bitPattern: word(&dice)))
        case 3: .double(double(&dice))
        case 4: .bytes(bytes(&dice))
        case 5: .text(text(&dice))
        case 6: .part(part(&dice))
        default: nil
        }
    }

    private static func part(_ dice: inout SeededGenerator) -> Part {
        var part = Part()
        part.name = text(&dice)
        part.size = word(&dice)
        part.parts = list(&dice, bytes)
        if Bool.random(using: &dice) { part.inner = Leaf(value: .random(in: -2...2, using: &dice)) }
        return part
    }

    /// A number of any width; often 0.
    private static func word(_ dice: inout SeededGenerator) -> UInt64 {
        Bool.random(using: &dice) ? dice.next() >> UInt64.random(in: 0...63, using: &dice) : 0
    }

    private static func double(_ dice: inout SeededGenerator) -> Double {
        [0, 1, -1.5, .infinity, .leastNonzeroMagnitude].randomElement(using: &dice) ?? 0
    }

    private static func bytes(_ dice: inout SeededGenerator) -> Bytes {
        let count = [0, 0, 1, 3, 127, 128, 300].randomElement(using: &dice) ?? 0
        return (0..<count).map { _ in .random(in: 0...255, using: &dice) }
    }

    private static func text(_ dice: inout SeededGenerator) -> String {
        ["", "", "a", "Grüße", "漢字", "x\u{0}y", String(repeating: "n", count: 200)]
            .randomElement(using: &dice) ?? ""
    }

    private static func list<Value>(
        _ dice: inout SeededGenerator,
        _ make: (inout SeededGenerator) -> Value
    ) -> [Value] {
        (0..<([0, 0, 1, 2, 5].randomElement(using: &dice) ?? 0)).map { _ in make(&dice) }
    }
}

// MARK: - Fields of a message

extension Bytes {
    /// The fields of a message, each with its tag.
    func messageFields() throws -> [(number: Int, type: WireType, bytes: Bytes)] {
        var reader = CanonicalReader(self)
        var fields: [(Int, WireType, Bytes)] = []
        while true {
            let start = reader.position
            guard let (number, type) = try reader.nextField() else { return fields }
            try reader.skip(type)
            fields.append((number, type, Bytes(self[start..<reader.position])))
        }
    }
}
