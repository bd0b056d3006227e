// The members of a cluster: who they are, how far they have read, and how one leaves.

package import CumulusModel
import CumulusWire

extension NodeOperator {
    /// A node that belongs to the cluster, or did.
    package struct Member: Sendable {
        package var nodeID: String
        /// The address at which it listens; empty if it is not known.
        package var endpoint: String
        package var isRemoved: Bool
        /// Whether it is the node that answers.
        package var isThis: Bool
        package var reports: [Report]
        /// Milliseconds by which its clock was ahead when it was heard last.
        package var clockOffset: Int64
        /// The time of its last sign of life; nil if there was none since the answering node was
        /// started.
        package var heard: Timestamp?
        /// Whether it is connected with the node that answers.
        package var isConnected: Bool
        /// The address of another process with its id that was refused lately; empty if none was.
        package var twin: String
        /// Approximate bytes of disk that the answering node's log keeps for it.
        package var logBytes: UInt64
        /// About when the log drops what it lacks, so that it has to take state; nil if it lacks
        /// nothing.
        package var stateAfter: Timestamp?
    }

    /// How far a member has read a scope, by its last report.
    package struct Report: Sendable {
        /// The scope's container; empty for the cluster's own scope.
        package var container: String
        package var environment: String
        /// Commits of the node that answers that the member lacked.
        package var missing: UInt64
        /// When the report came; nil if none came yet.
        package var reported: Timestamp?
        /// Whether it held the same records when it had read as much; nil means never compared.
        package var holdsTheSame: Bool?
        /// When the oldest of the missing commits was made; nil means none, or not known.
        package var oldestMissing: Timestamp?
        /// The commits that it had read of each run: a node has a new one each time it starts.
        package var vector: [String: UInt64]
    }

    package func members() async throws -> [Member] {
        try await list(.operatorListMembers) {
            try ListMembersResponse(wire: $0).elements.map(Member.init)
        }
    }

    /// Takes a node off the cluster's list.
    ///
    /// Returns false if it isn't on it. `nodeID` is in hexadecimal digits.
    package func removeMember(_ nodeID: String) async throws -> Bool {
        try await call(.operatorRemoveMember, name: Bytes(hex: nodeID) ?? []) {
            try RemoveMemberResponse(wire: $0).flag
        }
    }

    /// Lets the node hand over what only it has, and leave the cluster.
    package func leave() async throws {
        try await call(.operatorLeave) { _ in }
    }
}

extension NodeOperator.Member {
    fileprivate init(_ wire: WireMember) {
        nodeID = wire.nodeID.hex
        endpoint = wire.endpoint
        isRemoved = wire.isRemoved
        isThis = wire.isThis
        reports = wire.reports.map { report in
            let environment = Environment(rawValue: UInt8(clamping: report.environment))
            return NodeOperator.Report(
                container: report.container,
                environment: environment?.name ?? "",
                missing: report.missing,
                reported: Timestamp(wire: report.reported),
                holdsTheSame: report.agreement == 0 ? nil : report.agreement == 1,
                oldestMissing: Timestamp(wire: report.oldestMissing),
                vector: report.vector.byRun
            )
        }
        clockOffset = wire.clockOffset
        heard = Timestamp(wire: wire.heard)
        isConnected = wire.isConnected
        twin = wire.twin
        logBytes = wire.logBytes
        stateAfter = Timestamp(wire: wire.stateAfter)
    }
}
