// A record type's merge policy as a register of the schema.
//
// `MergePolicies` writes it; the writer reads it with the rest of a type's schema. A missing
// register means the default.

package import CumulusModel

extension MergePolicy {
    private enum Form {
        static let fields: UInt64 = 0
        static let groups: UInt64 = 1
        static let record: UInt64 = 2
    }

    package var registerValue: Bytes {
        var writer = CanonicalWriter()
        switch self {
        case .fields: writer.varint(Form.fields)
        case .record: writer.varint(Form.record)
        case .groups(let groups):
            writer.varint(Form.groups)
            writer.varint(UInt64(groups.count))
            for group in groups {
                writer.varint(UInt64(group.fields.count))
                for field in group.fields { writer.delimited(field.utf8) }
            }
        }
        return writer.bytes
    }

    package init(register value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        switch try reader.varint() {
        case Form.fields: self = .fields
        case Form.record: self = .record
        case Form.groups:
            self = .groups(
                try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
                    let fields = try reader.list {
                        (reader: inout CanonicalReader) throws(MalformedBytes) in
                        try reader.text()
                    }
                    return FieldGroup(fields)
                }
            )
        default: throw MalformedBytes("an unknown merge policy")
        }
        guard reader.isAtEnd else { throw MalformedBytes("a merge policy with something behind") }
    }
}
