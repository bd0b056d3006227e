// What a caller may do with the records of one zone: everything in its own database, what the type
// grants in the public one, what shares allow in another user's.
//
// A call makes one for each zone that it finds; `Authorisation` has the rules. `AccessReader` asks
// for what is shown, with the caches of reads. `ZoneBatch` and other code in the writer ask with
// its transaction: for each save, each delete and each repeated request. In one's own database
// nothing is looked up. hot: once per record that is saved or shown.

import CumulusModel
import CumulusStorage

/// The rows that rights depend on, in one state of the store.
protocol RightsSource: ~Copyable {
    /// Returns what a type grants, and the roles of the schema that a caller was given.
    mutating func granted(
        _ type: String,
        to caller: Caller,
        in scope: ScopeNumber
    ) throws(EngineError) -> (grants: Grants, roles: Set<String>)

    /// Returns where a record of another user's zone hangs.
    borrowing func facts(
        of record: RecordAccess.Record,
        _ walk: TreeWalk
    ) throws(EngineError) -> Authorisation.SharedFacts
}

struct RecordAccess: Sendable {
    /// What is known of a record before its rights are looked up.
    struct Record {
        var name: String
        /// The type's name, as callers know it.
        var type: String
        /// The user who created the record; nil if it does not exist yet.
        var createdBy: String?
        /// Whether a share names the record as its root.
        var isRoot = false
        /// The next link of its chain of parents, if that was read; nil means that it is read when
        /// needed.
        var link: TreeWalk.Link?
    }

    let rights: AccessRights
    private let scope: ScopeNumber
    private let caller: Caller
    /// The trees that the caller sees; nil except in another user's zone.
    let walk: TreeWalk?

    init(to found: FoundZone, of scope: ScopeNumber, by caller: Caller) {
        rights = found.rights
        self.scope = scope
        self.caller = caller
        // A zone without a number is a default zone, which is never shared.
        walk = found.number.flatMap { number in
            found.rights.view.map { TreeWalk($0, in: number, found.lens) }
        }
    }

    /// Why the caller may not apply a verb to a record; nil if it may.
    func refusal<Source: RightsSource & ~Copyable>(
        _ verb: Authorisation.Verb,
        _ record: @autoclosure () -> Record,
        _ source: inout Source
    ) throws(EngineError) -> ServiceError? {
        switch rights {
        case .own: return nil
        case .granted:
            let record = record()
            let (grants, roles) = try source.granted(record.type, to: caller, in: scope)
            return Authorisation.refusal(
                verb,
                Authorisation.RecordFacts(type: record.type, createdBy: record.createdBy),
                granted: grants,
                to: caller,
                with: roles
            )
        case .viewer(let view):
            guard let walk else { return .recordNotFound }
            return Authorisation.refusal(verb, try source.facts(of: record(), walk), view)
        }
    }

    /// Why the caller may not apply a verb to a stored record; nil if it may.
    func refusal<Source: RightsSource & ~Copyable>(
        _ verb: Authorisation.Verb,
        _ row: RecordRow,
        named name: String,
        _ source: inout Source
    ) throws(EngineError) -> ServiceError? {
        try refusal(verb, Record(row, named: name), &source)
    }
}

extension RecordAccess.Record {
    init(_ row: RecordRow, named name: String) {
        self.init(name: name, type: StoredName.shown(row.type), createdBy: row.createdBy)
        isRoot = row.share?.name != nil
    }

    /// A record as it is shown, read from the same state.
    init(_ view: RecordView) {
        self.init(name: view.name, type: view.type, createdBy: view.createdBy)
        isRoot = view.share != nil
        link = .below(parent: view.parent)
    }
}

extension WriteTransaction: RightsSource {
    mutating func granted(
        _ type: String,
        to caller: Caller,
        in scope: ScopeNumber
    ) throws(EngineError) -> (grants: Grants, roles: Set<String>) {
        let grants = try schema(scope, type).grants
        guard let user = caller.signedInUser else { return (grants, []) }
        return (grants, try roles(of: user, in: scope).names)
    }

    borrowing func facts(
        of record: RecordAccess.Record,
        _ walk: TreeWalk
    ) throws(EngineError) -> Authorisation.SharedFacts {
        try walk.facts(of: record, self)
    }
}
