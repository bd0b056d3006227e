// Reads a schema from a text in the schema language.
//
// Schema(ckdb:) calls it with texts of developers. The first error is reported with its place and
// with what to do. It takes time linear in the text and never recurses. A file of its own reads the
// parentheses of a record type.

extension Schema {
    /// Reads a schema from a text in the schema language.
    ///
    /// Keywords may be in any case; comments and the order of types, fields and grants are
    /// forgotten.
    public init(ckdb text: String) throws(SchemaLanguageError) {
        var parser = try SchemaLanguage.Parser(text)
        self = try parser.schema()
    }
}

extension SchemaLanguage {
    struct Parser {
        var lexer: Lexer
        /// The first token that is not yet understood.
        var token: Token

        private var roles: Set<String> = []
        private var recordTypes: [Schema.RecordType] = []
        private var typeNames: Set<String> = []
        /// The roles of grants; a file may create a role after its use.
        var grantees: [Token] = []

        init(_ text: String) throws(SchemaLanguageError) {
            let limit = Limits.standard.schemaTextBytes
            guard text.utf8.count <= limit else {
                let size = "the schema is \(text.utf8.count) bytes long"
                let message = "\(size); the limit is \(limit), so shorten it"
                throw SchemaLanguageError(message, at: 0, in: [])
            }
            lexer = Lexer(Bytes(text.utf8))
            token = try lexer.next()
        }

        /// All of the text.
        mutating func schema() throws(SchemaLanguageError) -> Schema {
            try keyword("DEFINE", "begin the file with DEFINE SCHEMA")
            try keyword("SCHEMA", "begin the file with DEFINE SCHEMA")
            while token.kind != .end { try statement() }
            let unknown = grantees.first { !roles.contains($0.text) }
            if let unknown {
                let advice = "add CREATE ROLE \(written(unknown.text));"
                throw error("no line creates the role \(unknown.shown); \(advice)", at: unknown)
            }
            return Schema(roles: Array(roles), recordTypes: recordTypes)
        }

        private mutating func statement() throws(SchemaLanguageError) {
            switch token.keyword {
            case "CREATE": try role()
            case "RECORD": try recordType()
            case "DEFINE": throw error("a file holds one schema; remove what follows", at: token)
            default:
                throw unexpected(
                    "CREATE ROLE, RECORD TYPE or the end of the file",
                    "remove it, or put it in a comment"
                )
            }
        }

        private mutating func role() throws(SchemaLanguageError) {
            try advance()
            try keyword("ROLE", "write CREATE ROLE and a name")
            let name = try self.name("a role name", "write a name after CREATE ROLE")
            try check(role: name)
            guard roles.insert(name.text).inserted else {
                throw error("role \(name.shown) is created twice; remove one line", at: name)
            }
            try sign(";", "write ';' after the role \(name.shown)")
        }

        private mutating func recordType() throws(SchemaLanguageError) {
            try advance()
            try keyword("TYPE", "write RECORD TYPE and a name")
            let name = try self.name("a record type name", "write a name after RECORD TYPE")
            if name.text != Schema.shareType { try check(name, "record type name") }
            guard typeNames.insert(name.text).inserted else {
                throw error("record type \(name.shown) is defined twice; remove one", at: name)
            }
            try sign("(", "write '(' after the record type \(name.shown)")
            recordTypes.append(try items(of: name))
            try sign(";", "write ';' after the ')' of the record type \(name.shown)")
        }
    }
}

// MARK: - Names

extension SchemaLanguage.Parser {
    private func check(role: SchemaLanguage.Token) throws(SchemaLanguageError) {
        if Schema.implicitRoles.contains(role.text) {
            throw error("role \(role.shown) always exists; remove this line", at: role)
        }
        do {
            _ = try Names.checkIdentifier(Bytes(role.text.utf8)[...], "role name")
        } catch {
            throw self.error("\(error.message); choose another name", at: role)
        }
    }

    func check(
        field: SchemaLanguage.Token,
        in type: String
    ) throws(SchemaLanguageError) {
        if field.text.utf8.starts(with: "___".utf8) {
            guard SystemField(rawValue: field.text) == nil else { return }
            let names = SystemField.allCases.map(\.rawValue).sorted()
            let advice = "write \(SchemaLanguage.oneOf(names)), or choose another name"
            throw error("\(field.shown) is no system field; \(advice)", at: field)
        }
        guard field.text.utf8.starts(with: Schema.sharePrefix.utf8) else {
            return try check(field, "field name")
        }
        guard type == Schema.shareType else {
            let place = "only the record type \"\(Schema.shareType)\" has"
            throw error("\(place) the field \(field.shown); choose another name", at: field)
        }
        try check(field, "field name", behind: Schema.sharePrefix.utf8.count)
    }

    /// A name of letters, digits and underscores; a prefix is not looked at, but counted.
    private func check(
        _ name: SchemaLanguage.Token,
        _ what: String,
        behind prefix: Int = 0
    ) throws(SchemaLanguageError) {
        let bytes = Bytes(name.text.utf8)
        do {
            _ = try Names.checkText(bytes[...], what)
            _ = try Names.checkSchemaName(bytes.dropFirst(prefix), what)
        } catch {
            throw self.error("\(error.message); choose another name", at: name)
        }
    }
}

// MARK: - Tokens

extension SchemaLanguage.Parser {
    mutating func advance() throws(SchemaLanguageError) {
        token = try lexer.next()
    }

    mutating func keyword(
        _ word: String,
        _ advice: @autoclosure () -> String
    ) throws(SchemaLanguageError) {
        guard token.keyword == word else { throw unexpected(word, advice()) }
        try advance()
    }

    mutating func sign(
        _ sign: String,
        _ advice: @autoclosure () -> String
    ) throws(SchemaLanguageError) {
        guard token.isSign(sign) else { throw unexpected("'\(sign)'", advice()) }
        try advance()
    }

    mutating func name(
        _ wanted: String,
        _ advice: String
    ) throws(SchemaLanguageError) -> SchemaLanguage.Token {
        guard token.isName else { throw unexpected(wanted, advice) }
        let name = token
        try advance()
        return name
    }

    func unexpected(_ wanted: String, _ advice: String) -> SchemaLanguageError {
        let found = token.kind == .end ? "the file ends" : "found \(token.shown)"
        return error("\(found) where \(wanted) is expected; \(advice)")
    }

    /// An error at a token; at the current one, if none is given.
    func error(
        _ message: String,
        at place: SchemaLanguage.Token? = nil
    ) -> SchemaLanguageError {
        lexer.error(message, at: (place ?? token).offset)
    }
}
