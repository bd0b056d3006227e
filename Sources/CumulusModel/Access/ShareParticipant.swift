// A participant's permission and role in a share, and the progress of the invitation.
//
// Storage, operations, wire and client use it; the numbers are the ones of `sharing.proto`.
//
// Folder: the vocabulary of sharing. Read `ShareParticipant`, then `ShareURL` and `ShareDetails`.

/// A person with whom a zone or a record tree is shared.
public enum ShareParticipant {
    /// What a participant may do with the shared records.
    public enum Permission: UInt8, CaseIterable, Comparable, Sendable {
        /// Nothing.
        case none = 0
        /// Read them.
        case readOnly = 1
        /// Read, save and delete them.
        case readWrite = 2

        /// Whether the left one allows less.
        public static func < (left: Permission, right: Permission) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// The role of a participant in a share.
    public enum Role: UInt8, CaseIterable, Comparable, Sendable {
        /// Joined by the URL, while the share was open to the public.
        case publicUser = 0
        /// Was invited.
        case privateUser = 1
        /// Was invited, and may invite and remove others.
        case administrator = 2
        /// The owner of the zone.
        case owner = 3

        /// Whether the left one is less trusted.
        public static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }
    }

    /// How far an invitation has come.
    public enum AcceptanceStatus: UInt8, CaseIterable, Sendable {
        case unknown = 0
        /// Invited, and has not accepted.
        case pending = 1
        case accepted = 2
        /// Left, or was removed.
        case removed = 3
    }
}

extension Names {
    /// The type of records that describe a share.
    package static let shareType = "cloudkit.share"
    /// The name of the record that shares a whole zone.
    package static let zoneShare = "cloudkit.zoneshare"
}
