// What a caller may do with a public record, judged by the writer in the transaction of the commit.
//
// Asked through `ZoneAccess` for each save and delete, and where a request comes again. hot: once
// per saved record.

import CumulusModel
import CumulusStorage

extension WriteTransaction {
    /// Why a caller may not do that to a record of the public database; nil if it may.
    mutating func refusal(
        _ verb: Authorisation.Verb,
        _ record: Authorisation.RecordFacts,
        of scope: ScopeNumber,
        to caller: Caller
    ) throws(EngineError) -> ServiceError? {
        return Authorisation.refusal(
            verb,
            record,
            granted: try schema(scope, record.type).grants,
            to: caller,
            with: try roles(of: caller, in: scope)
        )
    }

    /// The roles of the schema that a caller was given.
    mutating func roles(
        of caller: Caller,
        in scope: ScopeNumber
    ) throws(EngineError) -> Set<String> {
        guard let user = caller.signedInUser else { return [] }
        return try roles(of: user, in: scope).names
    }
}

extension Authorisation.RecordFacts {
    /// Of a stored record.
    init(_ row: RecordRow) {
        self.init(type: StoredName.shown(row.type), createdBy: row.createdBy)
    }
}
