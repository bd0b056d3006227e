// Turns one value of a request into its stored form, or says what is wrong with it.
//
// `FieldCanonicaliser` calls it for each field of a save. hot: once per field.

import CumulusModel

struct ValueCanonicaliser {
    /// The zone of the saved record, the only one that references may name.
    let zoneName: String
    /// The names of the zone's owner.
    let zoneOwners: [String]

    /// Writes the value of a `Field` message.
    func write(
        _ field: Bytes,
        to writer: inout CanonicalWriter
    ) throws(MalformedBytes) {
        var reader = CanonicalReader(field)
        var hasName = false
        var hasValue = false
        while let (number, type) = try reader.nextField() {
            if number == 1 {
                if hasName { throw MalformedBytes("it has two names") }
                hasName = true
                try reader.skip(type)
                continue
            }
            if hasValue { throw MalformedBytes("it has two values") }
            hasValue = true
            if number == FieldCanonicaliser.listNumber, type == .delimited {
                let list = try canonicalList(try reader.message())
                writer.present(number, bytes: list)
            } else if number == FieldCanonicaliser.encryptedNumber, type == .delimited {
                writer.present(number, bytes: try canonicalEncrypted(try reader.message()))
            } else {
                let kind = try kind(number)
                try writeScalar(kind, type, &reader, to: &writer)
            }
        }
    }

    private func kind(_ number: Int) throws(MalformedBytes) -> FieldKind {
        guard let kind = FieldKind(number: number) else {
            throw MalformedBytes("it holds a kind of value that this server doesn't know")
        }
        return kind
    }

    private func writeScalar(
        _ kind: FieldKind,
        _ type: WireType,
        _ reader: inout CanonicalReader,
        to writer: inout CanonicalWriter
    ) throws(MalformedBytes) {
        let number = Int(kind.rawValue)
        switch (kind, type) {
        case (.string, .delimited):
            let range = try reader.delimited()
            try checkUTF8(reader.bytes, range)
            writer.present(number, bytes: reader.bytes[range])
        case (.bytes, .delimited):
            writer.present(number, bytes: reader.bytes[try reader.delimited()])
        case (.int64, .varint):
            writer.present(number, signed: try reader.signed())
        case (.timestamp, .varint):
            writer.present(number, signed: try checkedTimestamp(try reader.signed()))
        case (.double, .fixed64):
            writer.present(number, double: try checkedDouble(try reader.double()))
        case (.location, .delimited):
            writer.present(number, bytes: try canonicalLocation(try reader.message()))
        case (.reference, .delimited):
            writer.present(number, bytes: try canonicalReference(try reader.message()))
        case (.asset, .delimited):
            writer.present(number, bytes: try canonicalAsset(try reader.message()))
        default:
            throw MalformedBytes("its value has the wrong wire type")
        }
    }

    // MARK: Values

    private func checkUTF8(_ bytes: Bytes, _ range: Range<Int>) throws(MalformedBytes) {
        let text = bytes[range]
        guard text.allSatisfy({ $0 < 0x80 }) || String(utf8: text) != nil else {
            throw MalformedBytes("its text is not valid UTF-8")
        }
    }

    private func checkedTimestamp(_ value: Int64) throws(MalformedBytes) -> Int64 {
        guard Timestamp.range.contains(value) else {
            throw MalformedBytes("its date is outside the years 1 to 9999")
        }
        return value
    }

    private func checkedDouble(_ value: Double) throws(MalformedBytes) -> Double {
        if value.isNaN { throw MalformedBytes("NaN can't be stored") }
        return value
    }

