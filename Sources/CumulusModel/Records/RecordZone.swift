// A zone: a named part of a database, within which batches are atomic and records refer to each
// other.
//
// Part of the client's surface.

/// A zone of a database.
public struct RecordZone: Hashable, Sendable {
    /// Names a zone: a zone name and the user record name of the owner.
    public struct ID: Hashable, Sendable {
        /// 1 to 255 printable ASCII characters, not beginning with an underscore.
        public var zoneName: String
        /// `currentUserName` stands for the caller.
        public var ownerName: String

        /// The zone of that name; without an owner, the caller's.
        public init(zoneName: String, ownerName: String = ID.currentUserName) {
            self.zoneName = zoneName
            self.ownerName = ownerName
        }

        /// Stands for the caller wherever an owner is named.
        public static let currentUserName = Names.currentUser
        /// The zone that every public and private database has.
        public static let `default` = ID(zoneName: Names.defaultZone)
    }

    /// The capabilities of a zone, which the server decides.
    public struct Capabilities: OptionSet, Hashable, Sendable {
        /// The bits as they travel.
        public let rawValue: UInt32
        /// Capabilities from their bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Changes can be fetched by change tokens.
        public static let fetchChanges = Capabilities(rawValue: 1)
        /// Batches succeed or fail as a whole.
        public static let atomic = Capabilities(rawValue: 2)
        /// Hierarchies of records can be shared.
        public static let sharing = Capabilities(rawValue: 4)
        /// The zone can be shared as a whole.
        public static let zoneWideSharing = Capabilities(rawValue: 8)

        /// The capabilities of zones that users make in their private databases.
        package static let custom: Capabilities = [
            .fetchChanges, .atomic, .sharing, .zoneWideSharing,
        ]
    }

    /// Name and owner of the zone.
    public let zoneID: ID
    /// Empty in a zone that was made here and not yet saved.
    public package(set) var capabilities: Capabilities = []

    /// A zone to be saved.
    public init(zoneID: ID) {
        self.zoneID = zoneID
    }

    /// A zone of the caller's, to be saved.
    public init(zoneName: String) {
        self.init(zoneID: ID(zoneName: zoneName))
    }

    package init(zoneID: ID, capabilities: Capabilities) {
        self.zoneID = zoneID
        self.capabilities = capabilities
    }
}
