// Fields that two nodes gave two types before they knew of each other.
//
// The type that came first is the field's from then on; a value of another one is stored as it was
// and shown under the field's name, two underscores and its own type, so that a caller who reads
// the field finds what the schema says. The next save of the field replaces it. (An empty list
// gives a field no type, and is shown as it is unless other types clash; what a client sealed is
// always shown as it is.)
//
// A clash changes how records look without a save, so a client that read before has to read anew:
// the types' first commits tell. Part of a `RecordLens`; there are hardly ever any.

package import CumulusModel

package struct MixedFields: Hashable, Sendable {
    /// By record type and name: what the schema says.
    private var columns: [String: [String: FieldType]] = [:]
    /// The commits that gave the fields their types.
    private var dots: [Dot] = []

    package init() {}

    package var isEmpty: Bool { columns.isEmpty }

    /// Whether a record type has any.
    package func concern(_ type: String) -> Bool { columns[type] != nil }

    /// Whether a reader of that vector has seen all of them as they are.
    package func areKnown(to vector: VersionVector) -> Bool {
        dots.allSatisfy { vector.covers($0) }
    }

    /// What follows a field's name where it holds a value of that type; nil means nothing.
    func suffix(of field: String, holding value: FieldType, in type: String) -> String? {
        columns[type]?[field].flatMap { value.suffix(beside: $0) }
    }
}

extension FieldType {
    /// What a value's name ends in where its field has another type: `int64`, `string_list`.
    ///
    /// nil: the value is shown under the field's name. So are sealed ones: it is part of the seal.
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
    /// Those of a scope.
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
