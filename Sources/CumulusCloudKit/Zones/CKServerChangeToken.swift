// How far changes were fetched, as an app keeps it.
//
// They are made from the client library's tokens: tokens of changes, and of the history of
// notifications.

internal import Cumulus
public import Foundation

/// How far the changes of a database, of a zone or of the history of notifications were
/// fetched.
///
/// Opaque. Keep it once what came with it is kept.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
    private enum Position: Hashable, Sendable {
        case changes(ServerChangeToken)
        case notifications(FeedToken)
    }

    private let position: Position

    private init(_ position: Position) {
        self.position = position
    }

    convenience init(_ token: ServerChangeToken) { self.init(.changes(token)) }

    convenience init(_ token: FeedToken) { self.init(.notifications(token)) }

    /// The token for a fetch of changes.
    ///
    /// - Throws: `changeTokenExpired` for a token of the history of notifications.
    func changes() throws(ServiceError) -> ServerChangeToken {
        guard case .changes(let token) = position else {
            throw ServiceError(
                .changeTokenExpired,
                "the token is of the history of notifications; fetch changes without a token"
            )
        }
        return token
    }

    /// The token for a fetch of notifications.
    ///
    /// - Throws: `changeTokenExpired` for a token of changes.
    func notifications() throws(ServiceError) -> FeedToken {
        guard case .notifications(let token) = position else {
            throw ServiceError(
                .changeTokenExpired,
                "the token is of changes; fetch notifications without a token"
            )
        }
        return token
    }

    /// Whether both stand for the same position.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKServerChangeToken)?.position == position
    }

    /// Equal for equal tokens.
    public override var hash: Int { position.hashValue }

    /// The token itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: - Archives

    private static let changesKey = "changes"
    private static let notificationsKey = "notifications"

    /// True: a token archives only a text.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the token.
    public func encode(with coder: NSCoder) {
        switch position {
        case .changes(let token):
            coder.encode(token.text as NSString, forKey: CKServerChangeToken.changesKey)
        case .notifications(let token):
            coder.encode(token.text as NSString, forKey: CKServerChangeToken.notificationsKey)
        }
    }

    /// A token from an archive; nil if the archive holds no token.
    public convenience init?(coder: NSCoder) {
        if let text = coder.decodeText(forKey: CKServerChangeToken.changesKey),
            let token = ServerChangeToken(text: text)
        {
            self.init(token)
        } else if let text = coder.decodeText(forKey: CKServerChangeToken.notificationsKey),
            let token = FeedToken(text: text)
        {
            self.init(token)
        } else {
            return nil
        }
    }
}
