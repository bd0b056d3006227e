// A person with whom something is shared.
//
// Look-ups make participants, and so does `CKShare` for its own. Setting a property of a
// participant in a share changes the share.

internal import Cumulus
internal import CumulusFoundation
internal import CumulusModel
public import Foundation
internal import Synchronization

/// How far an invitation has come: `CKShare.ParticipantAcceptanceStatus`.
public enum CKShareParticipantAcceptanceStatus: Int, Sendable {
    /// The status is not known, or the person is neither invited nor in the share.
    case unknown = 0
    /// Invited, and has not accepted.
    case pending = 1
    /// In the share.
    case accepted = 2
    /// Left, or was removed.
    case removed = 3

    init(_ status: ShareParticipant.AcceptanceStatus) {
        self =
            switch status {
            case .unknown: .unknown
            case .pending: .pending
            case .accepted: .accepted
            case .removed: .removed
            }
    }
}

/// What a participant may do with the shared records: `CKShare.ParticipantPermission`.
public enum CKShareParticipantPermission: Int, Sendable {
    /// The permission is not known; setting it means `none`.
    case unknown = 0
    /// Nothing.
    case none = 1
    /// Read them.
    case readOnly = 2
    /// Read, save and delete them.
    case readWrite = 3

    init(_ permission: ShareParticipant.Permission) {
        self =
            switch permission {
            case .none: .none
            case .readOnly: .readOnly
            case .readWrite: .readWrite
            }
    }

