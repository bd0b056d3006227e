// A record as apps written for CloudKit hold it: an object with fields.
//
// Its content is a `Record` of the client library behind a lock. `CKRecord+Saving` moves it to and
// from the server.
//
// Folder: records and the values of their fields. Read `CKRecord`, then `CKRecordValue`,
// `CKRecord+Saving` and `CKRecord+Archive`.

internal import CumulusFoundation
package import CumulusModel
public import Foundation
internal import Synchronization

/// A record of a database: fetched, or made here and not yet saved.
///
/// When a save succeeds, the object itself becomes the saved record: it has the new change tag,
/// and what was set in it during the save still counts as changed.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting,
    @unchecked Sendable
{
    /// Names a record.
    public typealias ID = CKRecordID
    /// A pointer to another record.
    public typealias Reference = CKReference
    /// The effect on the referring record when its target is deleted.
    public typealias ReferenceAction = CKReferenceAction
    /// The name of a type of records.
    public typealias RecordType = String
    /// The name of a field.
    public typealias FieldKey = String

    /// Names of the types that every container has.
    public enum SystemType {
        /// The type of users' records.
        public static let userRecord: RecordType = "Users"
        /// The type of shares.
        public static let share: RecordType = "cloudkit.share"
    }

    /// Names of the fields that the server knows.
    public enum SystemFieldKey {
        /// The record's name, in predicates.
        public static let recordID: FieldKey = "recordID"
        /// When the record was first saved.
        public static let creationDate: FieldKey = "creationDate"
        /// The user who first saved the record.
        public static let creatorUserRecordID: FieldKey = "creatorUserRecordID"
        /// When the record was last saved.
        public static let modificationDate: FieldKey = "modificationDate"
        /// The user who last saved the record.
        public static let lastModifiedUserRecordID: FieldKey = "lastModifiedUserRecordID"
        /// The parent in a sharing hierarchy.
        public static let parent: FieldKey = "parent"
        /// The share that the record is in.
        public static let share: FieldKey = "share"
    }

    struct Content: Sendable {
        var record: Record
        /// Fields that were set to what no field can hold, and why.
        var refusals: [FieldKey: ServiceError] = [:]
        /// The record as it was fetched or saved last; nil for a record that was made here.
        var fetched: Record?
    }

    let content: Mutex<Content>

    /// A record to be saved.
    public init(recordType: RecordType, recordID: ID = CKRecord.ID()) {
        content = Mutex(
            Content(record: Record(recordType: recordType, recordID: recordID.model))
        )
    }

    /// A record to be saved, with a new random name in the default zone.
    public convenience init(recordType: RecordType) {
        self.init(recordType: recordType, recordID: ID())
    }

    /// A record to be saved, with a new random name in a zone.
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: ID(zoneID: zoneID))
    }

    init(_ content: Content) {
        self.content = Mutex(content)
    }

    func read<Value>(_ value: (Record) -> Value) -> Value {
        content.withLock { value($0.record) }
    }

    // MARK: - What the server knows

    /// The type; never changes.
    public var recordType: RecordType { read(\.recordType) }

    /// Name and zone; never changes.
    public var recordID: ID { ID(read(\.recordID)) }

    /// Names the saved state that this record came from; nil before the first save.
    ///
    /// Compare only for equality.
    public var recordChangeTag: String? { read(\.recordChangeTag) }

    /// When the record was first saved; nil before.
    public var creationDate: Date? { read(\.creationDate).map { Date($0) } }

    /// The user who first saved the record; nil before, and if the caller may not see who.
    public var creatorUserRecordID: ID? {
        read(\.creatorUserRecordName).map { ID(recordName: $0) }
    }

    /// When the record was last saved; nil before the first save.
    public var modificationDate: Date? { read(\.modificationDate).map { Date($0) } }

    /// The user who last saved the record; nil before the first save, and if the caller may not
    /// see who.
    public var lastModifiedUserRecordID: ID? {
        read(\.lastModifiedUserRecordName).map { ID(recordName: $0) }
    }

    // MARK: - Fields

    /// The value of a field; nil if it has no value.
    ///
    /// Setting nil removes the field with the next save. A value that no field can hold, such
    /// as NaN or a reference to another zone, makes the save fail with `invalidArguments`.
    public subscript(key: FieldKey) -> (any CKRecordValueProtocol)? {
        get {
            content.withLock { content in
                content.record[key]?.object(in: content.record.recordID.zoneID)
            }
        }
        set { set(newValue, for: key) { $0[key] = $1 } }
    }

    /// Sets a field, encrypted or not; a value that no field can hold is kept as a refusal.
    func set(
        _ value: Any?,
        for key: FieldKey,
        _ put: (inout Record, FieldValue?) -> Void
    ) {
        // Read outside of the lock: the value may be this record.
        let zone = read(\.recordID.zoneID)
        var (field, refusal): (FieldValue?, ServiceError?) = (nil, nil)
        do throws(ServiceError) {
            if let value { field = try CKRecord.field(value, key, in: zone) }
        } catch {
            refusal = error
        }
        content.withLock { [field, refusal] content in
            put(&content.record, field)
            content.refusals[key] = refusal
        }
    }

    /// The value of a field for what an app sets.
    private static func field(
        _ value: Any,
        _ key: FieldKey,
        in zone: RecordZone.ID
    ) throws(ServiceError) -> FieldValue {
        let elements = value as? [Any] ?? [value]
        for case let reference as CKReference in elements where !reference.isWithin(zone) {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                field '\(key)' refers to a record of zone \
                '\(reference.recordID.zoneID.zoneName)'; a reference stays within the zone of \
                its record, which is '\(zone.zoneName)'
                """
            )
        }
        if let field = FieldValue(foundation: value) { return field }
        throw ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            field '\(key)' was set to a value that no field can hold, of type \
            \(type(of: value)); set a text, a number, a date, data, a location, a \
            reference, an asset, or an array
            """
        )
    }

    /// Names of the fields that have a value, sorted; encrypted ones are not among them.
    public func allKeys() -> [FieldKey] { read { $0.allKeys() } }

    /// Names of the fields that were set since the record was fetched or saved, sorted.
    public func changedKeys() -> [FieldKey] { read { $0.changedKeys() } }

    /// Adds to a field of whole numbers with the next save, on the server.
    ///
    /// Increments of several devices all count, also at several nodes. Save them with the
    /// policy `changedKeys`, which meets no `serverRecordChanged`. The field shows the sum
    /// after the save; a save can't both set and increment a field. Beyond CloudKit.
    public func increment(_ key: FieldKey, by delta: Int = 1) {
        content.withLock { $0.record.increment(key, by: Int64(delta)) }
    }

    /// The words of all texts in the record's fields, cut at white space.
    public func allTokens() -> [String] {
        read { record in
            record.allKeys().compactMap { record[$0]?.string }
                .flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        }
    }

    /// The fields that the server can't read.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedFields(of: self) }

    // MARK: - Fields by key-value coding

    /// The value of a field; nil if it has no value.
    public func value(forKey key: FieldKey) -> Any? { object(forKey: key) }

    /// Sets a field; nil and `NSNull` remove it with the next save.
    public func setValue(_ value: Any?, forKey key: FieldKey) {
        set(value is NSNull ? nil : value, for: key) { $0[key] = $1 }
    }

    /// Sets several fields; `NSNull` removes one.
    public func setValuesForKeys(_ keyedValues: [FieldKey: Any]) {
        for (key, value) in keyedValues { setValue(value, forKey: key) }
    }

    /// The values of these fields; `NSNull` stands for a field without a value.
    public func dictionaryWithValues(forKeys keys: [FieldKey]) -> [FieldKey: Any] {
        keys.reduce(into: [:]) { $0[$1] = value(forKey: $1) ?? NSNull() }
    }

    // MARK: - Sharing

    /// The share whose root is the record; nil if it is no root.
    ///
    /// The server sets it when a share of the record is saved.
    public var share: Reference? {
        read { record in record.share.map { Reference($0, in: record.recordID.zoneID) } }
    }

    /// The parent in a sharing hierarchy.
    ///
    /// It must exist, or be saved in the same batch.
    public var parent: Reference? {
        get {
            read { record in record.parent.map { Reference($0, in: record.recordID.zoneID) } }
        }
        set {
            content.withLock { content in
                content.record.parent = newValue.map { parent in
                    Record.Reference(recordName: parent.recordID.recordName)
                }
            }
        }
    }

    /// Sets the parent to a record; nil means that it has no parent.
    public func setParent(_ parentRecord: CKRecord?) {
        parent = parentRecord.map { Reference(record: $0, action: .none) }
    }

    /// Sets the parent to the record of that name; nil means that it has no parent.
    public func setParent(_ parentRecordID: ID?) {
        parent = parentRecordID.map { Reference(recordID: $0, action: .none) }
    }

    // MARK: - Copies and archives

    /// Another record with the same content.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(content.withLock { $0 })
    }

    /// Type, name and fields, for people.
    open override var description: String { "<CKRecord: \(read(\.description))>" }

    /// True.
    open class var supportsSecureCoding: Bool { true }

    /// Archives all of the record: what the server knows of it, its fields, and which changed.
    open func encode(with coder: NSCoder) {
        encodeSystemFields(with: coder)
        encodeFields(with: coder)
    }

    /// A record from an archive of all of it, or of its system fields; nil if it holds no
    /// record.
    public required init?(coder: NSCoder) {
        guard let content = CKRecord.content(from: coder) else { return nil }
        self.content = Mutex(content)
    }
}

extension CKRecord: Sequence {
    /// The fields with their values.
    public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

extension CKRecord: FormatArgument {
    package var formatArgument: FieldValue { recordID.formatArgument }
}
