// What shares say, and the calls on them: metadata, accept, the look-up of participants.
//
// `sharing.proto`, and `ShareParts` of `records.proto`. Requests are decoded as they came: the node
// judges them.

import CCumulusWire
package import CumulusModel

// MARK: - Parts of a share, from the node

extension ShareView {
    /// Writes a `ShareParts`.
    func encode(url: String, to writer: inout CanonicalWriter) {
        details.encode(to: &writer)
        writer.field(4, text: details.owner)
        writer.field(5, text: url)
    }
}

// MARK: - Parts of a share, for the client

extension ShareDetails {
    init(wire raw: Cumulus__V1__ShareParts) {
        self.init(
            root: raw.root.swiftText,
            publicPermission: ShareParticipant.Permission(wire: raw.public_permission.rawValue),
            participants: elements(raw.n_participants, raw.participants)
                .map(Participant.init(wire:)),
            owner: raw.owner.swiftText,
            url: raw.url.swiftText
        )
    }

    /// Writes a `ShareParts`, as a save needs it.
    func encode(to writer: inout CanonicalWriter) {
        writer.field(1, text: root)
        writer.field(2, varint: UInt64(publicPermission.rawValue))
        for participant in participants { writer.message(3) { participant.encode(to: &$0) } }
    }
}

extension ShareDetails.Participant {
    fileprivate init(wire raw: Cumulus__V1__ShareParticipant) {
        self.init(
            id: raw.id.swiftBytes,
            user: raw.user.swiftText,
            handle: raw.handle.map {
                Handle(kind: UInt32($0.pointee.kind.rawValue), text: $0.pointee.value.swiftText)
            },
            role: ShareParticipant.Role(wire: raw.role.rawValue),
            permission: ShareParticipant.Permission(wire: raw.permission.rawValue),
            status: ShareParticipant.AcceptanceStatus(wire: raw.status.rawValue),
            added: raw.added,
            isCaller: raw.is_caller != 0
        )
    }

    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: id)
        writer.field(2, text: user)
        if let handle {
            writer.message(3) { writer in
                writer.field(1, varint: UInt64(handle.kind))
                writer.field(2, text: handle.text)
            }
        }
        writer.field(4, varint: UInt64(role.rawValue))
        writer.field(5, varint: UInt64(permission.rawValue))
        writer.field(6, varint: UInt64(status.rawValue))
        writer.field(7, signed: added)
        writer.field(8, varint: isCaller ? 1 : 0)
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

// MARK: - Parts of a share, to the node

/// What a save says of a share, unchecked.
package struct WireShareParts: Hashable, Sendable {
    package struct Participant: Hashable, Sendable {
        /// Empty: the node makes it of the others.
        package var id: Bytes
        /// User record name.
        package var user: Bytes
        package var handle: WireHandle?
        /// `ShareParticipant.Role`, or a number that this release doesn't know.
        package var role: UInt32
        /// `ShareParticipant.Permission`, or a number that this release doesn't know.
        package var permission: UInt32
    }

    /// Record name; empty: the zone.
    package var root: Bytes
    /// `ShareParticipant.Permission`, or a number that this release doesn't know.
    package var publicPermission: UInt32
    package var participants: [Participant]

    init(wire raw: Cumulus__V1__ShareParts) {
        root = raw.root.swiftBytes
        publicPermission = UInt32(raw.public_permission.rawValue)
        participants = elements(raw.n_participants, raw.participants).map { raw in
            Participant(
                id: raw.id.swiftBytes,
                user: raw.user.swiftBytes,
                handle: raw.handle.map { WireHandle($0.pointee) },
                role: UInt32(raw.role.rawValue),
                permission: UInt32(raw.permission.rawValue)
            )
        }
    }
}

// MARK: - Metadata and accept

package struct ShareMetadataRequest: Hashable, Sendable {
    package var url: Bytes
    package var wantsRootRecord: Bool
    /// Fields of the root record; nil means all.
    package var keys: [Bytes]?

    package init(url: Bytes, wantsRootRecord: Bool = false, keys: [Bytes]? = nil) {
        self.url = url
        self.wantsRootRecord = wantsRootRecord
        self.keys = keys
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: url)
        writer.field(2, varint: wantsRootRecord ? 1 : 0)
        writer.keys(keys, flag: 3, list: 4)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__share_metadata_request__unpack)
        let raw = message.raw
        url = raw.url.swiftBytes
        wantsRootRecord = raw.wants_root_record != 0
        keys = raw.only_keys == 0 ? nil : elements(raw.n_keys, raw.keys).map(\.swiftBytes)
    }
}

