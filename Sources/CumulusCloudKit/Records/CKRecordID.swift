// The name of a record within its zone.
//
// Made by apps and by everything that the server tells. Never changes.

internal import CumulusFoundation
package import CumulusModel
public import Foundation

/// Names a record: `CKRecord.ID`.
public final class CKRecordID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// 1 to 255 printable ASCII characters, not beginning with an underscore; only the server
    /// gives such names, to users.
    public let recordName: String
    /// The zone that holds the record.
    public let zoneID: CKRecordZoneID

    /// The record of a name in a zone; a new random name in the default zone without them.
    public init(
        recordName: String = UUID().uuidString,
        zoneID: CKRecordZone.ID = CKRecordZone.ID.default
    ) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    /// The record of that name in the default zone.
    public convenience init(recordName: String) {
        self.init(recordName: recordName, zoneID: .default)
    }

    convenience init(_ id: Record.ID) {
        self.init(recordName: id.recordName, zoneID: CKRecordZoneID(id.zoneID))
    }

    /// The name as the client library takes it.
    var model: Record.ID { Record.ID(recordName: recordName, zoneID: zoneID.model) }

    /// Whether both name the same record.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordID)?.model == model
    }

    /// Equal for equal names.
    public override var hash: Int { model.hashValue }

    /// The names, for people.
    public override var description: String {
        "<CKRecordID: recordName=\(recordName), zoneID=\(zoneID.zoneName):\(zoneID.ownerName)>"
    }

    /// The name itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True: a name archives only texts.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the name.
    public func encode(with coder: NSCoder) {
        coder.encode(recordName as NSString, forKey: "recordName")
        coder.encode(zoneID, forKey: "zoneID")
    }

    /// A name from an archive; nil if a part is missing.
    public init?(coder: NSCoder) {
        guard let recordName = coder.decodeText(forKey: "recordName"),
            let zoneID = coder.decode(CKRecordZoneID.self, forKey: "zoneID")
        else { return nil }
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

extension CKRecordID: FormatArgument {
    package var formatArgument: FieldValue {
        .reference(Record.Reference(recordName: recordName))
    }
}
