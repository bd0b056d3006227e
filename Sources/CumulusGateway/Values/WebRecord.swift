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
        JSON { write(record, columns: columns, to: &$0) }
    }

    /// - Parameter columns: The fields of the type in the schema.
    package func write(
        _ record: Record,
        columns: [String: FieldType],
        to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("recordName", .string(record.recordID.recordName))
            json.member("recordType", .string(record.recordType))
            if let tag = record.recordChangeTag { json.member("recordChangeTag", .string(tag)) }
            json.key("fields")
            write(fieldsOf: record, columns, to: &json)
            json.member("pluginFields", .object([]))
            json.key("created")
            write(record.creationDate, record.creatorUserRecordName, to: &json)
            json.key("modified")
            write(record.modificationDate, record.lastModifiedUserRecordName, to: &json)
            json.member("deleted", .bool(false))
            write(record.recordID.zoneID, to: &json)
            write(relationsOf: record, to: &json)
        }
    }

    private func write(_ zone: RecordZone.ID, to json: inout JSONWriter) {
        json.key("zoneID")
        WebZone.write(zone, user: fields.user, to: &json)
    }

    private func write(relationsOf record: Record, to json: inout JSONWriter) {
        if let parent = record.parent {
            json.member("parent", ["recordName": .string(parent.recordName)])
        }
        if let share = record.share {
            json.key("share")
            json.object { json in
                json.member("recordName", .string(share.recordName))
                write(record.recordID.zoneID, to: &json)
            }
        }
        if let details = record.shareDetails {
            for member in WebShare.members(of: details, user: fields.user) {
                json.member(member.key, member.value)
            }
        }
    }

    /// Fields in the order of their names.
    private func write(
        fieldsOf record: Record,
        _ columns: [String: FieldType],
        to json: inout JSONWriter
    ) {
        let zone = record.recordID.zoneID
        let sealed = record.encryptedValues.values
        let all = sealed.isEmpty ? record.allKeys() : (record.allKeys() + sealed.keys).sorted()
        json.object { json in
            for key in all where keys?.contains(key) ?? true {
                if let value = record[key] {
                    json.key(key)
                    fields.write(value, in: zone, column: columns[key], to: &json)
                } else if case .sealed(let value)? = sealed[key] {
                    json.key(key)
                    fields.write(value, to: &json)
                }
            }
        }
    }

    /// Writes the time and the user of a change; the device is not shown to others.
    ///
    /// - Parameter user: nil if the caller is not told.
    private func write(_ time: Timestamp?, _ user: String?, to json: inout JSONWriter) {
        json.object { json in
            json.member("timestamp", .integer(time?.millisecondsSince1970 ?? 0))
            if let user {
                json.member("userRecordName", .string(WebZone.owner(user, fields.user)))
            }
            json.member("deviceID", "")
        }
    }

    /// Writes the entry of a record that was deleted.
    ///
    /// - Parameter zone: Named in feeds of changes.
    func writeTombstone(
        _ name: String,
        in zone: RecordZone.ID? = nil,
        to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("recordName", .string(name))
            json.member("deleted", .bool(true))
            if let zone { write(zone, to: &json) }
        }
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
