// The result of signing in, and sessions in lists.
//
// Made by `Container+Accounts`, and listed by `NodeOperator` too.

public import CumulusModel
import CumulusWire

/// A session that was just opened, with its token.
///
/// The server keeps only a digest of the token and doesn't show it again.
public struct AccessSession: Hashable, Sendable {
    /// The token for ``Container/Configuration/accessToken``, in any container of the cluster.
    public let token: String
    /// When the session ends.
    ///
    /// Connecting with the token in the second half of its time makes it good for as long again.
    public let expires: Timestamp
    /// The user's record in the container that signed in.
    public let userRecordID: Record.ID

    init(_ answer: [Bytes]) throws {
        let opened = try decoding { try OpenedSession(wire: answer.first ?? []) }
        guard !opened.token.isEmpty else {
            throw ServiceError(.internalError, "the server's answer holds no token")
        }
        token = String(decoding: opened.token, as: UTF8.self)
        expires = Timestamp(millisecondsSince1970: opened.expires)
        userRecordID = Record.ID(recordName: opened.user)
    }
}

/// A session, or an access token that an operator made, as its user and operators see it.
public struct ListedSession: Hashable, Identifiable, Sendable {
    /// The purpose of a token.
    public enum Kind: String, Sendable {
        /// A device whose user signed in.
        case session
        /// A program: made by an operator, and good until it is revoked.
        case access
        /// A browser whose user signed in.
        case web
        /// A kind that this release of the library doesn't know.
        case unknown
    }

    /// SHA-256 of its token, as 64 hexadecimal digits.
    public let id: String
    /// The purpose of its token.
    public let kind: Kind
    /// The label that was given when it was opened, for people.
    public let label: String
    /// The ``Container/Configuration/deviceID`` with which it was opened.
    public let deviceID: String
    /// When it was opened, by the clock of the node that did.
    public let opened: Timestamp
    /// When it ends if it is not used; nil: never.
    public let expires: Timestamp?
    /// It is the session of the container that asked.
    public let isThis: Bool

    private init(_ wire: WireSession) {
        id = wire.id.hex
        kind =
            switch wire.kind {
            case 1: .session
            case 2: .access
            case 3: .web
            default: .unknown
            }
        label = wire.label
        deviceID = String(decoding: wire.device, as: UTF8.self)
        opened = Timestamp(millisecondsSince1970: wire.opened)
        expires = Timestamp(wire: wire.expires)
        isThis = wire.isThis
    }

    /// The sessions of an answer in several messages.
    static func list(_ answer: [Bytes]) throws -> [ListedSession] {
        try decoding {
            try answer.flatMap { try SessionsResponse(wire: $0).elements.map(Self.init) }
        }
    }

    /// The digest that an id stands for; no bytes would stand for all sessions.
    static func digest(_ id: ID) throws(ServiceError) -> Bytes {
        guard let digest = Bytes(hex: id), digest.count == 32 else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "'\(id)' is no session's id, which has 64 hexadecimal digits; list the sessions"
            )
        }
        return digest
    }
}
