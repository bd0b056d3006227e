// A pointer from a record to another one of its zone.
//
// Made by apps, and by `FieldValue.object(in:)` for what a field holds. Never changes.

internal import CumulusFoundation
package import CumulusModel
public import Foundation

/// The effect on the referring record when its target is deleted.
public enum CKReferenceAction: UInt, Sendable {
    /// Nothing: the reference then names a record that is not there.
    case none = 0
    /// The referring record is deleted too.
    case deleteSelf = 1
}

/// A pointer to another record of the same zone: `CKRecord.Reference`.
public final class CKReference: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The old name of `CKRecord.ReferenceAction`.
    @available(*, deprecated, renamed: "CKRecord.ReferenceAction")
    public typealias Action = CKRecord.ReferenceAction

    /// The target.
    public let recordID: CKRecordID
    /// The effect on the referring record when its target is deleted.
    public let action: CKReferenceAction

    /// A reference to the record of that name.
    public init(recordID: CKRecordID, action: CKReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    /// A reference to a record.
    public convenience init(record: CKRecord, action: CKReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// Reads the reference of a field of a record in that zone.
    convenience init(_ reference: Record.Reference, in zone: RecordZone.ID) {
        self.init(
            recordID: CKRecordID(Record.ID(recordName: reference.recordName, zoneID: zone)),
            action: reference.action == .deleteSelf ? .deleteSelf : .none
        )
    }

    /// The reference as a field holds it: without the zone, which is the record's own.
    var model: Record.Reference {
        Record.Reference(
            recordName: recordID.recordName,
            action: action == .deleteSelf ? .deleteSelf : .none
        )
    }

    /// Whether a record of that zone can hold it.
    func isWithin(_ zone: RecordZone.ID) -> Bool {
        let own = recordID.zoneID.model
        let isSameOwner =
            own.ownerName == zone.ownerName || own.ownerName == CKCurrentUserDefaultName
            || zone.ownerName == CKCurrentUserDefaultName
        return own.zoneName == zone.zoneName && isSameOwner
    }

    /// Whether both point to the same record with the same action.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return other.recordID.isEqual(recordID) && other.action == action
    }

    /// Equal for equal references.
    public override var hash: Int { recordID.hash }

    /// The target, for people.
    public override var description: String { "<CKReference: recordID=\(recordID)>" }

    /// The reference itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the reference.
    public func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: "recordID")
        coder.encode(Int64(action.rawValue), forKey: "action")
    }

    /// A reference from an archive; nil if a part is missing.
    public init?(coder: NSCoder) {
        let number = UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "action"))
        guard let recordID = coder.decode(CKRecordID.self, forKey: "recordID"),
            let action = CKReferenceAction(rawValue: number)
        else { return nil }
        self.recordID = recordID
        self.action = action
    }
}

extension CKReference: FormatArgument {
    package var formatArgument: FieldValue { .reference(model) }
}
