// The calls on records: fetch, modify, list.
//
// `records.proto`, and `node.proto` where the node leaves fields as bytes. Requests are decoded as
// they came, names unchecked: the session judges them. hot: once per call.
//
// Folder: the messages of clients: records, zones, queries, changes, assets. Read `Records+Wire`,
// then the family that you need, such as `Queries+Wire`.

import CCumulusWire
package import CumulusModel

// MARK: - Fetch

package struct FetchRecordsRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    package var ids: [WireRecordID]
    /// nil means all fields.
    package var keys: [Bytes]?

    package init(database: DatabaseScope, ids: [WireRecordID], keys: [Bytes]? = nil) {
        self.database = UInt32(database.rawValue)
        self.ids = ids
        self.keys = keys
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 64)
        writer.field(1, varint: UInt64(database))
        for id in ids { id.encode(2, to: &writer) }
        writer.keys(keys, flag: 3, list: 4)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__fetch_records_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        ids = elements(raw.n_ids, raw.ids).map(WireRecordID.init(wire:))
        keys = raw.only_keys == 0 ? nil : elements(raw.n_keys, raw.keys).map(\.swiftBytes)
    }
}

/// The record or the error of one item.
package typealias RecordResult = Result<Record, ServiceError>

extension CanonicalWriter {
    /// One element of `results` or `saves`: `RecordResult` holding an encoded `Record`.
    package mutating func result(_ field: Int, record: Bytes) {
        message(field) { $0.present(1, bytes: record) }
    }

    /// One element of `results` or `saves`: `RecordResult` or `ZoneResult` holding an encoded
    /// `Status`.
    package mutating func result(_ field: Int, status: Bytes) {
        message(field) { $0.present(2, bytes: status) }
    }

    /// One element of `deletes`: `DeleteResult`, without a `Status` if all went well.
    package mutating func result(_ field: Int, deleted status: Bytes?) {
        message(field) { writer in
            if let status { writer.present(1, bytes: status) }
        }
    }

    /// Wanted fields: a flag that there is a choice, and their names.
    mutating func keys(_ keys: [Bytes]?, flag: Int, list: Int) {
        guard let keys else { return }
        field(flag, varint: 1)
        for key in keys { present(list, bytes: key) }
    }
}

package enum FetchRecordsResponse {
    package static func results(wire bytes: Bytes) throws(MalformedMessage) -> [RecordResult] {
        let message = try CMessage(answer: bytes, cumulus__v1__fetch_records_response__unpack)
        return elements(message.raw.n_results, message.raw.results).map(recordResult)
    }
}

private func recordResult(_ raw: Cumulus__V1__RecordResult) -> RecordResult {
    if raw.result_case == CUMULUS__V1__RECORD_RESULT__RESULT_RECORD, let wire = raw.record,
        let record = Record(wire: wire.pointee)
    {
        return .success(record)
    }
    if raw.result_case == CUMULUS__V1__RECORD_RESULT__RESULT_ERROR, let error = raw.error {
        return .failure(ServiceError(wire: error.pointee))
    }
    return .failure(ServiceError(.internalError, "the server's answer holds an empty result"))
}

// MARK: - Modify

package enum ModifyRecordsRequest {
    /// The client's form.
    ///
    /// `saves` are encoded `SaveRecord`s. `deleteTags` is empty, or has one per deletion, of which
    /// an empty one asks for nothing.
    package static func encoded(
        database: DatabaseScope,
        policy: UInt32,
        isAtomic: Bool,
        saves: [Bytes],
        deletes: [WireRecordID],
        deleteTags: [Bytes] = []
    ) -> Bytes {
        var writer = CanonicalWriter(reserving: 64 + saves.reduce(0) { $0 + $1.count + 4 })
        writer.field(1, varint: UInt64(database.rawValue))
        writer.field(2, varint: UInt64(policy))
        writer.field(3, varint: isAtomic ? 0 : 1)
        for save in saves { writer.present(4, bytes: save) }
        for id in deletes { id.encode(5, to: &writer) }
        for tag in deleteTags { writer.present(6, bytes: tag) }
        return writer.bytes
    }
}

/// The node's form of a modify request.
package struct NodeModifyRecordsRequest: Hashable, Sendable {
    package struct Save: Hashable, Sendable {
        package var id: WireRecordID
        package var type: Bytes
        package var changeTag: Bytes
        /// nil means unchanged; empty: removed.
        package var parent: Bytes?
        /// Encoded `Field`s.
        package var fields: [Bytes]
        package var increments: [(field: Bytes, delta: Int64)]
        /// nil: not a share, or its parts stay as they are.
        package var share: WireShareParts?

        package static func == (left: Save, right: Save) -> Bool {
            left.id == right.id && left.type == right.type && left.changeTag == right.changeTag
                && left.parent == right.parent && left.fields == right.fields
                && left.increments.elementsEqual(right.increments, by: ==)
                && left.share == right.share
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(id)
        }
    }

    package var database: UInt32
    package var policy: UInt32
    package var isAtomic: Bool
    package var saves: [Save]
    package var deletes: [WireRecordID]
    /// None, or as many as there are deletions; an empty one asks for nothing.
    package var deleteTags: [Bytes]

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__node_modify_records_request__unpack)
        let raw = message.raw
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
        let record = raw.record?.pointee
        id = record?.id.map { WireRecordID(wire: $0.pointee) } ?? WireRecordID(name: [], zone: nil)
        type = record?.type.swiftBytes ?? []
        changeTag = record?.change_tag.swiftBytes ?? []
        parent = record?.parent?.pointee.record_name.swiftBytes
        fields = record.map { elements($0.n_fields, $0.fields).map(\.swiftBytes) } ?? []
        increments = elements(raw.n_increments, raw.increments).map {
            ($0.field.swiftBytes, $0.delta)
        }
        share = record?.share_parts.map { WireShareParts(wire: $0.pointee) }
    }
}

/// Results in the order of the request.
package struct ModifyRecordsResponse: Sendable {
    package var saves: [RecordResult]
    /// nil means deleted, or not there.
    package var deletes: [ServiceError?]

    package init(saves: [RecordResult], deletes: [ServiceError?]) {
        self.saves = saves
        self.deletes = deletes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__modify_records_response__unpack)
        let raw = message.raw
        saves = elements(raw.n_saves, raw.saves).map(recordResult)
        deletes = elements(raw.n_deletes, raw.deletes).map { result in
            result.error.map { ServiceError(wire: $0.pointee) }
        }
    }
}

// MARK: - List

package struct ListRecordsRequest: Hashable, Sendable {
    package var database: UInt32
    /// nil means the default zone.
    package var zone: WireZoneID?
    /// nil means all fields.
    package var keys: [Bytes]?

    package init(database: DatabaseScope, zone: WireZoneID?, keys: [Bytes]? = nil) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
        self.keys = keys
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 64)
        writer.field(1, varint: UInt64(database))
        zone?.encode(2, to: &writer)
        writer.keys(keys, flag: 3, list: 4)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__list_records_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
        keys = raw.only_keys == 0 ? nil : elements(raw.n_keys, raw.keys).map(\.swiftBytes)
    }
}

package enum ListRecordsResponse {
    package static func records(wire bytes: Bytes) throws(MalformedMessage) -> [Record] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_records_response__unpack)
        return elements(message.raw.n_records, message.raw.records).compactMap(Record.init(wire:))
    }
}
