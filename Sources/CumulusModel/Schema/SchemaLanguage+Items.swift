// Reads what stands in the parentheses of a record type: fields with their types and indexes, and
// grants.
//
// The inner half of the parser, called by the outer one for each record type.

extension SchemaLanguage.Parser {
    /// All between the parentheses, and the closing one.
    mutating func items(
        of type: SchemaLanguage.Token
    ) throws(SchemaLanguageError) -> Schema.RecordType {
        var fields: [Schema.Field] = []
        var names: Set<String> = []
        var grants: [Schema.Grant] = []
        var last: SchemaLanguage.Token?
        repeat {
            if token.keyword == "GRANT" {
                grants.append(try grant())
                last = nil
            } else {
                let name = try fieldName(in: type, after: names)
                names.insert(name.text)
                fields.append(try field(name))
                last = name
            }
        } while try another(after: last)
        return Schema.RecordType(name: type.text, fields: fields, grants: grants)
    }

    /// Takes a comma and returns true, or takes the closing parenthesis and returns false.
    ///
    /// - Parameter field: The field before it; nil means that a grant is before it.
    private mutating func another(
        after field: SchemaLanguage.Token?
    ) throws(SchemaLanguageError) -> Bool {
        if token.isSign(")") {
            try advance()
            return false
        }
        let comma = token
        guard token.isSign(",") else {
            let previous = field.map { "the field \($0.shown)" } ?? "this grant"
            let wanted = token.isName ? "','" : "',' or ')'"
            let last = token.isName ? "" : ", or ')' after the last one"
            throw unexpected(wanted, "write ',' after \(previous)\(last)")
        }
        try advance()
        if token.isSign(")") {
            throw error("no item follows this ','; remove it, or add a field or grant", at: comma)
        }
        return true
    }

    private mutating func fieldName(
        in type: SchemaLanguage.Token,
        after others: Set<String>
    ) throws(SchemaLanguageError) -> SchemaLanguage.Token {
        let name = try name("a field or GRANT", "write a field's name and type")
        try check(field: name, in: type.text)
        if others.contains(name.text) {
            throw error("field \(name.shown) is declared twice; remove one", at: name)
        }
        let isSystem = SystemField(rawValue: name.text) != nil
        let limit = Limits.standard.fieldsPerType
        // At most all system fields are among the others: counting them costs little.
        if !isSystem, others.count >= limit {
            let count = others.count { SystemField(rawValue: $0) == nil }
            if count >= limit {
                let place = "record type \(type.shown) has more than \(limit) fields"
                throw error("\(place); remove some, or use two types", at: name)
            }
        }
        return name
    }

    /// Parses the rest of a field after its name.
    private mutating func field(
        _ name: SchemaLanguage.Token
    ) throws(SchemaLanguageError) -> Schema.Field {
        let start = token
        let type = try type(of: name)
        if let system = SystemField(rawValue: name.text), type != .type(.one(system.kind)) {
            let right = system.kind.name
            let message = "system field \(name.shown) is not of type \(type.name); write \(right)"
            throw error(message, at: start)
        }
        var indexes: Schema.Indexes = []
        while token.kind == .word, !beginsItem() {
            indexes.formUnion(try index(for: type, of: name.text, besides: indexes))
            try advance()
        }
        return Schema.Field(name: name.text, type: type, indexes: indexes)
    }

    /// Whether the word is the next field or grant, for want of a comma, and not an index.
    private func beginsItem() -> Bool {
        if token.keyword == "GRANT" { return true }
        if SchemaLanguage.indexes.contains(where: { $0.name == token.keyword }) { return false }
        var ahead = lexer
        guard let next = try? ahead.next() else { return false }
        return SchemaLanguage.typeWords.contains(next.keyword)
    }

    private func index(
        for type: DeclaredType,
        of field: String,
        besides others: Schema.Indexes
    ) throws(SchemaLanguageError) -> Schema.Indexes {
        let known = SchemaLanguage.indexes.first { $0.name == token.keyword }
        guard let (word, index) = known else {
            let advice = "write QUERYABLE, SORTABLE or SEARCHABLE"
            throw error("\(token.shown) is no index; \(advice)", at: token)
        }
        let indexes = type.possibleIndexes(of: field)
        guard indexes.contains(index) else {
            let possible = SchemaLanguage.names(of: indexes)
            let advice = possible.isEmpty ? "" : ", or write " + SchemaLanguage.oneOf(possible)
            throw error("a field of type \(type.name) can't be \(word); remove it\(advice)")
        }
        guard !others.contains(index) else {
            throw error("\(word) stands twice; remove one")
        }
        return index
    }

