// The name of a zone: its own and its owner's.
//
// Made by apps and by everything that the server tells. Never changes.
//
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CumulusModel
public import Foundation

/// The name of the zone that every public and private database has.
public let CKRecordZoneDefaultName = Names.defaultZone
/// Stands for the current user wherever an owner is named.
public let CKCurrentUserDefaultName = Names.currentUser
/// The old name of `CKCurrentUserDefaultName`.
public let CKOwnerDefaultName = CKCurrentUserDefaultName

/// Names a zone: `CKRecordZone.ID`.
public final class CKRecordZoneID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The name of the default zone.
    public static let defaultZoneName = CKRecordZoneDefaultName
    /// The default zone of the current user.
    public static let `default` = CKRecordZoneID()

    /// 1 to 255 printable ASCII characters, not beginning with an underscore.
    public let zoneName: String
    /// The owner's user record name; `CKCurrentUserDefaultName` stands for the current user.
    public let ownerName: String

    /// The zone of a name and an owner.
    public init(
        zoneName: String = CKRecordZone.ID.defaultZoneName,
        ownerName: String = CKCurrentUserDefaultName
    ) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    /// The zone of a name and an owner; no owner means the current user.
    @available(*, deprecated, message: "Give the name of an owner")
    @_disfavoredOverload
    public convenience init(
        zoneName: String = CKRecordZone.ID.defaultZoneName,
        ownerName: String? = CKOwnerDefaultName
    ) {
        self.init(zoneName: zoneName, ownerName: ownerName ?? CKCurrentUserDefaultName)
    }

    convenience init(_ id: RecordZone.ID) {
        self.init(zoneName: id.zoneName, ownerName: id.ownerName)
    }

    /// The name as the client library takes it.
    var model: RecordZone.ID { RecordZone.ID(zoneName: zoneName, ownerName: ownerName) }

    /// Whether both name the same zone.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZoneID)?.model == model
    }

    /// Equal for equal names.
    public override var hash: Int { model.hashValue }

    /// The names, for people.
    public override var description: String {
        "<CKRecordZoneID: ownerName=\(ownerName), zoneName=\(zoneName)>"
    }

    /// The name itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True: a name archives only texts.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the name.
    public func encode(with coder: NSCoder) {
        coder.encode(zoneName as NSString, forKey: "zoneName")
        coder.encode(ownerName as NSString, forKey: "ownerName")
    }

    /// A name from an archive; nil if a part is missing.
    public init?(coder: NSCoder) {
        guard let zoneName = coder.decodeText(forKey: "zoneName"),
            let ownerName = coder.decodeText(forKey: "ownerName")
        else { return nil }
        self.zoneName = zoneName
        self.ownerName = ownerName
    }
}

extension NSCoder {
    /// An object from an archive; nil if there is nothing under that key.
    ///
    /// On Linux, Foundation ends the process where a key is missing.
    func decode<Object: NSObject & NSCoding>(_ type: Object.Type, forKey key: String) -> Object? {
        containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }

    /// An object of one of these classes from an archive; nil if there is nothing under that
    /// key.
    func decode(_ classes: [AnyClass], forKey key: String) -> Any? {
        containsValue(forKey: key) ? decodeObject(of: classes, forKey: key) : nil
    }

    /// A text from an archive; nil if there is nothing under that key.
    func decodeText(forKey key: String) -> String? {
        decode(NSString.self, forKey: key) as String?
    }

    /// Bytes from an archive; nil if there is nothing under that key.
    func decodeBytes(forKey key: String) -> Data? {
        decode(NSData.self, forKey: key) as Data?
    }
}