    var model: ShareParticipant.Permission {
        switch self {
        case .unknown, .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// The role of a participant in a share: `CKShare.ParticipantRole`.
public enum CKShareParticipantRole: Int, Sendable {
    /// The role is not known; setting it means `privateUser`.
    case unknown = 0
    /// The owner of the zone.
    case owner = 1
    /// Was invited, and may invite and remove others.
    case administrator = 2
    /// Was invited.
    case privateUser = 3
    /// Joined by the URL, while the share was open to the public.
    case publicUser = 4

    init(_ role: ShareParticipant.Role) {
        self =
            switch role {
            case .owner: .owner
            case .administrator: .administrator
            case .privateUser: .privateUser
            case .publicUser: .publicUser
            }
    }

    var model: ShareParticipant.Role {
        switch self {
        case .owner: .owner
        case .administrator: .administrator
        case .unknown, .privateUser: .privateUser
        case .publicUser: .publicUser
        }
    }
}

/// A person with whom something is shared: `CKShare.Participant`.
public final class CKShareParticipant: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// Names a participant in its share.
    public typealias ID = String
    /// The old name of `CKShare.ParticipantAcceptanceStatus`.
    @available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The old name of `CKShare.ParticipantPermission`.
    @available(*, deprecated, renamed: "CKShare.ParticipantPermission")
    public typealias Permission = CKShare.ParticipantPermission
    /// The old name of `CKShare.ParticipantRole`.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias Role = CKShare.ParticipantRole
    /// The old name of `CKShare.ParticipantRole`.
    @available(*, deprecated, renamed: "CKShare.ParticipantRole")
    public typealias ParticipantType = CKShare.ParticipantType

    private struct State: Sendable {
        var model: Share.Participant
        /// Takes over what is set.
        var share: CKShare?
    }

    private let state: Mutex<State>

    init(_ model: Share.Participant, in share: CKShare? = nil) {
        state = Mutex(State(model: model, share: share))
    }

    /// The client library's participant.
    var model: Share.Participant { state.withLock(\.model) }

    /// Later changes of the participant go to that share.
    func join(_ share: CKShare?) {
        state.withLock { $0.share = share }
    }

    private func change(_ body: (inout Share.Participant) -> Void) {
        let (model, share) = state.withLock { state in
            body(&state.model)
            return (state.model, state.share)
        }
        share?.update(model)
    }

    /// The person; without a user record before the invitation is accepted.
    public var userIdentity: CKUserIdentity { CKUserIdentity(model) }

    /// The role of the participant: a private user, or an administrator.
    public var role: CKShare.ParticipantRole {
        get { CKShare.ParticipantRole(model.role) }
        set { change { $0.role = newValue.model } }
    }

    /// The old name of `role`.
    public var type: CKShare.ParticipantType {
        get { role }
        set { role = newValue }
    }

    /// What the participant may do.
    public var permission: CKShare.ParticipantPermission {
        get { CKShare.ParticipantPermission(model.permission) }
        set { change { $0.permission = newValue.model } }
    }

    /// How far the invitation has come.
    public var acceptanceStatus: CKShare.ParticipantAcceptanceStatus {
        CKShare.ParticipantAcceptanceStatus(model.acceptanceStatus)
    }

    /// Names the participant in its share; the server gives it with the first save.
    public var participantID: ID { model.id }

    /// When the participant was invited or joined; nil if that is not saved yet.
    public var dateAddedToShare: Date? { model.dateAddedToShare.map { Date($0) } }

    /// False: nodes take no requests for access.
    public var isApprovedRequester: Bool { false }

    /// Whether it is the signed-in user.
    var isCurrentUser: Bool { model.isCurrentUser }

    /// Somebody who would join by a URL that works once: nodes give no such URLs, and refuse a
    /// share with this participant.
    public static func oneTimeURLParticipant() -> Self {
        Self(Share.Participant(userRecordID: Record.ID(recordName: "")))
    }

    /// Whether both are the same participant of the same share.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareParticipant)?.participantID == participantID
    }

    /// Equal for equal participants.
    public override var hash: Int { participantID.hashValue }

    /// Identity, role and permission, for people.
    public override var description: String {
        """
        <CKShareParticipant: participantID=\(participantID), role=\(role), \
        permission=\(permission), acceptanceStatus=\(acceptanceStatus)>
        """
    }

    /// Another participant with the same values, in no share.
    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(model) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the participant.
    public func encode(with coder: NSCoder) {
        let archive = ShareArchive.Participant(model.details)
        guard let data = try? JSONEncoder().encode(archive) else { return }
        coder.encode(data as NSData, forKey: "participant")
    }

    /// A participant from an archive; nil if it holds none.
    public convenience init?(coder: NSCoder) {
        guard let data = coder.decodeBytes(forKey: "participant"),
            let archive = try? JSONDecoder().decode(ShareArchive.Participant.self, from: data)
        else { return nil }
        self.init(Share.Participant(archive.details))
    }
}

extension Share.Participant {
    /// The owner of a share that is not saved yet.
    static var unsavedOwner: Share.Participant {
        Share.Participant(
            ShareDetails.Participant(
                user: CKCurrentUserDefaultName,
                role: .owner,
                permission: .readWrite,
                status: .accepted,
                isCaller: true
            )
        )
    }
}

extension CKUserIdentity {
    /// A participant of a share.
    convenience init(_ participant: Share.Participant) {
        let id = participant.userRecordID.map { CKRecord.ID($0) }
        let info: LookupInfo? =
            switch participant.lookupInfo {
            case .emailAddress(let address): LookupInfo(emailAddress: address)
            case .phoneNumber(let number): LookupInfo(phoneNumber: number)
            case .userRecordID(let id): LookupInfo(userRecordID: CKRecord.ID(id))
            case nil: id.map { LookupInfo(userRecordID: $0) }
            }
        self.init(id, info)
    }
}

/// Who may join, as a choice for people who share.
public struct CKSharingParticipantAccessOption: OptionSet, Sendable {
    /// The sum of the options' numbers.
    public let rawValue: UInt

    /// Options by the sum of their numbers.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Everybody who has the URL.
    public static let anyoneWithLink = CKSharingParticipantAccessOption(rawValue: 1 << 0)
    /// Only people who are invited.
    public static let specifiedRecipientsOnly = CKSharingParticipantAccessOption(
        rawValue: 1 << 1
    )
    /// Either.
    public static let any: CKSharingParticipantAccessOption = [
        .anyoneWithLink, .specifiedRecipientsOnly,
    ]
}

/// What participants may do, as a choice for people who share.
public struct CKSharingParticipantPermissionOption: OptionSet, Sendable {
    /// The sum of the options' numbers.
    public let rawValue: UInt

    /// Options by the sum of their numbers.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Read.
    public static let readOnly = CKSharingParticipantPermissionOption(rawValue: 1 << 0)
    /// Read, save and delete.
    public static let readWrite = CKSharingParticipantPermissionOption(rawValue: 1 << 1)
    /// Either.
    public static let any: CKSharingParticipantPermissionOption = [.readOnly, .readWrite]
}
