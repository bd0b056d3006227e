// The columns of a query: which column a key names, and its values and indexes.
//
// It is part of `Binder`, which refuses comparisons without an index.

import CumulusModel

extension Binder {
    // MARK: Columns and indexes

    func column(_ key: String) throws(ServiceError) -> BoundQuery.Column {
        // Names are ASCII; Swift would accept other spellings of some.
        guard key.utf8.allSatisfy({ $0 < 0x80 }), StoredName.isShown(key) else {
            throw unknown(key)
        }
        let name = schema.fieldDrops.stored(key)
        if let type = schema.fields[name], !SystemField.isProperty(key) {
            return .field(name, type)
        }
        if let system = SystemField(key: key) { return .system(system) }
        throw unknown(key)
    }

    func isIndexed(_ column: BoundQuery.Column, as index: Schema.Indexes) -> Bool {
        schema.indexes(of: column.names.schema, in: context.environment).contains(index)
    }

    func need(
        _ index: Schema.Indexes,
        of column: BoundQuery.Column
    ) throws(ServiceError) {
        let (name, shown) = column.names
        if isIndexed(column, as: index) { return }
        let (adjective, keyword) =
            index == .sortable ? ("sortable", "SORTABLE") : ("queryable", "QUERYABLE")
        throw invalid(
            """
            Field '\(shown)' is not marked \(adjective); add \(keyword) to \
            '\(StoredName.shown(name))' of type \(query.recordType) in the schema
            """
        )
    }

    /// The kind of values that a column is compared with.
    func kind(
        _ key: String,
        _ column: BoundQuery.Column,
        _ relation: Query.Relation
    ) throws(ServiceError) -> FieldKind {
        switch (column.type, relation.wantsList) {
        case (.one(let kind), false) where relation.compares(kind): return kind
        case (.list(let kind), true) where relation.compares(kind): return kind
        case (.one(let kind), true):
            throw invalid(
                """
                Field '\(key)' has a value type of \(kind.name) and is no list; compare it with \
                ==, IN or BEGINSWITH, or search words with self CONTAINS
                """
            )
        case (.list(let kind), false):
            throw invalid(
                """
                Field '\(key)' has a value type of LIST<\(kind.name)>; ask what the list holds \
                with CONTAINS or ANY
                """
            )
        default:
            try checkReadable(key, column)
            throw invalid(
                "Field '\(key)' of type \(column.type.name) can't be compared in this way; "
                    + instead(of: relation, column.type)
            )
        }
    }

    /// Says what can be asked of a column's type instead.
    private func instead(of relation: Query.Relation, _ type: FieldType) -> String {
        switch type {
        case .one(.location): "ask for a distance"
        case _ where relation.isDistance: "distances are asked of LOCATION fields"
        case .one(.reference): "ask with ==, != or IN which record it names"
        default: "compare it with ==, !=, <, > or IN"
        }
    }

    /// Fails for values that no index can hold.
    func checkReadable(
        _ key: String,
        _ column: BoundQuery.Column
    ) throws(ServiceError) {
        if column.type.isEncrypted {
            throw invalid(
                """
                Field '\(key)' is encrypted, so the server can't compare it; keep what is asked \
                about in a field of its own, or look at it after a fetch
                """
            )
        }
        guard column.type == .one(.asset) || column.type == .list(.asset) else { return }
        throw invalid(
            """
            Field '\(key)' of type \(column.type.name) can't be asked about; keep what is asked \
            about in a field of its own
            """
        )
    }
}