package struct AcceptShareRequest: Hashable, Sendable {
    package var url: Bytes

    package init(url: Bytes) {
        self.url = url
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: url)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__accept_share_request__unpack)
        url = message.raw.url.swiftBytes
    }
}

/// The one part of a `ShareMetadataResponse` and of an `AcceptShareResponse`.
package struct WireShareMetadata: Sendable {
    package var share: Record
    /// nil: it was not asked for, or a whole zone is shared.
    package var rootRecord: Record?
    package var role: ShareParticipant.Role
    package var permission: ShareParticipant.Permission
    package var status: ShareParticipant.AcceptanceStatus

    /// - Parameters:
    ///   - share: An encoded `Record`.
    ///   - rootRecord: The same.
    package static func answer(
        share: Bytes,
        rootRecord: Bytes?,
        role: ShareParticipant.Role,
        permission: ShareParticipant.Permission,
        status: ShareParticipant.AcceptanceStatus
    ) -> Bytes {
        var writer = CanonicalWriter(reserving: share.count + (rootRecord?.count ?? 0) + 32)
        writer.message(1) { writer in
            writer.present(1, bytes: share)
            if let rootRecord { writer.present(2, bytes: rootRecord) }
            writer.field(3, varint: UInt64(role.rawValue))
            writer.field(4, varint: UInt64(permission.rawValue))
            writer.field(5, varint: UInt64(status.rawValue))
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__share_metadata_response__unpack)
        guard let raw = message.raw.metadata?.pointee, let share = raw.share,
            let record = Record(wire: share.pointee)
        else { throw MalformedMessage(message: "the answer holds no share") }
        self.share = record
        rootRecord = raw.root_record.flatMap { Record(wire: $0.pointee) }
        role = ShareParticipant.Role(wire: raw.role.rawValue)
        permission = ShareParticipant.Permission(wire: raw.permission.rawValue)
        status = ShareParticipant.AcceptanceStatus(wire: raw.status.rawValue)
    }
}

// MARK: - Look-up

package struct LookUpParticipantsRequest: Hashable, Sendable {
    package var handles: [WireHandle]

    package init(handles: [WireHandle]) {
        self.handles = handles
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        for handle in handles { writer.message(1) { handle.encode(to: &$0) } }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__look_up_participants_request__unpack)
        handles = elements(message.raw.n_handles, message.raw.handles).map { WireHandle($0) }
    }
}

package enum LookUpParticipantsResponse {
    package static func encoded(_ participants: [ShareDetails.Participant]) -> Bytes {
        var writer = CanonicalWriter()
        for participant in participants { writer.message(1) { participant.encode(to: &$0) } }
        return writer.bytes
    }

    package static func participants(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> [ShareDetails.Participant] {
        let message = try CMessage(
            answer: bytes,
            cumulus__v1__look_up_participants_response__unpack
        )
        return elements(message.raw.n_participants, message.raw.participants)
            .map(ShareDetails.Participant.init(wire:))
    }
}

// MARK: - For operators

package struct ListSharesRequest: Hashable, Sendable {
    /// Name.
    package var user: Bytes

    package init(user: Bytes) {
        self.user = user
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_shares_request__unpack)
        user = message.raw.user.swiftBytes
    }
}

package enum ListSharesResponse {
    /// - Parameter shares: Encoded records.
    package static func answer(_ shares: ArraySlice<Bytes>) -> Bytes {
        var writer = CanonicalWriter()
        for share in shares { writer.present(1, bytes: share) }
        return writer.bytes
    }

    package static func shares(wire bytes: Bytes) throws(MalformedMessage) -> [Record] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_shares_response__unpack)
        return try elements(message.raw.n_shares, message.raw.shares).map {
            (raw) throws(MalformedMessage) in
            guard let record = Record(wire: raw), record.shareDetails != nil else {
                throw MalformedMessage(message: "the answer holds what is no share")
            }
            return record
        }
    }
}

package struct StopShareRequest: Hashable, Sendable {
    /// Name of the owner.
    package var user: Bytes
    package var zone: Bytes
    /// Name of the share's record.
    package var share: Bytes

    package init(user: Bytes, zone: Bytes, share: Bytes) {
        self.user = user
        self.zone = zone
        self.share = share
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: user)
        writer.field(2, bytes: zone)
        writer.field(3, bytes: share)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__stop_share_request__unpack)
        user = message.raw.user.swiftBytes
        zone = message.raw.zone.swiftBytes
        share = message.raw.share.swiftBytes
    }
}

package enum StopShareResponse {
    package static func encoded(existed: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package static func existed(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        try CMessage(answer: bytes, cumulus__v1__stop_share_response__unpack).raw.existed != 0
    }
}
