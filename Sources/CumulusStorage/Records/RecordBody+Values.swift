// Decodes the values in a body, for queries, which look at a few fields of many records.
//
// All other code copies fields as bytes. The bytes were canonicalised when they were saved, so an
// unreadable value is damage. hot: once per field that a query looks at.

package import CumulusModel

extension RecordBody {
    /// The value of a field that is no list; nil if only clients can decrypt it.
    package func value(_ entry: Entry) throws(MalformedBytes) -> FieldValue? {
        guard case .one(let kind) = entry.type else { return nil }
        var reader = CanonicalReader(bytes, entry.value)
        guard kind.wireType == .delimited else { return try RecordBody.number(kind, &reader) }
        return try RecordBody.element(kind, of: bytes[entry.value], &reader)
    }

    /// Visits the elements of a list until `visit` returns false, without collecting them.
    package func visitElements(
        _ entry: Entry,
        _ visit: (FieldValue) throws -> Bool
    ) throws {
        guard case .list(let kind) = entry.type else { return }
        var list = CanonicalReader(bytes, entry.value)
        while try list.nextField() != nil {
            var element = try list.message()
            if kind.wireType == .delimited {
                let content = list.bytes[element.position..<element.end]
                guard try visit(RecordBody.element(kind, of: content, &element)) else { return }
            } else {
                while !element.isAtEnd {
                    guard try visit(RecordBody.number(kind, &element)) else { return }
                }
            }
        }
    }

    /// A value whose length prefix has been read.
    private static func element(
        _ kind: FieldKind,
        of content: ArraySlice<UInt8>,
        _ message: inout CanonicalReader
    ) throws(MalformedBytes) -> FieldValue {
        switch kind {
        case .string:
            guard let text = String(utf8: content) else {
                throw MalformedBytes("a text is not UTF-8")
            }
            return .string(text)
        case .bytes: return .bytes(Bytes(content))
        case .location: return .location(try Location(reading: &message))
        case .reference: return .reference(try Record.Reference(reading: &message))
        case .asset: return .asset(try Asset(reading: &message))
        case .int64, .double, .timestamp: throw MalformedBytes("a number behind a length")
        }
    }

    private static func number(
        _ kind: FieldKind,
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> FieldValue {
        switch kind {
        case .int64: .int64(try reader.signed())
        case .double: .double(try reader.double())
        case .timestamp: .timestamp(Timestamp(millisecondsSince1970: try reader.signed()))
        case .string, .bytes, .location, .reference, .asset:
            throw MalformedBytes("a value without its length")
        }
    }
}

extension Record.Reference {
    /// Reads the fields of a canonical `Reference`.
    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        self.init(recordName: "")
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): recordName = try reader.text()
            case (2, .varint): action = try reader.varint() == 1 ? .deleteSelf : .none
            default: throw MalformedBytes("a reference holds something unknown")
            }
        }
    }
}

extension Location {
    /// Reads the fields of a canonical `Location`.
    fileprivate init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        self.init(latitude: 0, longitude: 0)
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .fixed64): latitude = try reader.double()
            case (2, .fixed64): longitude = try reader.double()
            case (3, .fixed64): altitude = try reader.double()
            case (4, .fixed64): horizontalAccuracy = try reader.double()
            case (5, .fixed64): verticalAccuracy = try reader.double()
            case (6, .fixed64): course = try reader.double()
            case (7, .fixed64): speed = try reader.double()
            case (8, .varint):
                timestamp = Timestamp(millisecondsSince1970: try reader.signed())
            default: throw MalformedBytes("a location holds something unknown")
            }
        }
    }
}

extension Asset {
    /// Reads the fields of a canonical `Asset`.
    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        self.init(digest: [], size: 0)
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): digest = try reader.delimitedBytes()
            case (2, .varint): size = try reader.varint()
            default: throw MalformedBytes("an asset holds something unknown")
            }
        }
    }
}
