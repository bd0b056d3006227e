// A change that somebody asks for: each kind is a type that knows what it needs, what it does and
// what its caller is told.
//
// Parsed or made by the node's handlers, carried to the writer in a `WriteRequest`, which enforces
// the rules of all changes. A new kind of change is a type here, and an entry in the node's
// `MethodTable`.

package import CumulusModel
package import CumulusStorage

package protocol Change: Sendable {
    /// The answer to the caller.
    associatedtype Outcome: Sendable

    /// Whether only an operator may ask for it.
    static var isOperators: Bool { get }
    /// Whether even a read-only node makes it.
    static var isMadeReadOnly: Bool { get }
    /// Whether it changes all scopes, and not only its own.
    static var changesEveryScope: Bool { get }
    /// Whether it only deletes records, zones or subscriptions, which makes room in the end, or
    /// only takes access away, which must not wait for room.
    var onlyDeletes: Bool { get }

    /// The number of the scope to change; nil if there is no such scope.
    static func find(
        _ scope: ScopeID,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> ScopeNumber?

    /// Makes the change, or returns why it can't.
    func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError>

    /// Whether the writes are kept; false if the outcome says that nothing was changed.
    func keeps(_ outcome: Outcome) -> Bool

    /// Makes the change unless it was made before; returns the answer, and whether the writes are
    /// kept.
    func perform(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool)

    /// Keys that the change will probably ask for: they are read together with other changes' keys.
    ///
    /// Reads only what the writer caches. What is missing here is read when it is asked for.
    func likelyRows(
        for asker: Asker,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey]

    /// Leaves out of an outcome the server's records for which there is no room, and takes the room
    /// of the others.
    ///
    /// - Parameter admits: Whether the caller's connection has room for this many bytes, too;
    ///   called once, if there are such records.
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

    package func likelyRows(
        for asker: Asker,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey] { [] }

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
        guard scope != .cluster,
            try !Containers.isDeleted(scope.container, in: transaction)
        else { return nil }
        return try transaction.scope(scope)
    }
}

/// A change in the cluster's own scope; only operators may ask for it, unless it says otherwise.
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
