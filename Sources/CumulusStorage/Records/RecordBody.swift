// The fields of a record as bytes: the canonical wire form of `repeated Field fields = 10`, sorted
// by name, with an index of the fields. Fields are found, merged and filtered without decoding
// values.
//
// Record rows and commits hold bodies; in a commit a field without a value means its removal.
// Values are checked once, when a request arrives (`FieldCanonicaliser`). hot: once per saved or
// fetched record.

package import CumulusModel

package struct RecordBody: Hashable, Sendable {
    /// The position of one field in `bytes`.
    package struct Entry: Hashable, Sendable {
        /// The whole field with its tag and length.
        package var whole: Range<Int>
        package var name: Range<Int>
        /// The bytes after the value's tag; for delimited values without their length.
        package var value: Range<Int>
        /// nil means that there is no value: the field is to be removed.
        package var type: FieldType?
    }

    package private(set) var bytes: Bytes
    package private(set) var entries: [Entry]

    package init() {
        bytes = []
        entries = []
    }

    /// The field number of `fields` in `Record` and in `Put`.
    package static let fieldNumber = 10

    /// Reads a body that this server wrote.
    package init(stored bytes: Bytes) throws(MalformedBytes) {
        try self.init(stored: bytes, 0..<bytes.count)
    }

    package init(stored source: Bytes, _ range: Range<Int>) throws(MalformedBytes) {
        self.init()
        bytes = range == 0..<source.count ? source : Bytes(source[range])
        // Most records have few fields, and a field takes at least 8 bytes.
        entries.reserveCapacity(min(16, bytes.count / 8))
        var reader = CanonicalReader(bytes)
        while !reader.isAtEnd {
            let entry = try RecordBody.readEntry(&reader)
            if let last = entries.last, !RecordBody.ascend(bytes, last.name, entry.name) {
                throw MalformedBytes("the fields of a body are not sorted")
            }
            entries.append(entry)
        }
    }

    package func name(of entry: Entry) -> String {
        String(decoding: bytes[entry.name], as: UTF8.self)
    }

    package func entry(named name: String) -> Entry? {
        var name = name
        return name.withUTF8 { name in
            let index = firstIndex(notBefore: UnsafeRawBufferPointer(name))
            guard index < entries.count else { return nil }
            return order(index, UnsafeRawBufferPointer(name)) == 0 ? entries[index] : nil
        }
    }

    /// The value of an INT64 field; nil if the field holds something else.
    package func int64(_ entry: Entry) throws(MalformedBytes) -> Int64? {
        guard entry.type == .one(.int64) else { return nil }
        var reader = CanonicalReader(bytes, entry.value)
        return try reader.signed()
    }

    /// Reserves room for the fields of two bodies.
    package mutating func reserveCapacity(for one: RecordBody, _ other: RecordBody) {
        bytes.reserveCapacity(one.bytes.count + other.bytes.count)
        entries.reserveCapacity(one.entries.count + other.entries.count)
    }

    /// Appends a field of another body; fields must come in ascending order.
    package mutating func append(_ entry: Entry, of source: RecordBody) {
        let shift = bytes.count - entry.whole.lowerBound
        bytes.append(contentsOf: source.bytes[entry.whole])
        entries.append(
            Entry(
                whole: entry.whole.shifted(by: shift),
                name: entry.name.shifted(by: shift),
                value: entry.value.shifted(by: shift),
                type: entry.type
            )
        )
    }

    /// Appends a field of another body under another name.
    package mutating func append(_ entry: Entry, of source: RecordBody, named name: String) {
        if source.name(of: entry) == name { return append(entry, of: source) }
        var field = CanonicalWriter(reserving: entry.whole.count + name.utf8.count)
        field.field(1, text: name)
        // The rest of the field's message after the name.
        field.raw(source.bytes[entry.name.upperBound..<entry.whole.upperBound])
        append(field: field.bytes)
    }

    /// Appends an INT64 field; fields must come in ascending order.
    package mutating func append(_ name: String, int64 value: Int64) {
        var field = CanonicalWriter()
        field.field(1, text: name)
        field.present(Int(FieldKind.int64.rawValue), signed: value)
        append(field: field.bytes)
    }

    /// Appends a STRING field; fields must come in ascending order.
    package mutating func append(_ name: String, text: String) {
        var field = CanonicalWriter()
        field.field(1, text: name)
        field.present(Int(FieldKind.string.rawValue), bytes: text.utf8)
        append(field: field.bytes)
    }

    /// Appends a field without a value, which stands for its removal.
    package mutating func append(removalOf name: String) {
        var field = CanonicalWriter()
        field.field(1, text: name)
        append(field: field.bytes)
    }

    /// Appends a field given as the canonical bytes of a `Field` message.
    package mutating func append(field: Bytes) {
        var writer = CanonicalWriter(reserving: field.count + 4)
        writer.present(RecordBody.fieldNumber, bytes: field)
        var reader = CanonicalReader(writer.bytes)
        guard let entry = try? RecordBody.readEntry(&reader) else {
            preconditionFailure("a field made here is canonical")
        }
        var body = RecordBody()
        body.bytes = writer.bytes
        append(entry, of: body)
    }

    /// The fields whose names are in `keys`, which must be sorted by their bytes.
    package func selecting(_ keys: [String]) -> RecordBody {
        var selected = RecordBody()
        for key in keys {
            if let entry = entry(named: key) { selected.append(entry, of: self) }
        }
        return selected
    }

    /// This body with renamed fields; the new names must have the same order.
    package func renaming(_ name: (String) -> String) -> RecordBody {
        var renamed = RecordBody()
        for entry in entries {
            renamed.append(entry, of: self, named: name(self.name(of: entry)))
        }
        return renamed
    }

    /// This body with the fields of another merged in; a removal in the other removes the field.
    package func merging(_ changes: RecordBody) -> RecordBody {
        var merged = RecordBody()
        var index = 0
        for change in changes.entries {
            while index < entries.count, RecordBody.order(self, entries[index], changes, change) < 0
            {
                merged.append(entries[index], of: self)
                index += 1
            }
            if index < entries.count, RecordBody.order(self, entries[index], changes, change) == 0 {
                index += 1
            }
            if change.type != nil { merged.append(change, of: changes) }
        }
        for entry in entries[index...] { merged.append(entry, of: self) }
        return merged
    }

    /// This body, removals included, with the fields of another that it doesn't name.
    package func completed(by others: RecordBody) -> RecordBody {
        var completed = RecordBody()
        completed.reserveCapacity(for: self, others)
        var index = 0
        for other in others.entries {
            var order = 1
            while index < entries.count, order > 0 {
                order = RecordBody.order(others, other, self, entries[index])
                if order < 0 { break }
                completed.append(entries[index], of: self)
                index += 1
            }
            if order != 0 { completed.append(other, of: others) }
        }
        for entry in entries[index...] { completed.append(entry, of: self) }
        return completed
    }

    /// This body with an INT64 field of that value.
    package func replacing(_ name: String, withInt64 value: Int64) -> RecordBody {
        var change = RecordBody()
        change.append(name, int64: value)
        return merging(change)
    }

    /// The `Field` message of an INT64 or LIST<INT64> field, made DOUBLE or LIST<DOUBLE>.
    ///
    /// nil if the field is neither, or holds a number that a DOUBLE can't represent.
    package func convertedToDouble(_ entry: Entry) -> Bytes? {
        var reader = CanonicalReader(bytes, entry.value)
        var field = CanonicalWriter()
        field.field(1, bytes: bytes[entry.name])
        switch entry.type {
        case .one(.int64):
            guard let value = try? reader.signed(), let value = Double(exactly: value)
            else { return nil }
            field.present(Int(FieldKind.double.rawValue), double: value)
        case .list(.int64):
            guard let numbers = try? RecordBody.numbers(&reader) else { return nil }
            var packed = CanonicalWriter()
            for number in numbers {
                guard let number = Double(exactly: number) else { return nil }
                packed.fixed64(number.bitPattern)
            }
            field.message(FieldCanonicaliser.listNumber) {
                $0.present(Int(FieldKind.double.rawValue), bytes: packed.bytes)
            }
        default: return nil
        }
        return field.bytes
    }

    /// The elements of a LIST<INT64>.
    private static func numbers(_ list: inout CanonicalReader) throws(MalformedBytes) -> [Int64] {
        var numbers: [Int64] = []
        while try list.nextField() != nil {
            var run = try list.message()
            while !run.isAtEnd { numbers.append(try run.signed()) }
        }
        return numbers
    }

    /// Compares two names of two bodies: negative, zero, positive.
    package static func order(
        _ left: RecordBody,
        _ leftEntry: Entry,
        _ right: RecordBody,
        _ rightEntry: Entry
    ) -> Int {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                compare(
                    UnsafeRawBufferPointer(rebasing: left[leftEntry.name]),
                    UnsafeRawBufferPointer(rebasing: right[rightEntry.name])
                )
            }
        }
    }

    private func order(_ index: Int, _ name: UnsafeRawBufferPointer) -> Int {
        bytes.withUnsafeBytes { bytes in
            compare(UnsafeRawBufferPointer(rebasing: bytes[entries[index].name]), name)
        }
    }

    private func firstIndex(notBefore name: UnsafeRawBufferPointer) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if order(middle, name) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func ascend(_ bytes: Bytes, _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            compare(
                UnsafeRawBufferPointer(rebasing: bytes[left]),
                UnsafeRawBufferPointer(rebasing: bytes[right])
            ) < 0
        }
    }

    /// Reads one `fields` entry of canonical bytes.
    private static func readEntry(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Entry {
        let start = reader.position
        guard let tag = try reader.nextField(), tag.number == fieldNumber, tag.type == .delimited
        else { throw MalformedBytes("a body holds something else than fields") }
        var field = try reader.message()
        guard let name = try field.nextField(), name.number == 1, name.type == .delimited else {
            throw MalformedBytes("a field has no name")
        }
        let nameRange = try field.delimited()
        let whole = start..<reader.position
        guard let value = try field.nextField() else {
            return Entry(whole: whole, name: nameRange, value: field.end..<field.end, type: nil)
        }
        let range = try readRange(value.type, &field)
        guard field.isAtEnd else { throw MalformedBytes("a field holds two values") }
        let type = try readType(value.number, value.type, reader.bytes, range)
        return Entry(whole: whole, name: nameRange, value: range, type: type)
    }

    private static func readRange(
        _ type: WireType,
        _ field: inout CanonicalReader
    ) throws(MalformedBytes) -> Range<Int> {
        if type == .delimited { return try field.delimited() }
        let start = field.position
        try field.skip(type)
        return start..<field.position
    }

    private static func readType(
        _ number: Int,
        _ type: WireType,
        _ bytes: Bytes,
        _ range: Range<Int>
    ) throws(MalformedBytes) -> FieldType {
        if number == FieldCanonicaliser.listNumber, type == .delimited {
            if range.isEmpty { return .emptyList }
            var list = CanonicalReader(bytes, range)
            // Elements are delimited, or packed into one run.
            guard let element = try list.nextField(), element.type == .delimited,
                let kind = FieldKind(number: element.number)
            else { throw MalformedBytes("a list holds an unknown kind") }
            return .list(kind)
        }
        if number == FieldCanonicaliser.encryptedNumber, type == .delimited {
            return try readEncryptedType(CanonicalReader(bytes, range))
        }
        guard let kind = FieldKind(number: number), kind.wireType == type else {
            throw MalformedBytes("a field holds an unknown kind")
        }
        return .one(kind)
    }

    private static func readEncryptedType(
        _ message: CanonicalReader
    ) throws(MalformedBytes) -> FieldType {
        var reader = message
        var kind: FieldKind?
        var isList = false
        while let (number, type) = try reader.nextField() {
            switch number {
            case 1: kind = FieldKind(number: Int(truncatingIfNeeded: try reader.varint()))
            case 2: isList = try reader.varint() != 0
            default: try reader.skip(type)
            }
        }
        switch (kind, isList) {
        case (nil, true): return .encryptedEmptyList
        case (let kind?, true): return .encryptedList(kind)
        case (let kind?, false): return .encrypted(kind)
        case (nil, false): throw MalformedBytes("an encrypted field holds an unknown kind")
        }
    }
}

extension Range<Int> {
    fileprivate func shifted(by distance: Int) -> Range<Int> {
        lowerBound + distance..<upperBound + distance
    }
}
