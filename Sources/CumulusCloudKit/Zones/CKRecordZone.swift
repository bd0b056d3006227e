// A zone of a database, to be saved or as the server holds it.
//
// Folder: zones, their names, and tokens of their changes. Read `CKRecordZone`, then
// `CKRecordZoneID` and `CKServerChangeToken`.

internal import CumulusModel
public import Foundation

/// A zone: batches are atomic within a custom one, and records refer to others of the same
/// zone.
public final class CKRecordZone: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// Names a zone.
    public typealias ID = CKRecordZoneID

    /// The capabilities of a zone, which the server decides.
    public struct Capabilities: OptionSet, Hashable, Sendable {
        /// The bits as they travel.
        public let rawValue: UInt
        /// Capabilities from their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Changes can be fetched by change tokens.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Batches succeed or fail as a whole.
        public static let atomic = Capabilities(rawValue: 2)
        /// Hierarchies of records can be shared.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)
    }

    /// Name and owner of the zone.
    public let zoneID: ID
    /// Empty in a zone that was made here and not yet saved.
    public let capabilities: Capabilities
    /// The share of the whole zone; nil if it has none, and in a zone that was made here.
    ///
    /// Known in a zone that a call fetched or saved.
    public let share: CKReference?

    /// A zone of the current user, to be saved.
    public convenience init(zoneName: String) {
        self.init(zoneID: ID(zoneName: zoneName))
    }

    /// A zone to be saved.
    public convenience init(zoneID: ID) {
        self.init(zoneID, [], nil)
    }

    /// - Parameter isShared: Whether the zone is shared as a whole.
    convenience init(_ zone: RecordZone, isShared: Bool = false) {
        let id = ID(zone.zoneID)
        let share = CKReference(
            recordID: CKRecordID(recordName: CKRecordNameZoneWideShare, zoneID: id),
            action: .none
        )
        let capabilities = Capabilities(rawValue: UInt(zone.capabilities.rawValue))
        self.init(id, capabilities, isShared ? share : nil)
    }

    private init(_ zoneID: ID, _ capabilities: Capabilities, _ share: CKReference?) {
        self.zoneID = zoneID
        self.capabilities = capabilities
        self.share = share
    }

    /// The zone that every public and private database has.
    public static func `default`() -> CKRecordZone { CKRecordZone(zoneID: .default) }

    /// The zone as the client library takes it.
    var model: RecordZone { RecordZone(zoneID: zoneID.model) }

    /// Whether both have the same name and owner.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZone)?.zoneID.isEqual(zoneID) ?? false
    }

    /// Equal for equal names.
    public override var hash: Int { zoneID.hash }

    /// The zone's name, for people.
    public override var description: String { "<CKRecordZone: \(zoneID.zoneName)>" }

    /// The zone itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the zone.
    public func encode(with coder: NSCoder) {
        coder.encode(zoneID, forKey: "zoneID")
        coder.encode(Int64(capabilities.rawValue), forKey: "capabilities")
        if let share { coder.encode(share, forKey: "share") }
    }

    /// A zone from an archive; nil if its name is missing.
    public convenience init?(coder: NSCoder) {
        guard let zoneID = coder.decode(ID.self, forKey: "zoneID") else { return nil }
        let bits = UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "capabilities"))
        let share = coder.decode(CKReference.self, forKey: "share")
        self.init(zoneID, Capabilities(rawValue: bits), share)
    }
}
