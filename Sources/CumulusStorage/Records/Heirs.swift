// Who takes over what a node owed that was taken off the cluster's list: the listed member with the
// lowest id.
//
// A node owes deletes around the references that it wrote (`CascadeCompensation`). Two members may
// both take themselves for the heir while the list travels: what they owe is deleted twice, which
// is once.

package import CumulusModel

/// The registers of the cluster's scope that list its members: node id → address, or nothing.
package enum MemberRegister {
    package static let namespace = "member"
    /// What a member knows of commits: (node id, feature).
    package static let features = "feature"
    package static let nodeIDBytes = 16
}

extension WriterState {
    /// Whether a run's debts are this node's.
    package func owes(for run: Incarnation) -> Bool {
        node.isOurs(run) || (!inherited.isEmpty && inherited.contains(run.nodePrefix))
    }
}

extension RowReader where Self: ~Copyable {
    /// Whether nodes besides one are on the list of members.
    borrowing func hasMembers(besides nodeID: Bytes) throws(EngineError) -> Bool {
        try members().contains { $0.nodeID != nodeID && $0.row.value != nil }
    }

    /// The registers of all members, and of those that were; in the order of their ids.
    ///
    /// Keys that are not valid node ids are skipped.
    package borrowing func members() throws(EngineError) -> [(nodeID: Bytes, row: RegisterRow)] {
        guard let scope = try scope(.cluster) else { return [] }
        var members: [(Bytes, RegisterRow)] = []
        for (key, value) in try rows(.meta, .registers(scope, MemberRegister.namespace)) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.text()
            let row = try decoding(key) { () throws(MalformedBytes) in
                try RegisterRow(row: value)
            }
            let nodeID = try parts.content()
            if nodeID.count == MemberRegister.nodeIDBytes { members.append((nodeID, row)) }
        }
        return members
    }

    /// Prefixes of the runs of nodes whose heir this node is.
    borrowing func inheritance(of nodeID: Bytes) throws(EngineError) -> Set<UInt64> {
        let members = try members()
        let listed = members.filter { $0.row.value != nil }.map(\.nodeID)
        let removed = members.filter { $0.row.value == nil }.map(\.nodeID)
        let first = listed.min { $0.lexicographicallyPrecedes($1) }
        guard first == nodeID else { return [] }
        let living = Set(listed.map(Incarnation.prefix))
        return Set(removed.map(Incarnation.prefix)).subtracting(living)
    }
}

extension Incarnation {
    /// Two bytes of the id of the node whose run it is.
    var nodePrefix: UInt64 { value >> 48 }

    static func prefix(of nodeID: Bytes) -> UInt64 {
        nodeID.prefix(2).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
