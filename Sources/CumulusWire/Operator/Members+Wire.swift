// The members of a cluster, as operators see them.
//
// `operator.proto`.

package import CumulusModel

/// `Member`: a node that belongs to the cluster, or did.
package struct WireMember: Coded, Hashable {
    /// `MemberReport`: how far it said that it has read a scope, compared with the node that
    /// answers.
    package struct Report: Coded, Hashable {
        /// Empty: the cluster's own.
        package var container = ""
        package var environment: UInt32 = 0
        /// Commits that it lacked.
        package var missing: UInt64 = 0
        /// When it said so, in milliseconds since 1970 UTC; 0: it never did.
        package var reported: Int64 = 0
        /// `Agreement`: 0 not compared, 1 the same, 2 different.
        package var agreement: UInt32 = 0
        /// When the oldest of them was made, in milliseconds since 1970 UTC; 0: not known.
        package var oldestMissing: Int64 = 0
        /// How far it had read; without what follows from the rest of it.
        package var vector = VersionVector()

        package init() {}

        package init(
            container: String,
            environment: UInt32,
            missing: UInt64,
            reported: Int64,
            agreement: UInt32 = 0,
            oldestMissing: Int64 = 0,
            vector: VersionVector = VersionVector()
        ) {
            self.container = container
            self.environment = environment
            self.missing = missing
            self.reported = reported
            self.agreement = agreement
            self.oldestMissing = oldestMissing
            self.vector = vector
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &container)
            try coder.number(2, &environment)
            try coder.number(3, &missing)
            try coder.signed(4, &reported)
            try coder.number(5, &agreement)
            try coder.signed(6, &oldestMissing)
            try coder.vector(7, &vector)
        }
    }

    package var nodeID: Bytes = []
    package var endpoint = ""
    package var isRemoved = false
    /// It is the node that answers.
    package var isThis = false
    package var reports: [Report] = []
    /// Milliseconds by which its clock was ahead of ours when it was heard last.
    package var clockOffset: Int64 = 0
    /// Milliseconds since 1970 UTC; 0: not since this run began.
    package var heard: Int64 = 0
    /// With the node that answers, now.
    package var isConnected = false
    /// Where another process listens that has its id, and was refused lately; empty: none was.
    package var twin = ""
    /// What the log of the node that answers holds for it: bytes of disk, about.
    package var logBytes: UInt64 = 0
    /// About when it will have to take state, in milliseconds since 1970 UTC; 0: it lacks nothing.
    package var stateAfter: Int64 = 0

    package init() {}

    package init(
        nodeID: Bytes,
        endpoint: String,
        isRemoved: Bool,
        isThis: Bool,
        reports: [Report],
        clockOffset: Int64 = 0,
        heard: Int64 = 0,
        isConnected: Bool = false,
        twin: String = "",
        logBytes: UInt64 = 0,
        stateAfter: Int64 = 0
    ) {
        self.nodeID = nodeID
        self.endpoint = endpoint
        self.isRemoved = isRemoved
        self.isThis = isThis
        self.reports = reports
        self.clockOffset = clockOffset
        self.heard = heard
        self.isConnected = isConnected
        self.twin = twin
        self.logBytes = logBytes
        self.stateAfter = stateAfter
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &nodeID)
        try coder.text(2, &endpoint)
        try coder.flag(3, &isRemoved)
        try coder.flag(4, &isThis)
        try coder.list(5, &reports)
        try coder.signed(6, &clockOffset)
        try coder.signed(7, &heard)
        try coder.flag(8, &isConnected)
        try coder.text(9, &twin)
        try coder.number(10, &logBytes)
        try coder.signed(11, &stateAfter)
    }
}

package typealias ListMembersResponse = MessageList<WireMember>

/// The node's id.
package typealias RemoveMemberRequest = BytesRequest
/// Whether it existed.
package typealias RemoveMemberResponse = FlagMessage

/// The directory.
package typealias BackUpRequest = BytesRequest

package struct BackUpResponse: WireMessage, Hashable {
    package var bytes: UInt64 = 0
    package var files: UInt32 = 0

    package init() {}

    package init(bytes: UInt64, files: UInt32) {
        self.bytes = bytes
        self.files = files
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &bytes)
        try coder.number(2, &files)
    }
}
