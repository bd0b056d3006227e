// Which of the records that a call finds it may show to its caller.
//
// Made once for each call and database by fetches, lists and changes; asked for each record. In a
// private database that is one comparison, in the public one two look-ups in dictionaries: of what
// the type grants, and of a role in it. hot: once per record that is shown.

package import CumulusModel
package import CumulusStorage

package struct AccessReader: Sendable {
    private let scope: ScopeNumber
    private let isPublic: Bool
    private let caller: Caller
    private let schemas: SchemaDirectory

    /// - Parameter schemas: Of the state that is read.
    package init(
        to database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller,
        _ schemas: SchemaDirectory
    ) {
        self.scope = scope
        self.caller = caller
        self.schemas = schemas
        isPublic = database.kind == .public
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
            to: caller
        )
    }

    /// Whether the caller may read a stored record, dead or alive.
    func allows(_ row: RecordRow, _ reader: ReadTransaction) throws(EngineError) -> Bool {
        guard isPublic else { return true }
        let facts = Authorisation.RecordFacts(row)
        let grants = try grants(facts.type, reader)
        return Authorisation.refusal(.read, facts, granted: grants, to: caller) == nil
    }

    /// How far the caller's right to read records of the same type reaches.
    func reading(
        typeOf row: RecordRow,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Grants.Reach {
        guard isPublic else { return .all }
        return Authorisation.reading(try grants(StoredName.shown(row.type), reader), by: caller)
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
    /// has other grants since.
    func isKnown(
        to vector: VersionVector,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard isPublic else { return true }
        let namespace = SchemaRegister.typeNamespace
        for (key, row) in try reader.registerRows(scope, SchemaRegister.grantNamespace) {
            if vector.covers(row.stamp.dot) { continue }
            // Of a type that is newer it holds nothing. (That of users may have no register.)
            let type = try reader.register(scope, namespace, Array(key.prefix(1)))
            if let type, !vector.covers(type.stamp.dot) { continue }
            return false
        }
        return true
    }
}
