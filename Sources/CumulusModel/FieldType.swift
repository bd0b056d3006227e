// The types of fields, as the schema names them. A field's type is fixed by the first value that it
// gets.
//
// Used where values are checked (CumulusStorage), and by the schema registers.

/// The kind of one value.
///
/// The number is the value's field number in `Field` and `List` of records.proto.
package enum FieldKind: UInt8, CaseIterable, Sendable {
    case string = 2
    case int64 = 3
    case double = 4
    case timestamp = 5
    case bytes = 6
    case location = 7
    case reference = 8
    case asset = 9

    /// The kind with that field number; nil if there is none.
    package init?(number: Int) {
        guard let raw = UInt8(exactly: number) else { return nil }
        self.init(rawValue: raw)
    }

    package var name: String {
        switch self {
        case .string: "STRING"
        case .int64: "INT64"
        case .double: "DOUBLE"
        case .timestamp: "TIMESTAMP"
        case .bytes: "BYTES"
        case .location: "LOCATION"
        case .reference: "REFERENCE"
        case .asset: "ASSET"
        }
    }

    /// How one value stands on the wire.
    package var wireType: WireType {
        switch self {
        case .int64, .timestamp: .varint
        case .double: .fixed64
        case .string, .bytes, .location, .reference, .asset: .delimited
        }
    }
}

package enum FieldType: Hashable, Sendable {
    case one(FieldKind)
    case list(FieldKind)
    /// A list without elements: fits every list type, and can't create one.
    case emptyList

    /// As in the schema language: `STRING`, `LIST<INT64>`.
    package var name: String {
        switch self {
        case .one(let kind): kind.name
        case .list(let kind): "LIST<\(kind.name)>"
        case .emptyList: "LIST"
        }
    }

    package init?(name: String) {
        let all = FieldKind.allCases.flatMap { [FieldType.one($0), .list($0)] }
        guard let match = all.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    package var isList: Bool {
        if case .one = self { false } else { true }
    }

    /// Whether a value of this type may be stored in a field of type `column`.
    package func fits(_ column: FieldType) -> Bool {
        self == column || (self == .emptyList && column.isList)
    }
}
