// How far a feed was told, as an application keeps it.

import CumulusModel

/// How far a device was told what its user's subscriptions ask for.
///
/// Opaque. It is valid for the container, environment and user that it came from, on every node of
/// the cluster. Keep it once what came with it is kept, see ``Container/notifications(since:)``.
public struct FeedToken: Hashable, Sendable {
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

extension FeedToken: Codable {
    /// Reads the text of a token.
    public init(from decoder: any Decoder) throws {
        bytes = try TokenText.decode(from: decoder, or: "this is no token of a feed")
    }

    /// Writes the token as text.
    public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}
