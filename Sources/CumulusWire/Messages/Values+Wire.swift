// Field values, identifiers and records between Swift and the wire.
//
// `records.proto`. The client encodes what it saves and decodes what it fetched; the node encodes
// `RecordView`s, whose fields are copied as they are stored. hot: once per record on either side.

import CCumulusWire
package import CumulusModel

// MARK: - Identifiers

/// A zone as a caller names it; not yet checked.
package struct WireZoneID: Hashable, Sendable {
    package var name: Bytes
    /// Empty: the caller.
    package var owner: Bytes

    package init(name: Bytes, owner: Bytes) {
        self.name = name
        self.owner = owner
    }

    package init(_ id: RecordZone.ID) {
        name = Bytes(id.zoneName.utf8)
        owner = id.ownerName == Names.currentUser ? [] : Bytes(id.ownerName.utf8)
    }

    package func encode(_ field: Int, to writer: inout CanonicalWriter) {
        writer.message(field) { writer in
            writer.field(1, bytes: name)
            writer.field(2, bytes: owner)
        }
    }

    init(wire raw: Cumulus__V1__ZoneID) {
        name = raw.name.swiftBytes
        owner = raw.owner.swiftBytes
    }

    /// The client's form.
    ///
    /// An owner that is left out is the current user.
    package var id: RecordZone.ID {
        RecordZone.ID(
            zoneName: String(decoding: name, as: UTF8.self),
            ownerName: owner.isEmpty ? Names.currentUser : String(decoding: owner, as: UTF8.self)
        )
    }
}

/// A record as a caller names it; not yet checked.
package struct WireRecordID: Hashable, Sendable {
    package var name: Bytes
    /// nil means the default zone.
    package var zone: WireZoneID?

    package init(name: Bytes, zone: WireZoneID?) {
        self.name = name
        self.zone = zone
    }

    package init(_ id: Record.ID) {
        name = Bytes(id.recordName.utf8)
        zone = id.zoneID == .default ? nil : WireZoneID(id.zoneID)
    }

    package func encode(_ field: Int, to writer: inout CanonicalWriter) {
        writer.message(field) { writer in
            writer.field(1, bytes: name)
            zone?.encode(2, to: &writer)
        }
    }

    init(wire raw: Cumulus__V1__RecordID) {
        name = raw.name.swiftBytes
        zone = raw.zone.map { WireZoneID(wire: $0.pointee) }
    }

    package var id: Record.ID {
        Record.ID(
            recordName: String(decoding: name, as: UTF8.self),
            zoneID: zone?.id ?? .default
        )
    }
}

// MARK: - Records, from the node

extension RecordView {
    /// The bytes of a `Record`.
    ///
    /// - Parameter url: The URL of the share, if the record is a share's.
    package func encoded(as id: WireRecordID, url: String = "") -> Bytes {
        var writer = CanonicalWriter(reserving: fields.count + 192)
        id.encode(1, to: &writer)
        writer.field(2, text: type)
        writer.field(3, bytes: changeTag)
        writer.field(4, signed: created)
        writer.field(5, text: createdBy)
        writer.field(6, signed: modified)
        writer.field(7, text: modifiedBy)
        if let parent { writer.message(8) { $0.field(1, text: parent) } }
        if let share { writer.field(9, text: share) }
        writer.raw(fields)
        if let sharing { writer.message(11) { sharing.encode(url: url, to: &$0) } }
        return writer.bytes
    }
}

// MARK: - Records, for the client

extension Record {
    /// A record as the node shows it to a caller in its own process.
    ///
    /// - Parameter url: The URL of the share, if the record is a share's.
    package init(_ view: RecordView, id: WireRecordID, url: String) throws(MalformedMessage) {
        let message = try CMessage(
            answer: view.encoded(as: id, url: url),
            cumulus__v1__record__unpack
        )
        guard let record = Record(wire: message.raw) else {
            throw MalformedMessage(message: "a record has no id")
        }
        self = record
    }

