// The members of a cluster, as operators see them.
//
// `operator.proto`.

import CCumulusWire
package import CumulusModel

/// A node that belongs to the cluster, or did.
package struct WireMember: Hashable, Sendable {
    /// How far it said that it has read a scope, compared with the node that answers.
    package struct Report: Hashable, Sendable {
        /// Empty: the cluster's own.
        package var container: String
        package var environment: UInt32
        /// Commits that it lacked.
        package var missing: UInt64
        /// When it said so, in milliseconds since 1970 UTC; 0: it never did.
        package var reported: Int64
        /// `Agreement`: 0 not compared, 1 the same, 2 different.
        package var agreement: UInt32
        /// When the oldest of them was made, in milliseconds since 1970 UTC; 0: not known.
        package var oldestMissing: Int64
        /// How far it had read; without what follows from the rest of it.
        package var vector: VersionVector

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
    }

    package var nodeID: Bytes
    package var endpoint: String
    package var isRemoved: Bool
    /// It is the node that answers.
    package var isThis: Bool
    package var reports: [Report]
    /// Milliseconds by which its clock was ahead of ours when it was heard last.
    package var clockOffset: Int64
    /// Milliseconds since 1970 UTC; 0: not since this run began.
    package var heard: Int64
    /// With the node that answers, now.
    package var isConnected: Bool
    /// Where another process listens that has its id, and was refused lately; empty: none was.
    package var twin: String
    /// What the log of the node that answers holds for it: bytes of disk, about.
    package var logBytes: UInt64
    /// About when it will have to take state, in milliseconds since 1970 UTC; 0: it lacks nothing.
    package var stateAfter: Int64

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

    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: nodeID)
        writer.field(2, text: endpoint)
        writer.field(3, varint: isRemoved ? 1 : 0)
        writer.field(4, varint: isThis ? 1 : 0)
        for report in reports {
            writer.message(5) { writer in
                writer.field(1, text: report.container)
                writer.field(2, varint: UInt64(report.environment))
                writer.field(3, varint: report.missing)
                writer.field(4, signed: report.reported)
                writer.field(5, varint: UInt64(report.agreement))
                writer.field(6, signed: report.oldestMissing)
                writer.vector(7, report.vector)
            }
        }
        writer.field(6, signed: clockOffset)
        writer.field(7, signed: heard)
        writer.field(8, varint: isConnected ? 1 : 0)
        writer.field(9, text: twin)
        writer.field(10, varint: logBytes)
        writer.field(11, signed: stateAfter)
    }

    fileprivate init(wire raw: Cumulus__V1__Member) {
        nodeID = raw.node_id.swiftBytes
        endpoint = raw.endpoint.swiftText
        isRemoved = raw.is_removed != 0
        isThis = raw.is_this != 0
        reports = elements(raw.n_reports, raw.reports).map { raw in
            Report(
                container: raw.container.swiftText,
                environment: UInt32(raw.environment.rawValue),
                missing: raw.missing,
                reported: raw.reported,
                agreement: UInt32(raw.agreement.rawValue),
                oldestMissing: raw.oldest_missing,
                vector: VersionVector(wire: elements(raw.n_vector, raw.vector))
            )
        }
        clockOffset = raw.clock_offset
        heard = raw.heard
        isConnected = raw.is_connected != 0
        twin = raw.twin.swiftText
        logBytes = raw.log_bytes
        stateAfter = raw.state_after
    }
}

extension OperatorMessages {
    /// `ListMembersResponse`.
    package static func members(_ members: ArraySlice<WireMember>) -> Bytes {
        var writer = CanonicalWriter()
        for member in members { writer.message(1) { member.encode(to: &$0) } }
        return writer.bytes
    }

    package static func members(wire bytes: Bytes) throws(MalformedMessage) -> [WireMember] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_members_response__unpack)
        return elements(message.raw.n_members, message.raw.members).map(WireMember.init(wire:))
    }

    /// The directory that a `BackUpRequest` names.
    package static func backUpPath(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__back_up_request__unpack)
        return message.raw.path.swiftBytes
    }

    /// `BackUpResponse`.
    package static func backUp(bytes: UInt64, files: UInt32) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: bytes)
        writer.field(2, varint: UInt64(files))
        return writer.bytes
    }

    package static func backUp(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> (bytes: UInt64, files: UInt32) {
        let message = try CMessage(answer: bytes, cumulus__v1__back_up_response__unpack)
        return (message.raw.bytes, message.raw.files)
    }

    /// The node that a `RemoveMemberRequest` names.
    package static func removedMember(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__remove_member_request__unpack)
        return message.raw.node_id.swiftBytes
    }

    /// `RemoveMemberResponse`.
    package static func member(existed: Bool) -> Bytes {
        container(existed: existed)
    }

    package static func memberExisted(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__remove_member_response__unpack)
        return message.raw.existed != 0
    }
}
