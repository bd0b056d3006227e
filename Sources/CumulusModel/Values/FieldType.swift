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

    /// Whether clients may seal values of this kind.
    package var isEncryptable: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .bytes, .location: true
        case .reference, .asset: false
        }
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

    /// The wire type of one value.
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
    /// The type of an empty list: it fits every list type, and no field gets its type from it.
    case emptyList
    /// The type of a value that a client sealed: the node knows its kind, but not its content.
    case encrypted(FieldKind)
    case encryptedList(FieldKind)
    /// The type of an empty encrypted list: it is to encrypted lists what `emptyList` is to lists.
    case encryptedEmptyList

    /// The name in the schema language, such as `STRING`, `LIST<INT64>` or `ENCRYPTED STRING`.
    package var name: String {
        switch self {
        case .one(let kind): kind.name
        case .list(let kind): "LIST<\(kind.name)>"
        case .emptyList: "LIST"
        case .encrypted(let kind): "ENCRYPTED \(kind.name)"
        case .encryptedList(let kind): "LIST<ENCRYPTED \(kind.name)>"
        case .encryptedEmptyList: "LIST<ENCRYPTED>"
        }
    }

    package init?(name: String) {
        let all = FieldKind.allCases.flatMap { kind -> [FieldType] in
            let plain: [FieldType] = [.one(kind), .list(kind)]
            return kind.isEncryptable ? plain + [.encrypted(kind), .encryptedList(kind)] : plain
        }
        guard let match = all.first(where: { $0.name == name }) else { return nil }
        self = match
    }

    package var isEncrypted: Bool {
        switch self {
        case .one, .list, .emptyList: false
        case .encrypted, .encryptedList, .encryptedEmptyList: true
        }
    }

    /// Whether this is the type of an empty list, which doesn't say what a field's lists hold.
    package var isEmptyList: Bool { self == .emptyList || self == .encryptedEmptyList }

    /// Whether a value of this type may be stored in a field of type `column`.
    package func fits(_ column: FieldType) -> Bool {
        switch (self, column) {
        case (.emptyList, .list), (.encryptedEmptyList, .encryptedList): true
        default: self == column
        }
    }
}

extension FieldValue {
    /// The kind of the value; for a list, the kind of its first element.
    package var kind: FieldKind? {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .timestamp
        case .bytes: .bytes
        case .location: .location
        case .reference: .reference
        case .asset: .asset
        case .list(let elements): elements.first?.kind
        }
    }
}
