// The fields that every record has without anybody setting them.
//
// Named by the schema, by queries and by indexes. Every name that clients know one of them by leads
// to the same field.

/// A system field; the raw value is its name in the schema.
package enum SystemField: String, CaseIterable, Sendable {
    case recordID = "___recordID"
    case createTime = "___createTime"
    case createdBy = "___createdBy"
    case modTime = "___modTime"
    case modifiedBy = "___modifiedBy"
    case etag = "___etag"
    case parent = "___parent"
    case share = "___share"

    /// The kind of its values; no schema changes it.
    package var kind: FieldKind {
        switch self {
        case .createTime, .modTime: .timestamp
        case .etag: .string
        case .recordID, .createdBy, .modifiedBy, .parent, .share: .reference
        }
    }

    /// Whether a key names a system field wherever records are known, whatever fields they have.
    ///
    /// The names of web requests are free for fields of users.
    package static func isProperty(_ key: String) -> Bool {
        switch key {
        case "recordName", "createdTimestamp", "createdUserRecordName", "modifiedTimestamp",
            "modifiedUserRecordName":
            false
        default: SystemField(key: key) != nil
        }
    }

    /// Finds the field by its name in the schema, in predicates or in web requests.
    package init?(key: String) {
        switch key {
        case "recordID", "recordName": self = .recordID
        case "creationDate", "createdTimestamp": self = .createTime
        case "creatorUserRecordID", "createdUserRecordName": self = .createdBy
        case "modificationDate", "modifiedTimestamp": self = .modTime
        case "lastModifiedUserRecordID", "modifiedUserRecordName": self = .modifiedBy
        case "recordChangeTag": self = .etag
        case "parent": self = .parent
        case "share": self = .share
        default: self.init(rawValue: key)
        }
    }
}
