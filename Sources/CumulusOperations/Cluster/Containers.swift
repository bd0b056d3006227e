// Containers, which operators make: one scope per environment. Each container is a register of the
// cluster's own scope; a node makes the scopes when the register arrives.

package import CumulusModel
package import CumulusStorage

package enum Containers {
    /// The number of containers at which a node makes no more: the number of a scope has two bytes,
    /// and a cluster that was cut in two may have as many on both sides.
    package static let most = 16_000

    /// Why no further container can be made; nil if one can, or if this one exists.
    package static func refusal(
        _ name: String,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        let scope = ScopeID(container: name, environment: .development)
        guard transaction.state.node.nextScope > 2 * most, try transaction.scope(scope) == nil
        else { return nil }
        return ServiceError(
            .limitExceeded,
            """
            there are \(most) containers, and no more can be made; use one of them again, or \
            another cluster
            """
        )
    }

    /// Makes both environments of a container.
    ///
    /// Returns true if they existed.
    package static func create(
        _ name: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let scope = try transaction.makeScope(.cluster)
        let key = Bytes(name.utf8)
        let namespace = ContainerRegister.namespace
        if try transaction.register(scope, namespace, [key]) != nil { return true }
        let register = Commit.Register(namespace: namespace, key: [key], value: [])
        try ScopeRegisters(of: scope).set([register], &transaction)
        return false
    }

    /// The names of all containers that were not deleted, sorted.
    package static func all(in reader: ReadTransaction) throws(EngineError) -> [String] {
        var names: Set<String> = []
        for (key, _) in try reader.rows(.meta, .all(.scope)) {
            var parts = KeyReader(key)
            let name = try parts.text()
            if !name.isEmpty, try !isDeleted(name, in: reader) { names.insert(name) }
        }
        return names.sorted()
    }

    /// Whether a container was deleted.
    package static func isDeleted<Reader: RowReader & ~Copyable>(
        _ name: String,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        try DeletedContainers.stamp(of: name, in: reader) != nil
    }

    /// The number of a scope whose container exists; refuses others.
    package static func number<Reader: RowReader & ~Copyable>(
        of scope: ScopeID,
        in reader: borrowing Reader
    ) throws -> ScopeNumber {
        guard try !isDeleted(scope.container, in: reader), let number = try reader.scope(scope)
        else { throw try missing(scope.container, in: reader) }
        return number
    }

    /// The refusal of a call about a container that was deleted, or never made.
    package static func missing<Reader: RowReader & ~Copyable>(
        _ name: String,
        in reader: borrowing Reader
    ) throws(EngineError) -> ServiceError {
        try isDeleted(name, in: reader) ? deleted(name) : unknown(name)
    }

    package static func deleted(_ name: String) -> ServiceError {
        ServiceError(
            .badContainer,
            """
            container '\(name)' was deleted, and its name is not used again; choose another name
            """
        )
    }

    package static func unknown(_ name: String) -> ServiceError {
        // The name may hold anything, and the message may be read on a terminal.
        let printable = name.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control ? "?" : "\(scalar)"
        }
        let name = printable.joined()
        return ServiceError(
            .badContainer,
            """
            container '\(name)' does not exist on this node; create it with \
            'cumulus container create \(name)' or name it in the node's setting 'container'
            """
        )
    }
}

/// Makes both environments of a container.
package struct CreateContainer: ClusterChange {
    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package func keeps(_ existed: Bool) -> Bool { !existed }

    /// Makes the environments; the outcome is whether they existed.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bool, ServiceError> {
        if try Containers.isDeleted(name, in: transaction) {
            return .failure(Containers.deleted(name))
        }
        if let refusal = try Containers.refusal(name, in: transaction) { return .failure(refusal) }
        return .success(try Containers.create(name, in: &transaction))
    }
}
