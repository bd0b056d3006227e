// Fields that two nodes gave two types before they knew of each other.
//
// The type that came first is the field's from then on; a value of another one is stored as it was
// and shown under the field's name, two underscores and its own type, so that a caller who reads
// the field finds what the schema says. The next save of the field replaces it. (An empty list
// gives a field no type, and is shown as it is unless other types clash.)
//
// A clash changes how records look that nobody saved, so whoever read before it has to read anew:
// the types' first commits tell. Read once per zone by whoever shows records; there are hardly ever
// any.

package import CumulusModel

package struct MixedFields: Hashable, Sendable {
    /// By record type and name: what the schema says.
    private var columns: [String: [String: FieldType]] = [:]
    /// The commits that gave the fields their types.
    private var dots: [Dot] = []

    package init() {}

    package var isEmpty: Bool { columns.isEmpty }

    /// Whether a reader of that vector has seen all of them as they are.
    package func areKnown(to vector: VersionVector) -> Bool {
        dots.allSatisfy { vector.covers($0) }
    }

    /// A body of that record type as callers see it.
    package func showing(_ body: RecordBody, of type: String) -> RecordBody {
        guard let columns = columns[type] else { return body }
        var names = Set(body.entries.map { body.name(of: $0) })
        var renamed: [(name: String, entry: RecordBody.Entry)] = []
        for entry in body.entries {
            var name = body.name(of: entry)
            if let column = columns[name], let type = entry.type, !type.fits(column) {
                name += "__" + type.suffix
                // A field that really has that name hides it.
                guard names.insert(name).inserted else { continue }
            }
            renamed.append((name, entry))
        }
        renamed.sort { precedes(Bytes($0.name.utf8), Bytes($1.name.utf8)) }
        var shown = RecordBody()
        for (name, entry) in renamed { shown.append(entry, of: body, named: name) }
        return shown
    }
}

extension FieldType {
    /// As part of a field's name: `int64`, `string_list`, `encrypted_string`.
    fileprivate var suffix: String {
        switch self {
        case .one(let kind): kind.name.lowercased()
        case .list(let kind): kind.name.lowercased() + "_list"
        case .emptyList: "list"
        case .encrypted(let kind): "encrypted_" + kind.name.lowercased()
        case .encryptedList(let kind): "encrypted_" + kind.name.lowercased() + "_list"
        case .encryptedEmptyList: "encrypted_list"
        }
    }
}

extension MixedFields {
    /// Those of a scope.
    package init<Reader: RowReader & ~Copyable>(
        of scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) {
        for (key, row) in try reader.registerRows(scope, Schema.mixedNamespace) {
            guard key.count == 3,
                let column = try reader.register(scope, Schema.fieldNamespace, [key[0], key[1]]),
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
