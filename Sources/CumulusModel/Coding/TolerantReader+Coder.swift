// Gives a message its fields: the calls of `Coder`, as the tolerant reader answers them.
//
// A number that isn't there is 0; texts, bytes and messages that aren't there stay as they are, so
// that a message that comes twice is merged as libprotobuf-c does it. hot: once per field.

extension TolerantReader: Coder {
    @inlinable package static var reads: Bool { true }
    @inlinable package static var isStrict: Bool { false }

    @usableFromInline package mutating func number(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .varint) else {
            value = 0
            return
        }
        value = varint(field)
    }

    @usableFromInline package mutating func signed(_ field: Int, _ value: inout Int64)
        throws(MalformedBytes)
    {
        var number: UInt64 = 0
        try self.number(field, &number)
        value = unzigzag(number)
    }

    /// Whatever type it has, it is set if any bit is.
    @usableFromInline package mutating func flag(_ field: Int, _ value: inout Bool)
        throws(MalformedBytes)
    {
        value = false
        while find(field) {
            let field = fields[place.next]
            let start = Int(field.start) - Int(field.prefix)
            value = bytes[start..<Int(field.end)].contains { $0 & 0x7F != 0 }
            place.next += 1
        }
    }

    @usableFromInline package mutating func fixed64(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .fixed64) else {
            value = 0
            return
        }
        value = fixed64(Int(field.start))
    }

    @usableFromInline package mutating func double(_ field: Int, _ value: inout Double)
        throws(MalformedBytes)
    {
        var bits: UInt64 = 0
        try fixed64(field, &bits)
        value = Double(bitPattern: bits)
    }

    @usableFromInline package mutating func bytes(_ field: Int, _ value: inout Bytes)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .delimited), field.start < field.end else { return }
        value = try content(field)
    }

    @usableFromInline package mutating func slice(
        _ field: Int,
        _ value: inout ArraySlice<UInt8>
    ) throws(MalformedBytes) {
        guard let field = try last(field, .delimited), field.start < field.end else { return }
        value = bytes[field.range]
    }

    @usableFromInline package mutating func text(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .delimited), field.start < field.end else { return }
        value = try text(field)
    }

    @usableFromInline package mutating func checkedText(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .delimited), field.start < field.end else { return }
        value = try checkedText(field)
    }

    // MARK: Lists

    /// Makes room for elements of a list.
    @inlinable mutating func reserve<Element>(
        _ count: Int,
        _ values: inout [Element]
    ) throws(MalformedBytes) {
        let cost = count * MemoryLayout<Element>.stride
        guard values.isEmpty else { return try charge(2 * cost) }
        try charge(cost)
        values.reserveCapacity(count)
    }

    @usableFromInline package mutating func list(_ field: Int, _ values: inout [Bytes])
        throws(MalformedBytes)
    {
        let count = count(field)
        try reserve(count, &values)
        for _ in 0..<count {
            values.append(try content(try next(.delimited)))
        }
    }

    @usableFromInline package mutating func list(_ field: Int, _ values: inout [String])
        throws(MalformedBytes)
    {
        let count = count(field)
        try reserve(count, &values)
        for _ in 0..<count {
            values.append(try text(try next(.delimited)))
        }
    }

    @usableFromInline package mutating func checkedList(
        _ field: Int,
        _ values: inout [String]
    ) throws(MalformedBytes) {
        let count = count(field)
        try reserve(count, &values)
        for _ in 0..<count {
            values.append(try checkedText(try next(.delimited)))
        }
    }

    @inlinable package mutating func list<Message: Coded>(
        _ field: Int,
        _ messages: inout [Message]
    ) throws(MalformedBytes) {
        let count = count(field)
        if count == 0 { return }
        try reserve(count, &messages)
        for _ in 0..<count {
            let outer = try enter(try next(.delimited))
            var message = Message()
            try message.read(from: &self)
            messages.append(message)
            leave(outer)
        }
    }

    @usableFromInline package mutating func packed(
        _ field: Int,
        _ values: inout [UInt64]
    ) throws(MalformedBytes) {
        while find(field) {
            guard fields[place.next].type == .delimited else {
                try charge(2 * MemoryLayout<UInt64>.stride)
                values.append(varint(try next(.varint)))
                continue
            }
            var number = try next(.delimited)
            let end = Int(number.end)
            // Each number ends with a byte below 0x80.
            let count = bytes[number.range].reduce(0) { $1 < 0x80 ? $0 + 1 : $0 }
            try reserve(count, &values)
            while number.start < end {
                number.end = number.start + UInt32(try varintLength(Int(number.start), end))
                values.append(varint(number))
                number.start = number.end
            }
        }
    }

    @usableFromInline package mutating func packedFixed64(
        _ field: Int,
        _ values: inout [UInt64]
    ) throws(MalformedBytes) {
        while find(field) {
            guard fields[place.next].type == .delimited else {
                try charge(2 * MemoryLayout<UInt64>.stride)
                values.append(fixed64(Int(try next(.fixed64).start)))
                continue
            }
            let run = try next(.delimited).range
            guard run.count % 8 == 0 else { throw MalformedBytes("a run of numbers is cut off") }
            try reserve(run.count / 8, &values)
            for start in stride(from: run.lowerBound, to: run.upperBound, by: 8) {
                values.append(fixed64(start))
            }
        }
    }

    @usableFromInline package mutating func run(
        _ field: Int,
        _ fields: inout Bytes
    ) throws(MalformedBytes) {
        var writer = CanonicalWriter()
        for _ in 0..<count(field) {
            let content = try next(.delimited).range
            try charge(2 * (content.count + 10))
            writer.present(field, bytes: bytes[content])
        }
        fields += writer.bytes
    }

    // MARK: Messages

    @inlinable package mutating func message<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes) {
        for _ in 0..<count(field) {
            let outer = try enter(try next(.delimited))
            try message.read(from: &self)
            leave(outer)
        }
    }

    // MARK: Choices

    /// If several are there, it is the one that stands last in the message.
    @usableFromInline package mutating func choice(
        _ fields: ClosedRange<Int>,
        _ current: Int?
    ) throws(MalformedBytes) -> Int? {
        _ = find(fields.lowerBound)
        var last: Field?
        for field in self.fields[place.next...] {
            if field.number > fields.upperBound { break }
            if field.start >= last?.start ?? 0 { last = field }
        }
        return last.map { Int($0.number) }
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout UInt64)
        throws(MalformedBytes)
    {
        try number(field, &value)
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Int64)
        throws(MalformedBytes)
    {
        try signed(field, &value)
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Double)
        throws(MalformedBytes)
    {
        try double(field, &value)
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout Bytes)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .delimited) else { return }
        value = try content(field)
    }

    @usableFromInline package mutating func member(_ field: Int, _ value: inout String)
        throws(MalformedBytes)
    {
        guard let field = try last(field, .delimited) else { return }
        value = try text(field)
    }

    @inlinable package mutating func member<Message: Coded>(
        _ field: Int,
        _ message: inout Message
    ) throws(MalformedBytes) {
        var last: Field?
        for _ in 0..<count(field) { last = try next(.delimited) }
        guard let last else { return }
        let outer = try enter(last)
        message = Message()
        try message.read(from: &self)
        leave(outer)
    }
}