    private mutating func grant() throws(SchemaLanguageError) -> Schema.Grant {
        var permissions: Schema.Permissions = []
        repeat {
            try advance()
            permissions.formUnion(try permission(besides: permissions))
            try advance()
        } while token.isSign(",")
        guard token.keyword == "TO" else {
            throw unexpected("',' or TO", "write ',' before a permission, and TO before the role")
        }
        try advance()
        let role = try name("a role", "write a role's name after TO")
        if !Schema.implicitRoles.contains(role.text) { grantees.append(role) }
        return Schema.Grant(role: role.text, permissions: permissions)
    }

    private func permission(
        besides others: Schema.Permissions
    ) throws(SchemaLanguageError) -> Schema.Permissions {
        guard token.kind == .word else {
            throw unexpected("a permission", "write READ, CREATE or WRITE")
        }
        let known = SchemaLanguage.permissions.first { $0.name == token.keyword }
        guard let (word, permission) = known else {
            throw error("\(token.shown) is no permission; write READ, CREATE or WRITE")
        }
        guard !others.contains(permission) else {
            throw error("\(word) stands twice; remove one")
        }
        return permission
    }
}

// MARK: - Types

extension SchemaLanguage.Parser {
    private static let everyKind = FieldKind.allCases
    private static let encryptable = FieldKind.allCases.filter(\.isEncryptable)

    private mutating func type(
        of field: SchemaLanguage.Token
    ) throws(SchemaLanguageError) -> DeclaredType {
        guard token.kind == .word else {
            throw unexpected("a type", "write one after the field \(field.shown), such as STRING")
        }
        switch token.keyword {
        case "NUMBER":
            try advance()
            return .number(preferred: try preference())
        case "LIST":
            try advance()
            return .type(try list())
        case "ENCRYPTED":
            try advance()
            if token.keyword == "LIST" {
                let advice = "write LIST<ENCRYPTED ...> for a list of encrypted elements"
                throw error("found 'LIST' after ENCRYPTED; \(advice)")
            }
            return .type(.encrypted(try kind(among: Self.encryptable, "can't be encrypted")))
        default:
            let more = ["LIST<...>", "ENCRYPTED ..."]
            return .type(.one(try kind(among: Self.everyKind, "is no type", more)))
        }
    }

    /// Parses the rest of a type after LIST.
    private mutating func list() throws(SchemaLanguageError) -> FieldType {
        try sign("<", "write LIST and the type of its elements, such as LIST<STRING>")
        let isEncrypted = token.keyword == "ENCRYPTED"
        if isEncrypted { try advance() }
        let kinds = isEncrypted ? Self.encryptable : Self.everyKind
        let reason = isEncrypted ? "can't be encrypted" : "can't be the type of a list's elements"
        let kind = try kind(among: kinds, reason)
        try sign(">", "write '>' after \(kind.name)")
        return isEncrypted ? .encryptedList(kind) : .list(kind)
    }

    /// Parses what follows NUMBER: nothing, or PREFERRED AS and a kind.
    private mutating func preference() throws(SchemaLanguageError) -> FieldKind? {
        guard token.keyword == "PREFERRED" else { return nil }
        try advance()
        try keyword("AS", "write PREFERRED AS INT64 or PREFERRED AS DOUBLE")
        return try kind(among: [.int64, .double], "can't be preferred")
    }

    private mutating func kind(
        among kinds: [FieldKind],
        _ reason: String,
        _ more: [String] = []
    ) throws(SchemaLanguageError) -> FieldKind {
        if let kind = kinds.first(where: { $0.name == token.keyword }) {
            try advance()
            return kind
        }
        let advice = "write " + SchemaLanguage.oneOf(kinds.map(\.name) + more)
        if token.kind == .word { throw error("\(token.shown) \(reason); \(advice)") }
        throw unexpected("a type", advice)
    }
}
