// A field's type as a schema declares it: a type that is stored, or NUMBER, which leaves open what
// is.
//
// Held by Schema; read by what stores or checks values of the field.

/// The type in a field's declaration.
package enum DeclaredType: Hashable, Sendable {
    case type(FieldType)
    /// A number; preferred is INT64 or DOUBLE, and nil where the schema doesn't say.
    case number(preferred: FieldKind?)

    /// How values of the field are stored.
    package var storedType: FieldType {
        switch self {
        case .type(let type): type
        case .number(let preferred): .one(preferred ?? .double)
        }
    }

    /// The name in the schema language.
    package var name: String {
        switch self {
        case .type(let type): type.name
        case .number(nil): "NUMBER"
        case .number(let preferred?): "NUMBER PREFERRED AS \(preferred.name)"
        }
    }

    /// The indexes that a field of this type can carry.
    package var possibleIndexes: Schema.Indexes {
        switch self {
        case .number, .type(.one(.int64)), .type(.one(.double)), .type(.one(.timestamp)),
            .type(.one(.bytes)):
            [.queryable, .sortable]
        case .type(.one(.string)), .type(.list(.string)):
            [.queryable, .sortable, .searchable]
        case .type(.one(.asset)), .type(.list(.asset)): []
        case .type(.one), .type(.list): .queryable
        case .type(.emptyList), .type(.encrypted), .type(.encryptedList),
            .type(.encryptedEmptyList):
            []
        }
    }

    /// The same of a field of that name: record names have an order, other references have none.
    package func possibleIndexes(of field: String) -> Schema.Indexes {
        let isName = field == SystemField.recordID.rawValue
        return isName ? possibleIndexes.union(.sortable) : possibleIndexes
    }
}
