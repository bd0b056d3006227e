// Which of the records that a call finds it may show to its caller.
//
// Made once for each call and database by fetches, lists and changes; asked for each record. In a
// private database that is one comparison, in the public one two look-ups in dictionaries: of what
// the type grants, and of a role in it. The roles that the caller was given are looked up when it
// is made. hot: once per record that is shown.

package import CumulusModel
package import CumulusStorage

package struct AccessReader: Sendable {
    private let scope: ScopeNumber
    private let isPublic: Bool
    private let caller: Caller
    /// Empty in a private database.
    private let roles: UserRoles
    private let schemas: SchemaDirectory

    /// - Parameter schemas: Of the state that is read.
    package init(
        to database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller,
        _ schemas: SchemaDirectory,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        self.scope = scope
        self.caller = caller
        self.schemas = schemas
        isPublic = database.kind == .public
        roles = isPublic ? try schemas.roles(of: caller, in: scope, reader) : UserRoles()
    }

    /// Why the caller may not read a record; nil if it may.
    func refusal(
        of record: RecordView,
        _ reader: ReadTransaction
    ) throws(EngineError) -> ServiceError? {
        guard isPublic else { return nil }
        let facts = Authorisation.RecordFacts(type: record.type, createdBy: record.createdBy)
        return Authorisation.refusal(
            .read,
            facts,
            granted: try grants(record.type, reader),
            to: caller,
            with: roles.names
        )
    }

    /// Whether the caller may read a stored record, dead or alive.
    func allows(_ row: RecordRow, _ reader: ReadTransaction) throws(EngineError) -> Bool {
        guard isPublic else { return true }
        let facts = Authorisation.RecordFacts(row)
        let grants = try grants(facts.type, reader)
        let refusal = Authorisation.refusal(
            .read,
            facts,
            granted: grants,
            to: caller,
            with: roles.names
        )
        return refusal == nil
    }

    /// How far the caller's right to read records of the same type reaches.
    func reading(
        typeOf row: RecordRow,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Grants.Reach {
        guard isPublic else { return .all }
        let grants = try grants(StoredName.shown(row.type), reader)
        return Authorisation.reading(grants, by: caller, with: roles.names)
    }

    /// Whether the caller created a record; nobody did who is not signed in.
    func isCreator(of row: RecordRow) -> Bool { row.createdBy == caller.signedInUser }

    private func grants(
        _ type: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Grants {
        try schemas.find(type, of: scope, reader).schema.grants
    }

    /// Whether a reader of that vector has seen which records it may read: no type that it may know
    /// has other grants since, and no role of the caller that decides there has changed.
    func isKnown(
        to vector: VersionVector,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard isPublic else { return true }
        let namespace = SchemaRegister.typeNamespace
        let changed = roles.changed(since: vector)
        for (key, row) in try reader.registerRows(scope, SchemaRegister.grantNamespace) {
            if vector.covers(row.stamp.dot), try !decides(changed, key, row, reader) { continue }
            // Of a type that is newer it holds nothing. (That of users may have no register.)
            let type = try reader.register(scope, namespace, Array(key.prefix(1)))
            if let type, !vector.covers(type.stamp.dot) { continue }
            return false
        }
        return true
    }

    /// Whether a grant is of one of the roles, and nothing else lets the caller read the type.
    private func decides(
        _ changed: Set<String>,
        _ key: [Bytes],
        _ grant: RegisterRow,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        if changed.isEmpty { return false }
        guard key.count == 2, let permissions = grant.value?.first,
            Schema.Permissions(rawValue: permissions).contains(.read),
            changed.contains(String(decoding: key[1], as: UTF8.self))
        else { return false }
        let type = StoredName.shown(String(decoding: key[0], as: UTF8.self))
        let rest = roles.names.subtracting(changed)
        return Authorisation.reading(try grants(type, reader), by: caller, with: rest) != .all
    }
}