    /// nil if it has no id.
    init?(wire raw: Cumulus__V1__Record) {
        guard let id = raw.id else { return nil }
        self.init(recordType: raw.type.swiftText, recordID: WireRecordID(wire: id.pointee).id)
        recordChangeTag = raw.change_tag.len == 0 ? nil : raw.change_tag.swiftBytes.hex
        // Where the caller may not read the record, neither is told.
        let isTold = raw.created != 0 || raw.created_by.len > 0
        creationDate = isTold ? Timestamp(millisecondsSince1970: raw.created) : nil
        creatorUserRecordName = raw.created_by.len == 0 ? nil : raw.created_by.swiftText
        modificationDate = Timestamp(millisecondsSince1970: raw.modified)
        lastModifiedUserRecordName = raw.modified_by.len == 0 ? nil : raw.modified_by.swiftText
        if let parent = raw.parent {
            receive(parent: Reference(recordName: parent.pointee.record_name.swiftText))
        }
        if raw.share.len > 0 { share = Reference(recordName: raw.share.swiftText) }
        shareDetails = raw.share_parts.map { ShareDetails(wire: $0.pointee) }
        reserveCapacity(raw.n_fields)
        for field in elements(raw.n_fields, raw.fields) {
            if let sealed = SealedValue(wire: field) {
                receive(encrypted: .sealed(sealed), for: field.name.swiftText)
            } else {
                receive(FieldValue(wire: field), for: field.name.swiftText)
            }
        }
    }

    /// The bytes of a `SaveRecord`: what changed, or with `allKeys` all that is here.
    ///
    /// Encrypted values are sealed by then.
    package func encodedSave(allKeys: Bool) -> Bytes {
        var record = CanonicalWriter(reserving: 512)
        WireRecordID(recordID).encode(1, to: &record)
        record.field(2, text: recordType)
        record.field(3, bytes: recordChangeTag.flatMap { Bytes(hex: $0) } ?? [])
        if let parent = changedParent {
            record.message(8) { $0.field(1, text: parent?.recordName ?? "") }
        }
        let sealed = encryptedValues.values
        var keys = changedKeys()
        if allKeys { keys = Set(keys).union(self.allKeys()).union(sealed.keys).sorted() }
        // What was set and then incremented is sent as both: the node refuses it and says why.
        for key in keys where increments[key] == nil || changedKeys().contains(key) {
            record.message(10) { writer in
                writer.field(1, text: key)
                switch sealed[key] {
                case .sealed(let value): value.encode(to: &writer)
                case .open: preconditionFailure("an open value would leave the client")
                case nil: self[key]?.encode(to: &writer)
                }
            }
        }
        if let shareDetails { record.message(11) { shareDetails.encode(to: &$0) } }
        var save = CanonicalWriter(reserving: record.bytes.count + 16)
        save.present(1, bytes: record.bytes)
        for (field, delta) in increments.sorted(by: { $0.key < $1.key }) {
            save.message(2) { writer in
                writer.field(1, text: field)
                writer.field(2, signed: delta)
            }
        }
        return save.bytes
    }

    /// This record after a save, given the node's answer.
    package func saved(as answer: Record) -> Record {
        var saved = self
        saved.recordChangeTag = answer.recordChangeTag
        saved.creationDate = answer.creationDate
        saved.creatorUserRecordName = answer.creatorUserRecordName
        saved.modificationDate = answer.modificationDate
        saved.lastModifiedUserRecordName = answer.lastModifiedUserRecordName
        for key in answer.allKeys() { saved.receive(answer[key], for: key) }
        saved.markSaved()
        return saved
    }
}

// MARK: - Values

extension SealedValue {
    /// Writes the value as a member of `Field`.
    package func encode(to writer: inout CanonicalWriter) {
        writer.message(11) { writer in
            writer.field(1, varint: UInt64(kind?.rawValue ?? 0))
            writer.field(2, varint: isList ? 1 : 0)
            writer.field(3, bytes: bytes)
        }
    }

