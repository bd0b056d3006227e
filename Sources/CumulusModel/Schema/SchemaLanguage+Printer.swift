// Prints a schema in the schema language.
//
// Called where a schema is exported. The text depends on the schema alone, byte for byte, and reads
// back as the same schema.

extension Schema {
    /// The schema as a text in the schema language.
    ///
    /// `Schema(ckdb:)` reads the same schema from it.
    public var ckdb: String {
        var parts = ["DEFINE SCHEMA\n"]
        let created = roles.map { "    CREATE ROLE \(SchemaLanguage.written($0));\n" }
        if !created.isEmpty { parts.append(created.joined()) }
        parts += recordTypes.map(\.ckdb)
        return parts.joined(separator: "\n")
    }
}

extension Schema.RecordType {
    /// Longer names are not aligned: one of them would make every line of its type as long.
    private static let widestName = 64

    fileprivate var ckdb: String {
        let shown = shownFields
        let widths = shown.map { SchemaLanguage.written($0.name).utf8.count }
        let width = min(widths.max() ?? 0, Self.widestName)
        let items = shown.map { $0.ckdb(nameWidth: width) } + grants.map(\.ckdb)
        let lines = items.map { "        " + $0 }.joined(separator: ",\n")
        return "    RECORD TYPE \(SchemaLanguage.written(name)) (\n\(lines)\n    );\n"
    }

    /// The fields, and the system fields that CloudKit's tool prints even without an index.
    private var shownFields: [Schema.Field] {
        let names = Set(fields.map(\.name))
        let missing = Self.printedFields.filter { !names.contains($0.rawValue) }.map {
            Schema.Field(name: $0.rawValue, type: .type(.one($0.kind)))
        }
        return (fields + missing).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static let printedFields: [SystemField] = [
        .createTime, .createdBy, .etag, .modTime, .modifiedBy, .recordID,
    ]
}

extension Schema.Field {
    fileprivate func ckdb(nameWidth: Int) -> String {
        let name = SchemaLanguage.written(name)
        let padding = String(repeating: " ", count: max(0, nameWidth - name.utf8.count) + 1)
        let words = [typeName] + SchemaLanguage.names(of: indexes)
        return name + padding + words.joined(separator: " ")
    }
}

extension Schema.Grant {
    fileprivate var ckdb: String {
        let names = SchemaLanguage.names(of: permissions).joined(separator: ", ")
        return "GRANT \(names) TO \(SchemaLanguage.written(role))"
    }
}

extension SchemaLanguage {
    /// A name as it stands in a text: in quotes where it could be taken for something else.
    static func written(_ name: String) -> String {
        let isWord = name.utf8.first?.isASCIILetter == true && name.utf8.allSatisfy(isWordByte)
        return isWord && !reservedWords.contains(name.uppercased()) ? name : "\"\(name)\""
    }
}
