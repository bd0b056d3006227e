// Records as web services write them: what a request says of a record, and records in answers.
//
// A request's fields are kept as they came until the type is known, whose schema says what values
// without a type mean.
//
// Folder: values between JSON and the model. Read `WebRecord` and `WebFieldReader`, then
// `WebQuery`; `WebObject` reads requests, `WebError` tells what is wrong with them.

package import CumulusModel

package struct WebRecord: Sendable {
    /// nil: the server makes one.
    package var name: String?
    package var type: String?
    package var changeTag: String?
    /// Values as they came, with where they stand in the request.
    package var fields: [(key: String, value: JSON, place: String)] = []
    /// nil means the zone of the request.
    package var zoneID: RecordZone.ID?
    /// The parent as it came, with its place; nil leaves the parent as it is, null removes it.
    package var parent: (value: JSON, place: String)?
    /// The details of a share; nil if it is no share.
    package var share: WebShareRequest?

    /// The record dictionary of an operation.
    ///
    /// - Parameter user: The caller's user record name; empty: no user is signed in.
    package init(_ object: WebObject, for user: String) throws(WebError) {
        name = try object.string("recordName")
        type = try object.string("recordType").map { $0 == "cloudKit.share" ? Names.shareType : $0 }
        changeTag = try object.string("recordChangeTag")
        zoneID = try WebZone.id(in: object, for: user)
        parent = object.json["parent"].map { ($0, object.place("parent")) }
        let share = try WebShareRequest(object, for: user)
        if type == Names.shareType || !share.isEmpty { self.share = share }
        guard let fields = try object.object("fields"), case .object(let members) = fields.json
        else { return }
        self.fields = members.map { ($0.key, $0.value, fields.place($0.key)) }
    }

    /// The receipts of files that its fields name.
    var receipts: [String] { fields.flatMap { $0.value.texts(under: "receipt") } }

    /// The record to be saved.
    ///
    /// - Parameters:
    ///   - id: Its name and zone.
    ///   - type: The type of the stored record, or the request's.
    ///   - columns: The fields of the type in the schema.
    package func record(
        _ id: Record.ID,
        type: String,
        columns: [String: FieldType],
        _ reader: WebFieldReader
    ) throws(WebError) -> Record {
        var record = Record(recordType: type, recordID: id)
        for field in fields {
            record[field.key] = try reader.value(
                field.value,
                at: field.place,
                column: columns[field.key]
            )
        }
        if let parent { record.parent = try reader.parent(parent.value, at: parent.place) }
        return record
    }
}

// MARK: - Answers

/// Writes records of one answer.
package struct WebRecordWriter: Sendable {
    package var fields: WebFieldWriter
    /// The fields to show; nil means all.
    package var keys: Set<String>?

    package init(_ fields: WebFieldWriter, keys: [String]? = nil) {
        self.fields = fields
        self.keys = keys.map { Set($0) }
    }

    /// - Parameter columns: The fields of the type in the schema.
    package func json(_ record: Record, columns: [String: FieldType] = [:]) -> JSON {
        let zone = record.recordID.zoneID
        var members = [
            JSON.Member("recordName", .string(record.recordID.recordName)),
            JSON.Member("recordType", .string(record.recordType)),
        ]
        if let tag = record.recordChangeTag {
            members.append(JSON.Member("recordChangeTag", .string(tag)))
        }
        members += [
            JSON.Member("fields", .object(fieldMembers(record, columns))),
            JSON.Member("pluginFields", .object([])),
            JSON.Member("created", moment(record.creationDate, record.creatorUserRecordName)),
            JSON.Member(
                "modified",
                moment(record.modificationDate, record.lastModifiedUserRecordName)
            ),
            JSON.Member("deleted", .bool(false)),
            JSON.Member("zoneID", WebZone.json(zone, user: fields.user)),
        ]
        if let parent = record.parent {
            let name = JSON.string(parent.recordName)
            members.append(JSON.Member("parent", ["recordName": name]))
        }
        if let share = record.share {
            members.append(
                JSON.Member(
                    "share",
                    [
                        "recordName": .string(share.recordName),
                        "zoneID": WebZone.json(zone, user: fields.user),
                    ]
                )
            )
        }
        if let details = record.shareDetails {
            members += WebShare.members(of: details, user: fields.user)
        }
        return .object(members)
    }

    private func fieldMembers(_ record: Record, _ columns: [String: FieldType]) -> [JSON.Member] {
        let zone = record.recordID.zoneID
        func isShown(_ key: String) -> Bool { keys?.contains(key) ?? true }
        var members = record.allKeys().filter(isShown).compactMap { key in
            record[key].map {
                JSON.Member(key, fields.json($0, in: zone, column: columns[key]))
            }
        }
        for (key, value) in record.encryptedValues.values where isShown(key) {
            guard case .sealed(let sealed) = value else { continue }
            members.append(JSON.Member(key, fields.json(sealed)))
        }
        return members.sorted { $0.key < $1.key }
    }

    /// The time and the user of a change; the device is not shown to others.
    /// - Parameter user: nil if the caller is not told.
    private func moment(_ time: Timestamp?, _ user: String?) -> JSON {
        let milliseconds = JSON.integer(time?.millisecondsSince1970 ?? 0)
        guard let user else { return ["timestamp": milliseconds, "deviceID": ""] }
        return [
            "timestamp": milliseconds,
            "userRecordName": .string(WebZone.owner(user, fields.user)), "deviceID": "",
        ]
    }

    /// The entry of a record that was deleted.
    ///
    /// - Parameter zone: Named in feeds of changes.
    package func tombstone(_ name: String, in zone: RecordZone.ID? = nil) -> JSON {
        var members = [
            JSON.Member("recordName", .string(name)), JSON.Member("deleted", .bool(true)),
        ]
        if let zone {
            members.append(JSON.Member("zoneID", WebZone.json(zone, user: fields.user)))
        }
        return .object(members)
    }

    /// The entry of a record that failed.
    package static func entry(_ error: WebError, _ name: String, uuid: String) -> JSON {
        error.entry(JSON.Member("recordName", .string(name)), uuid: uuid)
    }
}

extension JSON {
    /// The texts of all members with a key, at any depth.
    fileprivate func texts(under key: String) -> [String] {
        switch self {
        case .object(let members):
            members.flatMap { member -> [String] in
                if member.key == key, let text = member.value.stringValue { return [text] }
                return member.value.texts(under: key)
            }
        case .array(let elements): elements.flatMap { $0.texts(under: key) }
        default: []
        }
    }
}
