// An index that a query needs and the schema lacks: what a node's refusal says of it, and the
// command that adds it.
//
// Used by `cumulus query` and by subscriptions to queries. The forms of the messages are part of
// the contract: see "Queries" in `proto/records.md`. A refusal in another form is passed on as it
// is.

import CumulusModel

struct MissingIndex: Equatable {
    var recordType: String
    /// As the schema names it; nil where the refusal leaves open which one.
    var field: String?
    /// The kind of the index, in small letters.
    var kind: String

    /// nil if the error says anything else.
    init?(_ error: any Error) {
        guard let error = error as? ServiceError, error.code == .invalidArguments else {
            return nil
        }
        let text = error.message
        let field = #/is not marked (\w+); add \w+ to '(.+)' of type (\w+) /#
        let type = /^Type is not marked indexable: (\w+);/
        let words = /^Type (\w+) has no field that is marked (\w+);/
        if let match = text.firstMatch(of: field) {
            recordType = String(match.3)
            self.field = String(match.2)
            kind = String(match.1)
        } else if let match = text.firstMatch(of: type) {
            (recordType, kind) = (String(match.1), "queryable")
        } else if let match = text.firstMatch(of: words) {
            (recordType, kind) = (String(match.1), String(match.2))
        } else {
            return nil
        }
    }

    /// Whether the query asked for all records of the type, if it has no predicate and no order.
    var isOfAllRecords: Bool {
        kind == "queryable" && (field == nil || field == SystemField.recordID.rawValue)
    }

    /// The command that adds the index.
    ///
    /// - Parameter container: The container that the command line names; nil if it names none.
    func command(container: String?) -> String {
        let place = container.map { " --container \($0)" } ?? ""
        return "cumulus index add \(recordType) \(field ?? "FIELD") --kind \(kind)\(place)"
    }

    /// An error of a command with what to do about it, if it is a missing index.
    static func advised(_ error: any Error, by scope: ScopeOptions) throws -> any Error {
        guard var refusal = error as? ServiceError, let missing = MissingIndex(error) else {
            return error
        }
        refusal.message += ", " + (try missing.advice(in: scope))
        return refusal
    }

    func advice(in scope: ScopeOptions) throws -> String {
        advice(container: scope.container.container, try scope.environmentValue())
    }

    /// What to do about it, as the operator.
    func advice(container: String?, _ environment: Environment) -> String {
        let command = "'\(command(container: container))'"
        return environment == .production
            ? "as the operator: \(command) in development, then 'cumulus schema deploy --yes'"
            : "as the operator: \(command)"
    }
}
