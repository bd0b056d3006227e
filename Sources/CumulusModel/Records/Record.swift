// A record: a typed bag of fields under a name, as clients see it.
//
// Part of the client's surface. The value tracks which keys changed, so that a save sends these
// only.
//
// Folder: records and zones as clients and servers see them. Read `Record`, then `RecordZone` and
// `RecordView`.

/// A record of a database: fetched, or made here and not yet saved.
///
/// A record is a value. `Database.save(_:)` returns the saved one, with its new change tag; go on
/// with that.
public struct Record: Sendable {
    /// Names a record: a record name within a zone.
    public struct ID: Hashable, Sendable {
        /// 1 to 255 printable ASCII characters, not beginning with an underscore; only the server
        /// gives such names, to users.
        public var recordName: String
        /// The zone that holds the record.
        public var zoneID: RecordZone.ID

        /// The record of that name; without a zone, in the default one.
        public init(recordName: String, zoneID: RecordZone.ID = .default) {
            self.recordName = recordName
            self.zoneID = zoneID
        }
    }

    /// A pointer to another record of the same zone.
    public struct Reference: Hashable, Sendable {
        /// The effect on the referring record when its target is deleted.
        public enum Action: UInt8, Sendable {
            /// Nothing: the reference then names a record that is not there.
            case none = 0
            /// The referring record is deleted too.
            case deleteSelf = 1
        }

        /// Name of the target, in the zone of the referring record.
        public var recordName: String
        /// The effect on the referring record when its target is deleted.
        public var action: Action

        /// A reference to the record of that name.
        public init(recordName: String, action: Action = .none) {
            self.recordName = recordName
            self.action = action
        }

        /// A reference to a record.
        public init(record: Record, action: Action = .none) {
            self.init(recordName: record.recordID.recordName, action: action)
        }
    }

    /// Name and zone; never changes.
    public let recordID: ID
    /// The type, as the schema names it; never changes.
    public let recordType: String
    /// Names the saved state that this value came from; nil before the first save.
    ///
    /// Compare only for equality.
    public package(set) var recordChangeTag: String?
    /// When the record was first saved; nil before.
    public package(set) var creationDate: Timestamp?
    /// User record name.
    public package(set) var creatorUserRecordName: String?
    /// When the record was last saved; nil before the first save.
    public package(set) var modificationDate: Timestamp?
    /// User record name.
    public package(set) var lastModifiedUserRecordName: String?

    private var values: [String: FieldValue] = [:]
    private var changed: Set<String> = []
    package private(set) var increments: [String: Int64] = [:]
    /// Fields whose increments don't fit into 64 bits together.
    package private(set) var overflows: Set<String> = []
    /// nil means unchanged since the record was fetched or saved.
    package private(set) var changedParent: Reference??

    private var parentReference: Reference?
    /// The share whose root is the record; nil if the record is no root.
    ///
    /// Its record is in the same zone, of type `cloudkit.share`.
    public package(set) var share: Reference?
    /// Elsewhere: nearly no record is a share's.
    private var boxedDetails: DetailsBox?
    private var encrypted = EncryptedValues()

    /// A record to be saved, without fields.
    public init(recordType: String, recordID: ID) {
        self.recordType = recordType
        self.recordID = recordID
    }

    /// The value of a field; nil where it has none.
    ///
    /// Setting nil removes the field with the next save.
    public subscript(key: String) -> FieldValue? {
        get {
            // A value that was set since is not read from the record's place.
            values[key]?.read(from: changed.contains(key) ? nil : Asset.Place(recordID, key))
        }
        set {
            values[key] = newValue
            changed.insert(key)
            forgetIncrement(of: key)
            encrypted.forget(key)
        }
    }

    /// The fields that the server can't read.
    public var encryptedValues: EncryptedValues {
        get { encrypted }
        set {
            encrypted.take(newValue)
            for key in encrypted.changed {
                values[key] = nil
                changed.remove(key)
                forgetIncrement(of: key)
            }
        }
    }

    private mutating func forgetIncrement(of key: String) {
        if increments.isEmpty { return }
        increments[key] = nil
        overflows.remove(key)
    }

    /// The parent in a sharing hierarchy.
    ///
    /// It must exist, or be saved in the same batch.
    public var parent: Reference? {
        get { parentReference }
        set {
            parentReference = newValue
            changedParent = .some(newValue)
        }
    }

    /// The details of a share's record besides its fields; nil in other records.
    package var shareDetails: ShareDetails? {
        get { boxedDetails?.details }
        set { boxedDetails = newValue.map(DetailsBox.init) }
    }

    private final class DetailsBox: Sendable {
        let details: ShareDetails

        init(_ details: ShareDetails) { self.details = details }
    }

    /// Names of the fields that have a value, sorted; encrypted ones are not among them.
    public func allKeys() -> [String] { values.keys.sorted() }

    /// Names of the fields that were set since the record was fetched or saved, sorted.
    public func changedKeys() -> [String] { changed.union(encrypted.changed).sorted() }

    /// Whether any field holds an asset: most records have none, and need no further look.
    package var holdsAssets: Bool {
        values.values.contains { value in
            switch value {
            case .asset: true
            case .list(let elements):
                elements.contains { if case .asset = $0 { true } else { false } }
            default: false
            }
        }
    }

    /// Adds to an INT64 field on the server, exactly once, also while others add.
    ///
    /// The sum is in the record that the save returns. Where it doesn't fit into 64 bits, the save
    /// fails with 12. Beyond CloudKit.
    public mutating func increment(_ key: String, by delta: Int64 = 1) {
        let (sum, overflow) = increments[key, default: 0].addingReportingOverflow(delta)
        increments[key] = sum
        if overflow { overflows.insert(key) }
    }

    /// Puts a value that came from the server in place: not a change.
    package mutating func receive(_ value: FieldValue?, for key: String) {
        values[key] = value
    }

    package mutating func receive(encrypted value: EncryptedValues.Value?, for key: String) {
        encrypted.receive(value, for: key)
    }

    /// Room for so many fields.
    package mutating func reserveCapacity(_ count: Int) {
        values.reserveCapacity(count)
    }

    package mutating func receive(parent: Reference?) {
        parentReference = parent
    }

    /// The state after the server accepted a save.
    package mutating func markSaved() {
        changed = []
        (increments, overflows) = ([:], [])
        changedParent = nil
        encrypted.markSaved()
    }
}

extension Record: Equatable {
    /// Whether both hold the same state of the same record; pending increments don't count.
    public static func == (left: Record, right: Record) -> Bool {
        left.recordID == right.recordID && left.recordType == right.recordType
            && left.recordChangeTag == right.recordChangeTag && left.values == right.values
            && left.parentReference == right.parentReference && left.share == right.share
            && left.shareDetails == right.shareDetails
            && left.encrypted == right.encrypted
    }
}