    /// nil for a field that is not encrypted.
    fileprivate init?(wire raw: Cumulus__V1__Field) {
        guard raw.value_case == CUMULUS__V1__FIELD__VALUE_ENCRYPTED, let value = raw.encrypted
        else { return nil }
        self.init(
            kind: FieldKind(number: Int(value.pointee.kind)),
            isList: value.pointee.is_list != 0,
            bytes: value.pointee.sealed.swiftBytes
        )
    }
}

extension FieldValue {
    private static func number(_ kind: FieldKind) -> Int { Int(kind.rawValue) }

    /// The value that was written as a member of `Field`; nil if that can't be read.
    package init?(encoded bytes: Bytes) {
        guard let field = try? CMessage(answer: bytes, cumulus__v1__field__unpack) else {
            return nil
        }
        self.init(wire: field.raw)
    }

    /// Writes the value as a member of `Field`.
    package func encode(to writer: inout CanonicalWriter) {
        switch self {
        case .list(let elements):
            writer.message(10) { writer in
                for run in FieldValue.runs(elements) { FieldValue.encode(run, to: &writer) }
            }
        default: encodeElement(to: &writer)
        }
    }

    /// One value, or one unpacked element of a list.
    private func encodeElement(to writer: inout CanonicalWriter) {
        switch self {
        case .string(let value): writer.present(Self.number(.string), bytes: value.utf8)
        case .int64(let value): writer.present(Self.number(.int64), signed: value)
        case .double(let value): writer.present(Self.number(.double), double: value)
        case .timestamp(let value):
            writer.present(Self.number(.timestamp), signed: value.millisecondsSince1970)
        case .bytes(let value): writer.present(Self.number(.bytes), bytes: value)
        case .location(let value): writer.message(Self.number(.location)) { value.encode(to: &$0) }
        case .reference(let value):
            writer.message(Self.number(.reference)) { writer in
                writer.field(1, text: value.recordName)
                writer.field(2, varint: UInt64(value.action.rawValue))
            }
        case .asset(let value):
            writer.message(Self.number(.asset)) { writer in
                writer.field(1, bytes: value.digest)
                writer.field(2, varint: value.size)
            }
        // A list within a list is an unknown kind to the node, which refuses it.
        case .list: writer.message(10) { _ in }
        }
    }

    /// Neighbours of one kind.
    ///
    /// A list that the server accepts is one run.
    private static func runs(_ elements: [FieldValue]) -> [ArraySlice<FieldValue>] {
        var runs: [ArraySlice<FieldValue>] = []
        var start = 0
        for index in elements.indices.dropFirst()
        where !elements[index].isSameKind(as: elements[start]) {
            runs.append(elements[start..<index])
            start = index
        }
        if start < elements.count { runs.append(elements[start...]) }
        return runs
    }

    private func isSameKind(as other: FieldValue) -> Bool {
        switch (self, other) {
        case (.string, .string), (.int64, .int64), (.double, .double), (.timestamp, .timestamp),
            (.bytes, .bytes), (.location, .location), (.reference, .reference), (.asset, .asset),
            (.list, .list):
            true
        default: false
        }
    }

    /// Numbers are packed, as proto3 wants it.
    private static func encode(_ run: ArraySlice<FieldValue>, to writer: inout CanonicalWriter) {
        var packed = CanonicalWriter()
        var kind: FieldKind?
        for element in run {
            switch element {
            case .int64(let value):
                kind = .int64
                packed.varint(zigzag(value))
            case .timestamp(let value):
                kind = .timestamp
                packed.varint(zigzag(value.millisecondsSince1970))
            case .double(let value):
                kind = .double
                packed.fixed64(value.bitPattern)
            default: element.encodeElement(to: &writer)
            }
        }
        if let kind { writer.present(number(kind), bytes: packed.bytes) }
    }

