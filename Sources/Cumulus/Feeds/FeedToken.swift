// How far a feed was told, as an application keeps it.

import CumulusModel
import Foundation

/// How far a device was told what its user's subscriptions ask for.
///
/// Opaque. It is good for the container, environment and user that it came from, on every node of
/// the cluster. Keep it once what came with it is kept, see ``Container/notifications(since:)``.
public struct FeedToken: Hashable, Sendable {
    let bytes: Bytes

    init(_ bytes: Bytes) {
        self.bytes = bytes
    }

    /// A token that was written as text; nil if it isn't one.
    public init?(text: String) {
        guard let data = Data(base64Encoded: text), !data.isEmpty else { return nil }
        bytes = Bytes(data)
    }

    /// The token as one word of ASCII characters; it tells nothing to people.
    public var text: String { Data(bytes).base64EncodedString() }
}

extension FeedToken: Codable {
    /// Reads the text of a token.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let token = FeedToken(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "this is no token of a feed"
            )
        }
        self = token
    }

    /// Writes the token as text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
