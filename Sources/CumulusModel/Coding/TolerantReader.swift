// Reads messages as protobuf wants it: fields in any order, unknown ones skipped, the last one of
// several, numbers packed and single.
//
// Run over the answers of servers and over what nodes say to each other: bytes that may be
// anything. It takes what libprotobuf-c takes, which reads callers' requests, and makes the same of
// it; tests compare the two. What it reads takes `growth` bytes of memory for each byte of the
// message, and 256 KB, at most; messages are nested 16 deep, at most. hot: once per field of an
// answer.
//
// When a message is entered its fields are listed, which finds what is cut off. All that our
// writers make is in order. Fields of other writers that aren't are put in order, and `code` takes
// them one after the other either way.

@usableFromInline
package struct TolerantReader: Sendable {
    let bytes: Bytes
    /// Bytes of memory that what is read may still take.
    private var room: Int
    /// The fields of the message, behind the fields of the messages around it.
    private(set) var fields: [Field] = []
    var place = Place(next: 0, first: 0, depth: 0)

    private static let deepest = 16
    /// What an array takes besides its elements.
    private static let heapHeader = 32

    /// A field as it stands in the bytes.
    @usableFromInline struct Field: Sendable {
        let number: UInt32
        /// Where its value begins, behind its length if it has one.
        var start: UInt32
        var end: UInt32
        let type: WireType
        /// How many bytes its length has.
        let prefix: UInt8

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    /// A place in a message.
    @usableFromInline struct Place: Sendable {
        /// The field that comes next.
        var next: Int
        /// The message's first one.
        var first: Int
        var depth: Int
    }

    package init(_ bytes: Bytes, growth: Int) throws(MalformedBytes) {
        self.bytes = bytes
        room = growth * bytes.count + 256 << 10
        guard bytes.count <= Int(Int32.max) else { throw MalformedBytes("a message is too large") }
        try list(0..<bytes.count)
    }

    // MARK: Fields

    /// Lists the fields of a message.
    private mutating func list(_ range: Range<Int>) throws(MalformedBytes) {
        var (start, last, ascends) = (range.lowerBound, UInt32(0), true)
        while start < range.upperBound {
            let field = try field(at: start, range.upperBound)
            ascends = ascends && field.number >= last
            (start, last) = (Int(field.end), field.number)
            try charge(TolerantReader.fieldCost)
            fields.append(field)
        }
        if ascends { return }
        // Fields of one number stay in the order in which they stand.
        fields[place.first...].sort { ($0.number, $0.start) < ($1.number, $1.start) }
    }

    /// What a field takes while its message is read; an array may have twice the room it needs.
    private static var fieldCost: Int { 2 * MemoryLayout<Field>.stride }

    /// The field that begins at a place; `end` is the end of its message.
    ///
    /// A tag and a length have five bytes at most, and 32 bits of them count.
    private func field(at place: Int, _ end: Int) throws(MalformedBytes) -> Field {
        // The number 0, in one byte.
        guard bytes[place] >= 8 else { throw MalformedBytes("a field has no number") }
        var start = place
        let tag = try short(&start, end)
        guard let type = WireType(rawValue: UInt8(tag & 7)) else {
            throw MalformedBytes("a field has an unknown wire type")
        }
        let head = start
        let length: Int
        switch type {
        case .varint: length = try varintLength(start, end)
        case .fixed64: length = 8
        case .fixed32: length = 4
        case .delimited: length = Int(UInt32(truncatingIfNeeded: try short(&start, end)))
        }
        guard length <= end - start else { throw MalformedBytes("a value is cut off") }
        return Field(
            number: UInt32(truncatingIfNeeded: tag >> 3),
            start: UInt32(start),
            end: UInt32(start + length),
            type: type,
            prefix: UInt8(start - head)
        )
    }

    /// A varint of at most five bytes.
    @inline(__always)
    private func short(_ place: inout Int, _ end: Int) throws(MalformedBytes) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while place < end, shift < 35 {
            let byte = bytes[place]
            place += 1
            value |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw MalformedBytes("a field is cut off, or has a tag or a length that is too long")
    }

    /// How many bytes a varint has: ten, at most.
    @inline(__always)
    func varintLength(_ start: Int, _ end: Int) throws(MalformedBytes) -> Int {
        for index in start..<min(end, start + 10) where bytes[index] < 0x80 {
            return index + 1 - start
        }
        throw MalformedBytes("a number is cut off or too long")
    }

    /// Goes to the fields of a number; returns whether there is one.
    @inline(__always)
    mutating func find(_ number: Int) -> Bool {
        while place.next < fields.count, fields[place.next].number < number { place.next += 1 }
        return place.next < fields.count && fields[place.next].number == number
    }

    /// How many fields of a number come next.
    @usableFromInline mutating func count(_ number: Int) -> Int {
        guard find(number) else { return 0 }
        var end = place.next + 1
        while end < fields.count, fields[end].number == number { end += 1 }
        return end - place.next
    }

    /// Takes the next field.
    @usableFromInline mutating func next(_ type: WireType) throws(MalformedBytes) -> Field {
        let field = fields[place.next]
        guard field.type == type else { throw MalformedBytes("a field has another type") }
        place.next += 1
        return field
    }

    /// The last field of a number; all of them have to be of a type.
    mutating func last(_ number: Int, _ type: WireType) throws(MalformedBytes) -> Field? {
        var last: Field?
        while find(number) { last = try next(type) }
        return last
    }

    // MARK: Memory and depth

    @usableFromInline mutating func charge(_ cost: Int) throws(MalformedBytes) {
        guard cost <= room else { throw MalformedBytes("there are too many small parts") }
        room -= cost
    }

    /// Goes into a nested message; returns the place to which `leave` goes back.
    @usableFromInline mutating func enter(_ field: Field) throws(MalformedBytes) -> Place {
        let outer = place
        guard outer.depth < TolerantReader.deepest else {
            throw MalformedBytes("messages are nested too deep")
        }
        place = Place(next: fields.count, first: fields.count, depth: outer.depth + 1)
        try list(field.range)
        return outer
    }

    @usableFromInline mutating func leave(_ outer: Place) {
        room += (fields.count - place.first) * TolerantReader.fieldCost
        fields.removeLast(fields.count - place.first)
        place = outer
    }

    // MARK: Values

    func varint(_ field: Field) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        for index in field.range {
            value |= UInt64(bytes[index] & 0x7F) &<< shift
            shift += 7
        }
        return value
    }

    func fixed64(_ start: Int) -> UInt64 {
        bytes.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: start, as: UInt64.self))
        }
    }

    mutating func content(_ field: Field) throws(MalformedBytes) -> Bytes {
        if field.start == field.end { return [] }
        try charge(field.range.count + TolerantReader.heapHeader)
        return Bytes(bytes[field.range])
    }

    mutating func text(_ field: Field) throws(MalformedBytes) -> String {
        try charge(field.range.count)
        return String(decoding: bytes[field.range], as: UTF8.self)
    }

    mutating func checkedText(_ field: Field) throws(MalformedBytes) -> String {
        try charge(field.range.count)
        guard let text = String(utf8: bytes[field.range]) else {
            throw MalformedBytes("a text is not UTF-8")
        }
        return text
    }
}

extension Coded {
    /// Reads a message that came from elsewhere.
    ///
    /// - Parameter growth: Bytes of memory that each byte of it may take.
    package init(tolerant bytes: Bytes, growth: Int) throws(MalformedBytes) {
        var reader = try TolerantReader(bytes, growth: growth)
        self.init()
        try read(from: &reader)
    }
}
