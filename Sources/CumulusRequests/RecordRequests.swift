// Requests on records and zones, and on their changes.
//
// `records.proto`, `node.proto`, `zones.proto` and `changes.proto`. hot: once per call.

import CCumulusWire
package import CumulusModel
package import CumulusWire

// MARK: - Records

extension FetchRecordsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_records_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        ids = elements(raw.n_ids, raw.ids).map(WireRecordID.init(wire:))
        keys = CumulusRequests.keys(raw.only_keys, raw.n_keys, raw.keys)
    }
}

extension NodeModifyRecordsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__node_modify_records_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        policy = UInt32(raw.policy.rawValue)
        isAtomic = raw.non_atomic == 0
        saves = elements(raw.n_saves, raw.saves).map(Save.init(wire:))
        deletes = elements(raw.n_deletes, raw.deletes).map(WireRecordID.init(wire:))
        deleteTags = elements(raw.n_delete_tags, raw.delete_tags).map(\.swiftBytes)
    }
}

extension NodeModifyRecordsRequest.Save {
    fileprivate init(wire raw: Cumulus__V1__NodeSaveRecord) {
        self.init()
        if let raw = raw.record?.pointee { record = NodeModifyRecordsRequest.NodeRecord(wire: raw) }
        increments = elements(raw.n_increments, raw.increments).map {
            WireIncrement(field: $0.field.swiftBytes, delta: $0.delta)
        }
    }
}

extension NodeModifyRecordsRequest.NodeRecord {
    fileprivate init(wire raw: Cumulus__V1__NodeRecord) {
        self.init()
        id = raw.id.map { WireRecordID(wire: $0.pointee) }
        type = raw.type.swiftBytes
        changeTag = raw.change_tag.swiftBytes
        parent = raw.parent.map { BytesMessage($0.pointee.record_name.swiftBytes) }
        fields = elements(raw.n_fields, raw.fields).map(\.swiftBytes)
        share = raw.share_parts.map { WireShareParts(wire: $0.pointee) }
    }
}

extension WireShareParts {
    fileprivate init(wire raw: Cumulus__V1__ShareParts) {
        self.init()
        root = raw.root.swiftBytes
        publicPermission = UInt32(raw.public_permission.rawValue)
        participants = elements(raw.n_participants, raw.participants).map(Participant.init(wire:))
        owner = raw.owner.swiftBytes
        url = raw.url.swiftBytes
    }
}

extension WireShareParts.Participant {
    fileprivate init(wire raw: Cumulus__V1__ShareParticipant) {
        self.init()
        id = raw.id.swiftBytes
        user = raw.user.swiftBytes
        handle = raw.handle.map { WireHandle(wire: $0.pointee) }
        role = UInt32(raw.role.rawValue)
        permission = UInt32(raw.permission.rawValue)
        status = UInt32(raw.status.rawValue)
        added = raw.added
        isCaller = raw.is_caller != 0
    }
}

extension ListRecordsRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_records_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        keys = CumulusRequests.keys(raw.only_keys, raw.n_keys, raw.keys)
        after = raw.after.swiftBytes
    }
}

// MARK: - Zones

extension ListZonesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_zones_request__unpack)
        self.init()
        database = UInt32(message.raw.database.rawValue)
    }
}

extension FetchZonesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_zones_request__unpack)
        self.init()
        database = UInt32(message.raw.database.rawValue)
        ids = elements(message.raw.n_ids, message.raw.ids).map(WireZoneID.init(wire:))
    }
}

extension ModifyZonesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__modify_zones_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        saves = elements(raw.n_saves, raw.saves).map { zone in
            zone.id.map { WireZoneID(wire: $0.pointee) } ?? WireZoneID()
        }
        deletes = elements(raw.n_deletes, raw.deletes).map(WireZoneID.init(wire:))
    }
}

// MARK: - Changes

extension FetchDatabaseChangesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(
            bytes[...],
            cumulus__v1__fetch_database_changes_request__unpack
        )
        self.init()
        database = UInt32(message.raw.database.rawValue)
        token = message.raw.token.swiftBytes
        limit = message.raw.limit
        onlyToken = message.raw.only_token != 0
    }
}

extension FetchZoneChangesRequest {
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_zone_changes_request__unpack)
        let raw = message.raw
        self.init()
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        token = raw.token.swiftBytes
        limit = raw.limit
        keys = CumulusRequests.keys(raw.only_keys, raw.n_keys, raw.keys)
        onlyToken = raw.only_token != 0
    }
}
