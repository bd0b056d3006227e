// Users who ask for access to a share, and users who may not ask any more.
//
// Named by `CKShare`. Nodes take no requests for access, so an object of these classes comes only
// from an archive.

public import Foundation

/// Somebody who asks for access to a share: `CKShare.AccessRequester`.
public final class CKShareAccessRequester: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The user who asks.
    public let userIdentity: CKUserIdentity
    /// The address or record by which the user is looked up, to be added to the share.
    public let participantLookupInfo: CKUserIdentity.LookupInfo

    /// The requester itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the requester.
    public func encode(with coder: NSCoder) {
        coder.encode(userIdentity, forKey: "userIdentity")
        coder.encode(participantLookupInfo, forKey: "participantLookupInfo")
    }

    /// A requester from an archive; nil if a part is missing.
    public init?(coder: NSCoder) {
        let info = coder.decode(CKUserIdentity.LookupInfo.self, forKey: "participantLookupInfo")
        guard let info, let user = coder.decode(CKUserIdentity.self, forKey: "userIdentity")
        else { return nil }
        userIdentity = user
        participantLookupInfo = info
    }
}

/// Somebody who may not ask for access to a share any more: `CKShare.BlockedIdentity`.
public final class CKShareBlockedIdentity: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The user who is blocked.
    public let userIdentity: CKUserIdentity

    /// The identity itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the identity.
    public func encode(with coder: NSCoder) {
        coder.encode(userIdentity, forKey: "userIdentity")
    }

    /// An identity from an archive; nil if it is missing.
    public init?(coder: NSCoder) {
        guard let user = coder.decode(CKUserIdentity.self, forKey: "userIdentity")
        else { return nil }
        userIdentity = user
    }
}
