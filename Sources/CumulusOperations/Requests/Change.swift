// What somebody asks to be changed: each change is a type that knows what it needs, what it does
// and what its caller is told.
//
// Parsed or made by the node's handlers, carried to the writer in a `WriteRequest`, which decides
// what holds for all changes. A new change is a type here, and an entry in the node's
// `MethodTable`.

package import CumulusModel
package import CumulusStorage

package protocol Change: Sendable {
    /// What its caller is told when it is made.
    associatedtype Outcome: Sendable

    /// Only an operator may ask for it.
    static var isOperators: Bool { get }
    /// A node that only shows what it has makes it, too.
    static var isMadeReadOnly: Bool { get }
    /// It changes all scopes, and not only its own.
    static var changesEveryScope: Bool { get }
    /// Whether it deletes records, zones or subscriptions and does nothing else, which makes room
    /// in the end; or takes access away, which is not to wait for room.
    var onlyDeletes: Bool { get }

    /// The number of the scope that it is about; nil if there is no such scope.
    static func find(
        _ scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ScopeNumber?

    /// Makes the change, or says why not.
    func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError>

    /// Whether what was written is to stay: not if the outcome says that nothing was changed.
    func keeps(_ outcome: Outcome) -> Bool

    /// Makes the change unless it was made before; the answer, and whether what was written is to
    /// stay.
    func perform(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool)

    /// Leaves out what an outcome shows of the server's records beyond what there is room for,
    /// which the rest takes.
    ///
    /// - Parameter admits: Whether their caller's connection has room for so many bytes, too; asked
    ///   once, if there are any.
    static func limitShown(
        _ outcome: inout Outcome,
        to room: inout Int,
        _ admits: (Int) -> Bool
    )
}

extension Change {
    package static var isOperators: Bool { false }
    package static var isMadeReadOnly: Bool { false }
    package static var changesEveryScope: Bool { false }
    package var onlyDeletes: Bool { false }

    package func keeps(_ outcome: Outcome) -> Bool { true }

    package func perform(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool) {
        let answer = try run(for: asker, in: scope, &transaction)
        guard case .success(let outcome) = answer else { return (answer, false) }
        return (answer, keeps(outcome))
    }

    package static func limitShown(
        _ outcome: inout Outcome,
        to room: inout Int,
        _ admits: (Int) -> Bool
    ) {}
}

/// A change in an environment of a container.
package protocol ContainerChange: Change {}

extension ContainerChange {
    package static func find(
        _ scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ScopeNumber? {
        scope == .cluster ? nil : try transaction.scope(scope)
    }
}

/// A change in the cluster's own scope: unless it says otherwise, of operators.
package protocol ClusterChange: Change {}

extension ClusterChange {
    package static var isOperators: Bool { true }

    package static func find(
        _ scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ScopeNumber? {
        try transaction.makeScope(.cluster)
    }
}