    /// nil for a field without a value, or with one of a kind that this release doesn't know.
    init?(wire raw: Cumulus__V1__Field) {
        switch raw.value_case {
        case CUMULUS__V1__FIELD__VALUE_STRING: self = .string(raw.string.swiftText)
        case CUMULUS__V1__FIELD__VALUE_INT64: self = .int64(raw.int64)
        case CUMULUS__V1__FIELD__VALUE_DOUBLE: self = .double(raw.double_)
        case CUMULUS__V1__FIELD__VALUE_TIMESTAMP:
            self = .timestamp(Timestamp(millisecondsSince1970: raw.timestamp))
        case CUMULUS__V1__FIELD__VALUE_BYTES: self = .bytes(raw.bytes.swiftBytes)
        case CUMULUS__V1__FIELD__VALUE_LOCATION:
            guard let location = raw.location else { return nil }
            self = .location(Location(wire: location.pointee))
        case CUMULUS__V1__FIELD__VALUE_REFERENCE:
            guard let reference = raw.reference else { return nil }
            self = .reference(Record.Reference(wire: reference.pointee))
        case CUMULUS__V1__FIELD__VALUE_ASSET:
            guard let asset = raw.asset else { return nil }
            self = .asset(Asset(wire: asset.pointee))
        case CUMULUS__V1__FIELD__VALUE_LIST:
            guard let list = raw.list else { return nil }
            self = .list(FieldValue.elements(of: list.pointee))
        default: return nil
        }
    }

    private static func elements(of raw: Cumulus__V1__List) -> [FieldValue] {
        var values: [FieldValue] = []
        values += CumulusWire.elements(raw.n_string, raw.string).map { .string($0.swiftText) }
        values += CumulusWire.elements(raw.n_int64, raw.int64).map { .int64($0) }
        values += CumulusWire.elements(raw.n_double_, raw.double_).map { .double($0) }
        values += CumulusWire.elements(raw.n_timestamp, raw.timestamp).map {
            .timestamp(Timestamp(millisecondsSince1970: $0))
        }
        values += CumulusWire.elements(raw.n_bytes, raw.bytes).map { .bytes($0.swiftBytes) }
        values += CumulusWire.elements(raw.n_location, raw.location).map {
            .location(Location(wire: $0))
        }
        values += CumulusWire.elements(raw.n_reference, raw.reference).map {
            .reference(Record.Reference(wire: $0))
        }
        values += CumulusWire.elements(raw.n_asset, raw.asset).map { .asset(Asset(wire: $0)) }
        return values
    }
}

extension Location {
    func encode(to writer: inout CanonicalWriter) {
        if latitude != 0 { writer.present(1, double: latitude) }
        if longitude != 0 { writer.present(2, double: longitude) }
        if let altitude { writer.present(3, double: altitude) }
        if let horizontalAccuracy { writer.present(4, double: horizontalAccuracy) }
        if let verticalAccuracy { writer.present(5, double: verticalAccuracy) }
        if let course { writer.present(6, double: course) }
        if let speed { writer.present(7, double: speed) }
        if let timestamp { writer.present(8, signed: timestamp.millisecondsSince1970) }
    }

    init(wire raw: Cumulus__V1__Location) {
        self.init(latitude: raw.latitude, longitude: raw.longitude)
        if raw.has_altitude_case.rawValue != 0 { altitude = raw.altitude }
        if raw.has_horizontal_accuracy_case.rawValue != 0 {
            horizontalAccuracy = raw.horizontal_accuracy
        }
        if raw.has_vertical_accuracy_case.rawValue != 0 { verticalAccuracy = raw.vertical_accuracy }
        if raw.has_course_case.rawValue != 0 { course = raw.course }
        if raw.has_speed_case.rawValue != 0 { speed = raw.speed }
        if raw.has_timestamp_case.rawValue != 0 {
            timestamp = Timestamp(millisecondsSince1970: raw.timestamp)
        }
    }
}

extension Record.Reference {
    fileprivate init(wire raw: Cumulus__V1__Reference) {
        let action = UInt8(exactly: raw.action.rawValue).flatMap(Action.init(rawValue:)) ?? .none
        self.init(recordName: raw.record_name.swiftText, action: action)
    }
}

extension Asset {
    fileprivate init(wire raw: Cumulus__V1__Asset) {
        self.init(digest: raw.digest.swiftBytes, size: raw.size)
    }
}
