// What a caller may do with the records of one zone, judged by the writer in the transaction of the
// commit.
//
// Made by `ZoneBatch` once per request and zone, and where a request comes again; asked for each
// save and delete. In one's own database nothing is looked up. hot: once per saved record.

import CumulusModel
import CumulusStorage

struct ZoneAccess {
    let rights: AccessRights
    private let scope: ScopeNumber
    private let caller: Caller
    /// Of a zone that another user shares; nil elsewhere.
    let walk: TreeWalk?

    init(to found: FoundZone, of scope: ScopeNumber, by caller: Caller) {
        rights = found.rights
        self.scope = scope
        self.caller = caller
        walk = found.walk
    }

    /// Why the caller may not do that to a stored record; nil if it may.
    func refusal(
        _ verb: Authorisation.Verb,
        _ row: RecordRow,
        named name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        switch rights {
        case .own: return nil
        case .granted:
            let facts = Authorisation.RecordFacts(row)
            return try transaction.refusal(verb, facts, of: scope, to: caller)
        case .viewer(let view):
            // A default zone, which has no number, is not shared.
            guard let walk else { return .recordNotFound }
            let facts = try walk.facts(
                of: name,
                type: StoredName.shown(row.type),
                isRoot: row.share?.name != nil,
                transaction
            )
            return Authorisation.refusal(verb, facts, view)
        }
    }

    /// Why the caller may not read a record of which it is told in another way; nil if it may.
    func refusal(
        ofReading record: RecordView,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        switch rights {
        case .own: return nil
        case .granted:
            let facts = Authorisation.RecordFacts(type: record.type, createdBy: record.createdBy)
            return try transaction.refusal(.read, facts, of: scope, to: caller)
        case .viewer(let view):
            guard let walk else { return .recordNotFound }
            let facts = try walk.facts(
                of: record.name,
                type: record.type,
                isRoot: record.share != nil,
                transaction
            )
            return Authorisation.refusal(.read, facts, view)
        }
    }
}

extension FoundZone {
    /// The walk through the trees that the caller sees; nil but in another user's zone.
    var walk: TreeWalk? {
        guard case .viewer(let view) = rights, let number else { return nil }
        return TreeWalk(view, in: number, lens)
    }
}
