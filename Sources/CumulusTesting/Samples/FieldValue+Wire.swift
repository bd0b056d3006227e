// Fields as a client would send them, for tests that work below the wire: the bytes of `Field`
// messages, written by hand.
//
// Deliberately not the codec of CumulusWire or CumulusStorage: what tests expect is worked out a
// second time here.

package import CumulusModel
package import CumulusStorage

/// Makes `Field` messages.
package enum WireField {
    /// A field with a value, or without one: its removal.
    package static func encode(_ name: String, _ value: FieldValue?) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, text: name)
        if let value { write(value, to: &writer) }
        return writer.bytes
    }

    /// A body of these fields, sorted, as the canonical form wants it.
    package static func body(_ fields: [String: FieldValue?]) -> Bytes {
        let names = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var writer = CanonicalWriter()
        for name in names { writer.present(10, bytes: encode(name, fields[name] ?? nil)) }
        return writer.bytes
    }

    private static func write(_ value: FieldValue, to writer: inout CanonicalWriter) {
        guard case .list(let elements) = value else { return writeScalar(value, to: &writer) }
        writer.message(10) { list in
            switch elements.first {
            case .int64, .timestamp, .double: writePacked(elements, to: &list)
            default: for element in elements { writeScalar(element, to: &list) }
            }
        }
    }

    private static func writeScalar(_ value: FieldValue, to writer: inout CanonicalWriter) {
        let number = number(of: value)
        switch value {
        case .string(let text): writer.present(number, bytes: text.utf8)
        case .int64(let integer): writer.present(number, signed: integer)
        case .double(let double): writer.present(number, double: double)
        case .timestamp(let time): writer.present(number, signed: time.millisecondsSince1970)
        case .bytes(let bytes): writer.present(number, bytes: bytes)
        case .location(let location): writer.message(number) { write(location, to: &$0) }
        case .reference(let reference):
            writer.message(number) {
                $0.field(1, text: reference.recordName)
                $0.field(2, varint: UInt64(reference.action.rawValue))
            }
        case .asset(let asset):
            writer.message(number) {
                $0.field(1, bytes: asset.digest)
                $0.field(2, varint: asset.size)
            }
        case .list: preconditionFailure("lists don't nest")
        }
    }

    private static func writePacked(_ elements: [FieldValue], to writer: inout CanonicalWriter) {
        var run = CanonicalWriter()
        for element in elements {
            switch element {
            case .int64(let integer): run.varint(zigzag(integer))
            case .timestamp(let time): run.varint(zigzag(time.millisecondsSince1970))
            case .double(let double): run.fixed64(double.bitPattern)
            default: preconditionFailure("a list of one kind")
            }
        }
        writer.present(elements.first.map(number) ?? 0, bytes: run.bytes)
    }

    private static func write(_ location: Location, to writer: inout CanonicalWriter) {
        if location.latitude != 0 { writer.present(1, double: location.latitude) }
        if location.longitude != 0 { writer.present(2, double: location.longitude) }
        let rest = [
            location.altitude, location.horizontalAccuracy, location.verticalAccuracy,
            location.course, location.speed,
        ]
        for (index, value) in rest.enumerated() {
            if let value { writer.present(3 + index, double: value) }
        }
        if let time = location.timestamp {
            writer.present(8, signed: time.millisecondsSince1970)
        }
    }

    private static func number(of value: FieldValue) -> Int {
        switch value {
        case .string: 2
        case .int64: 3
        case .double: 4
        case .timestamp: 5
        case .bytes: 6
        case .location: 7
        case .reference: 8
        case .asset: 9
        case .list: 10
        }
    }
}

extension RecordBody {
    /// Fields as a request's would become: checked and canonical.
    package init(
        checking fields: [String: FieldValue?],
        zone: String = Names.defaultZone
    ) throws(ServiceError) {
        var canonicaliser = FieldCanonicaliser(zoneName: zone, zoneOwners: [])
        for (name, value) in fields { try canonicaliser.add(WireField.encode(name, value)) }
        self = try canonicaliser.finish()
    }
}
