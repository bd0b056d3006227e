// The heir of a node that was removed from the cluster: the listed member with the lowest id takes
// over its debts.
//
// A node owes deletions around the references that it wrote (`CascadeCompensation`). Two members
// may both act as the heir while the list travels; deleting twice has the same effect as once.

package import CumulusModel

/// The registers of the cluster's scope that list its members: node id → address, or nothing.
package enum MemberRegister {
    package static let namespace = "member"
    /// The features of commits that a member knows, by (node id, feature).
    package static let features = "feature"
    package static let nodeIDBytes = 16
}

extension WriterState {
    /// Whether this node has to pay a run's debts.
    package func owes(for run: Incarnation) -> Bool {
        node.isOurs(run) || (!inherited.isEmpty && inherited.contains(run.nodePrefix))
    }
}

extension RowReader where Self: ~Copyable {
    /// Whether the list of members has nodes besides the given one.
    borrowing func hasMembers(besides nodeID: Bytes) throws(EngineError) -> Bool {
        try members().contains { $0.nodeID != nodeID && $0.row.value != nil }
    }

    /// The registers of all present and former members, ordered by id.
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
    /// Two bytes of the id of the run's node.
    var nodePrefix: UInt64 { value >> 48 }

    static func prefix(of nodeID: Bytes) -> UInt64 {
        nodeID.prefix(2).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