    private func canonicalLocation(
        _ message: CanonicalReader
    ) throws(MalformedBytes) -> Bytes {
        var reader = message
        var doubles = [Double?](repeating: nil, count: 8)
        var timestamp: Int64?
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1...7, .fixed64): doubles[number] = try checkedDouble(try reader.double())
            case (8, .varint): timestamp = try checkedTimestamp(try reader.signed())
            default: throw MalformedBytes("its location holds something unknown")
            }
        }
        let latitude = doubles[1] ?? 0
        let longitude = doubles[2] ?? 0
        guard abs(latitude) <= 90 else { throw MalformedBytes("its latitude is beyond 90 degrees") }
        guard abs(longitude) <= 180 else {
            throw MalformedBytes("its longitude is beyond 180 degrees")
        }
        var writer = CanonicalWriter(reserving: 64)
        if latitude != 0 { writer.present(1, double: latitude) }
        if longitude != 0 { writer.present(2, double: longitude) }
        for number in 3...7 {
            if let value = doubles[number] { writer.present(number, double: value) }
        }
        if let timestamp { writer.present(8, signed: timestamp) }
        return writer.bytes
    }

    private func canonicalReference(
        _ message: CanonicalReader
    ) throws(MalformedBytes) -> Bytes {
        var reader = message
        var name: Range<Int>?
        var action: UInt64 = 0
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): name = try reader.delimited()
            case (2, .varint): action = try reader.varint()
            case (3, .delimited): try checkZone(try reader.message())
            default: throw MalformedBytes("its reference holds something unknown")
            }
        }
        guard action <= 1 else { throw MalformedBytes("its reference has an unknown action") }
        let target: String
        do {
            target = try Names.checkRecordName(
                name.map { reader.bytes[$0] } ?? [],
                "the record name of its reference"
            )
        } catch {
            throw MalformedBytes(error.message)
        }
        var writer = CanonicalWriter(reserving: target.utf8.count + 4)
        writer.field(1, text: target)
        writer.field(2, varint: action)
        return writer.bytes
    }

    /// A reference's zone must be the zone of its own record; the stored form leaves it out.
    private func checkZone(_ message: CanonicalReader) throws(MalformedBytes) {
        var reader = message
        while let (number, type) = try reader.nextField() {
            guard type == .delimited, number == 1 || number == 2 else {
                throw MalformedBytes("its reference holds something unknown")
            }
            let text = String(decoding: reader.bytes[try reader.delimited()], as: UTF8.self)
            let known = number == 1 ? text == zoneName : text.isEmpty || zoneOwners.contains(text)
            guard known else {
                throw MalformedBytes(
                    "its reference points into another zone, which is not supported"
                )
            }
        }
    }

    private func canonicalAsset(_ message: CanonicalReader) throws(MalformedBytes) -> Bytes {
        var reader = message
        var digest: Range<Int>?
        var size: UInt64 = 0
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .delimited): digest = try reader.delimited()
            case (2, .varint): size = try reader.varint()
            default: throw MalformedBytes("its asset holds something unknown")
            }
        }
        guard let digest, digest.count == 32 else {
            throw MalformedBytes("its asset has no digest of 32 bytes")
        }
        var writer = CanonicalWriter(reserving: 48)
        writer.field(1, bytes: reader.bytes[digest])
        writer.field(2, varint: size)
        return writer.bytes
    }

    private func canonicalEncrypted(_ message: CanonicalReader) throws(MalformedBytes) -> Bytes {
        var reader = message
        var kind: UInt64 = 0
        var isList = false
        var sealed: Range<Int>?
        while let (number, type) = try reader.nextField() {
            switch (number, type) {
            case (1, .varint): kind = try reader.varint()
            case (2, .varint): isList = try reader.varint() != 0
            case (3, .delimited): sealed = try reader.delimited()
            default: throw MalformedBytes("its encrypted value holds something unknown")
            }
        }
        let isKnown = Int(exactly: kind).flatMap(FieldKind.init(number:))?.isEncryptable ?? false
        guard isKnown || (kind == 0 && isList) else {
            throw MalformedBytes("its kind of value can't be encrypted")
        }
        guard let sealed, !sealed.isEmpty else {
            throw MalformedBytes("its encrypted value is empty")
        }
        var writer = CanonicalWriter(reserving: sealed.count + 8)
        writer.field(1, varint: kind)
        writer.field(2, varint: isList ? 1 : 0)
        writer.field(3, bytes: reader.bytes[sealed])
        return writer.bytes
    }

    // MARK: Lists

    private func canonicalList(_ message: CanonicalReader) throws(MalformedBytes) -> Bytes {
        var reader = message
        var kind: FieldKind?
        var elements = CanonicalWriter()
        while let (number, type) = try reader.nextField() {
            let next = try self.kind(number)
            if let kind, kind != next { throw MalformedBytes("its list mixes types") }
            kind = next
            try addElements(next, type, &reader, to: &elements)
        }
        guard let kind, !elements.bytes.isEmpty else { return [] }
        guard kind.isPacked else { return elements.bytes }
        var writer = CanonicalWriter()
        writer.present(Int(kind.rawValue), bytes: elements.bytes)
        return writer.bytes
    }

    /// Adds one element, or the elements of one packed run, without tags if the canonical form
    /// packs them.
    private func addElements(
        _ kind: FieldKind,
        _ type: WireType,
        _ reader: inout CanonicalReader,
        to writer: inout CanonicalWriter
    ) throws(MalformedBytes) {
        guard kind.isPacked else {
            return try writeScalar(kind, type, &reader, to: &writer)
        }
        guard type == .delimited else { return try addPacked(kind, &reader, to: &writer) }
        var run = try reader.message()
        while !run.isAtEnd { try addPacked(kind, &run, to: &writer) }
    }

    private func addPacked(
        _ kind: FieldKind,
        _ reader: inout CanonicalReader,
        to writer: inout CanonicalWriter
    ) throws(MalformedBytes) {
        switch kind {
        case .double: writer.fixed64(try checkedDouble(try reader.double()).bitPattern)
        case .timestamp: writer.varint(zigzag(try checkedTimestamp(try reader.signed())))
        default: writer.varint(zigzag(try reader.signed()))
        }
    }
}

extension FieldKind {
    /// proto3 packs lists of numbers into one run.
    fileprivate var isPacked: Bool { wireType != .delimited }
}
