// The members of a cluster: each node enters itself, and an operator may take one off the list.
//
// A member is a register of the cluster's own scope. Whatever may be forgotten waits for all listed
// members, and for nobody else. A member that was taken off stays off: its node ends when it learns
// of it.
//
// Folder: the registers of the cluster: members, containers, users, operators. Read `Members`, then
// `Containers`, `Users`, `UserRecords` and `Operators`.

package import CumulusModel
package import CumulusStorage

package enum Members {
    package struct Member: Hashable, Sendable {
        package var nodeID: Bytes
        /// The address at which it said that it listens; empty if it named none, or no valid one.
        package var endpoint: String
        /// Whether it was taken off the list.
        package var isRemoved: Bool
        /// When it was taken off, or its address was noted, in milliseconds since 1970 UTC.
        package var time: Int64
    }

    private static let namespace = MemberRegister.namespace
    private static let leavingNamespace = "leaving"

    /// Lists a node, or notes its new address.
    ///
    /// Returns false, and changes nothing, if the node was taken off the list.
    package static func enter(
        _ nodeID: Bytes,
        endpoint: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let scope = try transaction.makeScope(.cluster)
        if let known = try transaction.register(scope, namespace, [nodeID]) {
            if known.value == nil { return false }
            if known.value == Bytes(endpoint.utf8) { return true }
        }
        try set(nodeID, to: Bytes(endpoint.utf8), in: scope, &transaction)
        return true
    }

    /// Takes a node off the list; returns false if it isn't on it.
    package static func remove(
        _ nodeID: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let scope = try transaction.makeScope(.cluster)
        guard try transaction.register(scope, namespace, [nodeID])?.value != nil else {
            return false
        }
        try set(nodeID, to: nil, in: scope, &transaction)
        return true
    }

    /// Notes that a node is about to leave, or stays after all.
    ///
    /// Changes nothing if that is noted already.
    package static func mark(
        _ nodeID: Bytes,
        isLeaving: Bool,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        let scope = try transaction.makeScope(.cluster)
        let known = try transaction.register(scope, leavingNamespace, [nodeID])?.value != nil
        guard known != isLeaving else { return }
        let register = Commit.Register(
            namespace: leavingNamespace,
            key: [nodeID],
            value: isLeaving ? [] : nil
        )
        try ScopeRegisters(of: scope).set([register], &transaction)
    }

    /// Nodes that are about to leave, or left.
    package static func leaving(
        in reader: ReadTransaction
    ) throws(EngineError) -> Set<Bytes> {
        guard let scope = try reader.scope(.cluster) else { return [] }
        return Set(try reader.registers(scope, leavingNamespace).compactMap(\.key.first))
    }

    private static func set(
        _ nodeID: Bytes,
        to value: Bytes?,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let register = Commit.Register(namespace: namespace, key: [nodeID], value: value)
        try ScopeRegisters(of: scope).set([register], &transaction)
    }

    /// Whether a node was taken off the list.
    package static func isRemoved(
        _ nodeID: Bytes,
        in reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        guard let scope = try reader.scope(.cluster),
            let register = try reader.register(scope, namespace, [nodeID])
        else { return false }
        return register.value == nil
    }

    /// The other members, in the order of their ids.
    package static func others(
        than nodeID: Bytes,
        in reader: ReadTransaction
    ) throws(EngineError) -> [Member] {
        try all(in: reader).filter { !$0.isRemoved && $0.nodeID != nodeID }
    }

    /// All present and former members, in the order of their ids.
    package static func all(in reader: ReadTransaction) throws(EngineError) -> [Member] {
        try reader.members().map { nodeID, row in
            let endpoint = String(decoding: row.value ?? [], as: UTF8.self)
            return Member(
                nodeID: nodeID,
                endpoint: Endpoint.split(endpoint) == nil ? "" : endpoint,
                isRemoved: row.value == nil,
                time: row.stamp.time.milliseconds
            )
        }
    }
}

/// Takes a node off the list of members.
package struct RemoveMember: ClusterChange {
    private let nodeID: Bytes

    package init(_ nodeID: Bytes) {
        self.nodeID = nodeID
    }

    package func keeps(_ existed: Bool) -> Bool { existed }

    /// Takes the node off; the outcome is whether it was on the list.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bool, ServiceError> {
        .success(try Members.remove(nodeID, in: &transaction))
    }
}
