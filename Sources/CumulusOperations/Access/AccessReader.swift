// Decides which of the records that a call finds may be shown to its caller.
//
// Made once for each call and zone by fetches, lists, queries and changes, and asked for each
// record. `RecordAccess` decides. In one's own database that is one comparison. In the public one
// it is two look-ups in dictionaries: of the type's grants, and of the caller's roles, which are
// read when the value is made. In another user's zone it is a walk up to the root of a tree, see
// `TreeWalk`. hot: once per record that is shown.

import CumulusModel
package import CumulusStorage

package struct AccessReader: Sendable {
    private let access: RecordAccess
    private let scope: ScopeNumber
    private let caller: Caller
    /// The caller's roles; empty except in the public database.
    private let roles: UserRoles
    private let schemas: SchemaDirectory

    /// - Parameter schemas: The schemas of the state that is read.
    package init(
        to found: FoundZone,
        of scope: ScopeNumber,
        by caller: Caller,
        _ schemas: SchemaDirectory,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        access = RecordAccess(to: found, of: scope, by: caller)
        self.scope = scope
        self.caller = caller
        self.schemas = schemas
        let isPublic = found.rights == .granted
        roles = isPublic ? try schemas.roles(of: caller, in: scope, reader) : UserRoles()
    }

    private var isPublic: Bool { access.rights == .granted }

    /// What the caller sees of another user's zone; nil in other zones.
    var view: AccessRights.View? { access.walk?.view }

    /// Why the caller may not read a record; nil if it may.
    func refusal(
        of record: RecordView,
        _ reader: ReadTransaction
    ) throws(EngineError) -> ServiceError? {
        try refusal(RecordAccess.Record(record), reader)
    }

    private func refusal(
        _ record: @autoclosure () -> RecordAccess.Record,
        _ reader: ReadTransaction
    ) throws(EngineError) -> ServiceError? {
        var state = State(schemas: schemas, roles: roles, reader: reader)
        return try access.refusal(.read, record(), &state)
    }

    /// The state that is read, with cached schemas and roles.
    private struct State: RightsSource {
        let schemas: SchemaDirectory
        let roles: UserRoles
        let reader: ReadTransaction

        func granted(
            _ type: String,
            to caller: Caller,
            in scope: ScopeNumber
        ) throws(EngineError) -> (grants: Grants, roles: Set<String>) {
            (try schemas.find(type, of: scope, reader).schema.grants, roles.names)
        }

        func facts(
            of record: RecordAccess.Record,
            _ walk: TreeWalk
        ) throws(EngineError) -> Authorisation.SharedFacts {
            try walk.facts(of: record, reader)
        }
    }

    /// Whether the caller may still read a record that an older state held.
    ///
    /// In another user's zone the record may have moved to another parent since.
    func stillAllows(
        _ record: RecordView,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        if view != nil { return try reads(record.name, of: record.type, reader) }
        return try refusal(of: record, reader) == nil
    }

    /// Whether the caller may read a stored record, dead or alive.
    ///
    /// In a zone that is shared in part, it may read no dead record.
    func allows(
        _ row: RecordRow,
        named name: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        try refusal(RecordAccess.Record(row, named: name), reader) == nil
    }

    /// Whether each record must be checked by itself, because the caller sees only some trees of
    /// another user's zone.
    var isPartial: Bool { view.map { $0.wholeZone == nil } ?? false }

    /// Whether the caller may read a living record of another user's zone; true in other zones.
    func reads(
        _ name: String,
        of type: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard view != nil else { return true }
        return try refusal(RecordAccess.Record(name: name, type: type), reader) == nil
    }

    /// The names of all records that the caller may read in a zone that is shared in part, and
    /// perhaps names of other records.
    ///
    /// Returns nil if there are more than `limit`, or if the zone is not shared in part.
    func names(limit: Int, _ reader: ReadTransaction) throws(EngineError) -> [String]? {
        guard let walk = access.walk, isPartial else { return nil }
        return try walk.names(limit: limit, reader)
    }

    /// How far the caller's right to read records of the same type reaches.
    func reading(
        typeOf row: RecordRow,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Grants.Coverage {
        guard isPublic else { return .all }
        let grants = try grants(StoredName.shown(row.type), reader)
        return Authorisation.reading(grants, by: caller, with: roles.names)
    }

    /// Whether the caller created a record; false if nobody is signed in.
    func isCreator(of row: RecordRow) -> Bool { row.createdBy == caller.signedInUser }

    private func grants(
        _ type: String,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Grants {
        try schemas.find(type, of: scope, reader).schema.grants
    }

    /// Whether a reader of that vector knows by now which records it may read.
    ///
    /// False if another type that it may know has got other grants since, or if reading such a type
    /// depends on a role of the caller that has changed.
    func isKnown(
        to vector: VersionVector,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard isPublic else { return true }
        let namespace = SchemaRegister.typeNamespace
        let changed = roles.changed(since: vector)
        for (key, row) in try reader.registerRows(scope, SchemaRegister.grantNamespace) {
            if vector.covers(row.stamp.dot), try !decides(changed, key, row, reader) { continue }
            // A type that is newer than the vector has no records there. (The type of users may
            // have no register.)
            let type = try reader.register(scope, namespace, Array(key.prefix(1)))
            if let type, !vector.covers(type.stamp.dot) { continue }
            return false
        }
        return true
    }

    /// Whether a grant lets one of the changed roles read a type that nothing else lets the caller
    /// read as a whole.
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
