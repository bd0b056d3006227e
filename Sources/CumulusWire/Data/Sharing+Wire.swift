// What shares say, and the calls on them: metadata, accept, the look-up of participants.
//
// `sharing.proto`, and `ShareParts` of `records.proto`. Requests are read as they came: the node
// judges them.

package import CumulusModel

// MARK: - Parts of a share

/// `ShareParts`: what a share says besides its fields, unchecked.
package struct WireShareParts: Coded, Hashable {
    /// `ShareParticipant`.
    package struct Participant: Coded, Hashable {
        /// Empty: the node makes it of the others.
        package var id: Bytes = []
        /// User record name.
        package var user: Bytes = []
        package var handle: WireHandle?
        /// `ShareParticipant.Role`, or a number that this release doesn't know.
        package var role: UInt32 = 0
        /// `ShareParticipant.Permission`, or a number that this release doesn't know.
        package var permission: UInt32 = 0
        /// `ShareParticipant.AcceptanceStatus`, or a number that this release doesn't know.
        package var status: UInt32 = 0
        /// Milliseconds since 1970 UTC.
        package var added: Int64 = 0
        package var isCaller = false

        package init() {}

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.bytes(1, &id)
            try coder.bytes(2, &user)
            try coder.message(3, &handle)
            try coder.number(4, &role)
            try coder.number(5, &permission)
            try coder.number(6, &status)
            try coder.signed(7, &added)
            try coder.flag(8, &isCaller)
        }
    }

    /// Record name; empty: the zone.
    package var root: Bytes = []
    /// `ShareParticipant.Permission`, or a number that this release doesn't know.
    package var publicPermission: UInt32 = 0
    package var participants: [Participant] = []
    /// User record name; the node sets it, and the next.
    package var owner: Bytes = []
    package var url: Bytes = []

    package init() {}

    /// A share as the node shows it.
    init(_ view: RecordView.Sharing, url: String) {
        self.init(saving: view.details)
        owner = Bytes(view.details.owner.utf8)
        self.url = Bytes(url.utf8)
    }

    /// A share as a save needs it.
    init(saving details: ShareDetails) {
        root = Bytes(details.root.utf8)
        publicPermission = UInt32(details.publicPermission.rawValue)
        participants = details.participants.map { Participant($0) }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &root)
        try coder.number(2, &publicPermission)
        try coder.list(3, &participants)
        try coder.bytes(4, &owner)
        try coder.bytes(5, &url)
    }
}

extension WireShareParts.Participant {
    package init(_ participant: ShareDetails.Participant) {
        id = participant.id
        user = Bytes(participant.user.utf8)
        handle = participant.handle.map { WireHandle(kind: $0.kind, value: Bytes($0.text.utf8)) }
        role = UInt32(participant.role.rawValue)
        permission = UInt32(participant.permission.rawValue)
        status = UInt32(participant.status.rawValue)
        added = participant.added
        isCaller = participant.isCaller
    }
}

// MARK: - For the client

extension ShareDetails {
    init(_ wire: WireShareParts) {
        self.init(
            root: String(decoding: wire.root, as: UTF8.self),
            publicPermission: ShareParticipant.Permission(wire: wire.publicPermission),
            participants: wire.participants.map { Participant($0) },
            owner: String(decoding: wire.owner, as: UTF8.self),
            url: String(decoding: wire.url, as: UTF8.self)
        )
    }
}

extension ShareDetails.Participant {
    fileprivate init(_ wire: WireShareParts.Participant) {
        self.init(
            id: wire.id,
            user: String(decoding: wire.user, as: UTF8.self),
            handle: wire.handle.map {
                Handle(kind: $0.kind, text: String(decoding: $0.value, as: UTF8.self))
            },
            role: ShareParticipant.Role(wire: wire.role),
            permission: ShareParticipant.Permission(wire: wire.permission),
            status: ShareParticipant.AcceptanceStatus(wire: wire.status),
            added: wire.added,
            isCaller: wire.isCaller
        )
    }
}

// What this release does not know allows nothing.

extension ShareParticipant.Permission {
    fileprivate init(wire number: UInt32) {
        self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .none
    }
}

