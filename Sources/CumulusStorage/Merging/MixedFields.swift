// Fields that got two types because two nodes used them concurrently.
//
// The type that came first becomes the field's type. A value of another type is stored unchanged
// and shown under the field's name, two underscores and its own type, so that readers of the field
// always find the schema's type. The next save of the field replaces it. An empty list gives a
// field no type, and is shown unchanged unless other types clash. Values that a client encrypted
// are always shown unchanged.
//
// A clash changes how records look without a save, so clients have to read them again: the types'
// first commits say which clients. The value is part of a `RecordLens`; it is nearly always empty.

package import CumulusModel

package struct MixedFields: Hashable, Sendable {
    /// The schema's types, by record type and field name.
    private var columns: [String: [String: FieldType]] = [:]
    /// The commits that gave the fields their types.
    private var dots: [Dot] = []

    package init() {}

    package var isEmpty: Bool { columns.isEmpty }

    /// Whether a record type has mixed fields.
    package func concern(_ type: String) -> Bool { columns[type] != nil }

    /// Whether a reader with that vector knows all mixed fields as they are.
    package func areKnown(to vector: VersionVector) -> Bool {
        dots.allSatisfy { vector.covers($0) }
    }

    /// The suffix of a field's name if it holds a value of that type; nil if it is shown under its
    /// name.
    func suffix(of field: String, holding value: FieldType, in type: String) -> String? {
        columns[type]?[field].flatMap { value.suffix(beside: $0) }
    }
}

extension FieldType {
    /// The suffix for a value whose field has another type: `int64`, `string_list`.
    ///
    /// nil if the value is shown under the field's name. Encrypted values are, because the name is
    /// part of the seal.
    fileprivate func suffix(beside column: FieldType) -> String? {
        if fits(column) { return nil }
        return switch self {
        case .one(let kind): kind.name.lowercased()
        case .list(let kind): kind.name.lowercased() + "_list"
        case .emptyList: "list"
        case .encrypted, .encryptedList, .encryptedEmptyList: nil
        }
    }
}

extension MixedFields {
    /// Reads the mixed fields of a scope.
    package init<Reader: RowReader & ~Copyable>(
        of scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) {
        for (key, row) in try reader.registerRows(scope, SchemaRegister.mixedNamespace) {
            guard key.count == 3,
                let column = try reader.register(
                    scope,
                    SchemaRegister.fieldNamespace,
                    [key[0], key[1]]
                ),
                let type = column.value.flatMap({
                    FieldType(name: String(decoding: $0, as: UTF8.self))
                })
            else { throw .corrupt("a schema register is damaged") }
            let names = key.map { String(decoding: $0, as: UTF8.self) }
            columns[names[0], default: [:]][names[1]] = type
            dots.append(row.stamp.dot)
        }
    }
}
