// Deletes containers for good, on all nodes.
//
// The design is that of `DeletedUsers`: a register of the cluster's scope names the container, and
// nothing takes it back. From then on a node lets nobody into the container, as a caller or as an
// operator, and its service keys are revoked. The two scopes stay as shells, with their logs, so
// that nodes go on to agree about them: what is in them goes by ordinary commits
// (`ContainerTraces`), and what a node that was cut off adds goes in the same way. Schemas stay,
// which hold names of types and fields only.
//
// The name is not used again, as in CloudKit: scopes are told apart by their names, and a node that
// comes back late could not tell the old one's commits from the new one's.

package import CumulusModel
package import CumulusStorage

/// Deletes both environments of a container: nobody comes in from now on, and its data goes in the
/// background.
package struct DeleteContainer: AccountChange {
    package typealias Outcome = String

    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    /// Plans the register of the deletion, and the revocation of the container's service keys; the
    /// outcome is the name.
    package func plan(
        for asker: Asker,
        in cluster: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        if let refusal = try Feature.deletion.refusal(in: transaction) { return .failure(refusal) }
        let exists =
            try transaction.scope(ScopeID(container: name, environment: .development)) != nil
        guard exists, try !Containers.isDeleted(name, in: transaction) else {
            return .failure(try Containers.missing(name, in: transaction))
        }
        var registers = [
            Commit.Register(
                namespace: ContainerRegister.deleted,
                key: [Bytes(name.utf8)],
                value: []
            )
        ]
        for environment in Environment.allCases {
            let scope = ScopeID(container: name, environment: environment)
            registers += try ServiceKeys.all(of: scope, in: transaction).map {
                Commit.Register(namespace: AccountRegister.revoked, key: [$0.id], value: [])
            }
        }
        return .success((registers, name))
    }
}

package enum DeletedContainers {
    /// The commit that deleted a container; nil if the container was not deleted.
    package static func stamp<Reader: RowReader & ~Copyable>(
        of name: String,
        in reader: borrowing Reader
    ) throws(EngineError) -> Stamp? {
        guard let cluster = try reader.scope(.cluster),
            let row = try reader.register(cluster, ContainerRegister.deleted, [Bytes(name.utf8)]),
            row.value != nil
        else { return nil }
        return row.stamp
    }
}