extension ShareParticipant.Role {
    fileprivate init(wire number: UInt32) {
        self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .publicUser
    }
}

extension ShareParticipant.AcceptanceStatus {
    fileprivate init(wire number: UInt32) {
        self = UInt8(exactly: number).flatMap(Self.init(rawValue:)) ?? .unknown
    }
}

// MARK: - Metadata and accept

package struct ShareMetadataRequest: Coded, Hashable {
    package var url: Bytes = []
    package var wantsRootRecord = false
    /// Fields of the root record; nil means all.
    package var keys: [Bytes]?

    package init() {}

    package init(url: Bytes, wantsRootRecord: Bool = false, keys: [Bytes]? = nil) {
        self.url = url
        self.wantsRootRecord = wantsRootRecord
        self.keys = keys
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &url)
        try coder.flag(2, &wantsRootRecord)
        try coder.keys(&keys, flag: 3, list: 4)
    }
}

/// A URL.
package typealias AcceptShareRequest = BytesRequest

/// `ShareMetadata`, the one part of a `ShareMetadataResponse` and of an `AcceptShareResponse`.
package struct ShareMetadataResponse: WireMessage {
    package struct Metadata: Coded {
        package var share: Embedded<WireRecord>?
        /// nil: it was not asked for, or a whole zone is shared.
        package var rootRecord: Embedded<WireRecord>?
        package var role = ShareParticipant.Role.publicUser
        package var permission = ShareParticipant.Permission.none
        package var status = ShareParticipant.AcceptanceStatus.unknown

        package init() {}

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &share)
            try coder.message(2, &rootRecord)
            try coder.kind(3, &role, unknown: .publicUser)
            try coder.kind(4, &permission, unknown: .none)
            try coder.kind(5, &status, unknown: .unknown)
        }
    }

    package var metadata = Metadata()

    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &metadata)
    }
}

/// What a `ShareMetadataResponse` or an `AcceptShareResponse` tells a client.
package struct WireShareMetadata: Sendable {
    package var share: Record
    /// nil: it was not asked for, or a whole zone is shared.
    package var rootRecord: Record?
    package var role: ShareParticipant.Role
    package var permission: ShareParticipant.Permission
    package var status: ShareParticipant.AcceptanceStatus

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let metadata = try ShareMetadataResponse(wire: bytes).metadata
        guard let share = metadata.share?.record else {
            throw MalformedMessage(message: "the answer holds no share")
        }
        self.share = share
        rootRecord = metadata.rootRecord?.record
        role = metadata.role
        permission = metadata.permission
        status = metadata.status
    }
}

// MARK: - Look-up

package struct LookUpParticipantsRequest: Coded, Hashable {
    package var handles: [WireHandle] = []

    package init() {}

    package init(handles: [WireHandle]) {
        self.handles = handles
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &handles)
    }
}

package typealias LookUpParticipantsResponse = MessageList<WireShareParts.Participant>

extension LookUpParticipantsResponse {
    package var participants: [ShareDetails.Participant] {
        elements.map { ShareDetails.Participant($0) }
    }
}

// MARK: - For operators

/// The user's name.
package typealias ListSharesRequest = BytesRequest

/// Has the form of a `ListRecordsResponse`.
package typealias ListSharesResponse = ListRecordsResponse

extension ListSharesResponse {
    package var shares: [Record] {
        get throws(MalformedMessage) {
            let shares = elements.compactMap(\.record).filter { $0.shareDetails != nil }
            guard shares.count == elements.count else {
                throw MalformedMessage(message: "the answer holds what is no share")
            }
            return shares
        }
    }
}

package struct StopShareRequest: Coded, Hashable {
    /// Name of the owner.
    package var user: Bytes = []
    package var zone: Bytes = []
    /// Name of the share's record.
    package var share: Bytes = []

    package init() {}

    package init(user: Bytes, zone: Bytes, share: Bytes) {
        self.user = user
        self.zone = zone
        self.share = share
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &user)
        try coder.bytes(2, &zone)
        try coder.bytes(3, &share)
    }
}

/// Whether it existed.
package typealias StopShareResponse = FlagMessage
