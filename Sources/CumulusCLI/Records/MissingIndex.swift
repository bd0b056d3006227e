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
    ///
    /// - Parameter order: The keys by which a query sorts all records of a type: a node speaks of
    ///   the index that leads to all records first, and not of the keys.
    static func advised(
        _ error: any Error,
        by scope: ScopeOptions,
        order: [String] = []
    ) throws -> any Error {
        guard var refusal = error as? ServiceError, let missing = MissingIndex(error) else {
            return error
        }
        let (container, environment) = (scope.container.container, try scope.environmentValue())
        if missing.isOfAllRecords, !order.isEmpty {
            refusal.message = missing.advice(order: order, container: container, environment)
        } else {
            refusal.message += ", " + missing.advice(container: container, environment)
        }
        return refusal
    }

    func advice(in scope: ScopeOptions) throws -> String {
        advice(container: scope.container.container, try scope.environmentValue())
    }

    /// What to do about it, as the operator.
    func advice(container: String?, _ environment: Environment) -> String {
        MissingIndex.advice([command(container: container)], environment)
    }

    /// What to do before all records can be sorted by these keys.
    func advice(order: [String], container: String?, _ environment: Environment) -> String {
        let all = MissingIndex(recordType, SystemField.recordID.rawValue, "queryable")
        let sorted = order.map { MissingIndex(recordType, $0, "sortable") }
        let keys = order.map { "'\($0)'" }.joined(separator: ", ")
        let commands = ([all] + sorted).map { $0.command(container: container) }
        return "all records of type \(recordType) can be sorted by \(keys) once these fields and "
            + "the records' names, \(SystemField.recordID.rawValue), are indexed; "
            + MissingIndex.advice(commands, environment)
    }

    private static func advice(_ commands: [String], _ environment: Environment) -> String {
        let text = commands.map { "'\($0)'" }.joined(separator: " and ")
        return environment == .production
            ? "as the operator: \(text) in development, then 'cumulus schema deploy --yes'"
            : "as the operator: \(text)"
    }

    private init(_ recordType: String, _ field: String, _ kind: String) {
        (self.recordType, self.field, self.kind) = (recordType, field, kind)
    }
}
