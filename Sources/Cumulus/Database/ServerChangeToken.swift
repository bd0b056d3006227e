// How far changes were fetched, as an application keeps it.

import CumulusModel

/// How far the changes of a database or of a zone were fetched.
///
/// Opaque. It is valid for the container, environment, user and database or zone that it came from,
/// on every node of the cluster. Keep it once what came with it is kept:
///
/// ```swift
/// let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
/// // ... apply the changes ...
/// token = changes.changeToken
/// ```
public struct ServerChangeToken: Hashable, Sendable {
    let bytes: Bytes

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// A token that was written as text; nil if it isn't one.
    public init?(text: String) {
        guard let bytes = TokenText.bytes(text) else { return nil }
        self.bytes = bytes
    }

    /// The token as one word of ASCII characters; it tells nothing to people.
    public var text: String { TokenText.text(bytes) }
}

extension ServerChangeToken: Codable {
    /// Reads the text of a token.
    public init(from decoder: any Decoder) throws {
        bytes = try TokenText.decode(from: decoder, or: "this is no change token")
    }

    /// Writes the token as text.
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}
