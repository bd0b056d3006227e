// What a container's calls have seen, as a value to hand to another container.

import CumulusModel
import CumulusSystem

/// Covers everything that was seen so far: a container that begins with it sees nothing older, on
/// any node.
///
/// A container keeps one by itself, so that its own calls never go back in time when they reach
/// another node. Hand it on where one process continues what another one did:
///
/// ```swift
/// let text = writer.session.text
/// var configuration = Container.Configuration(endpoints: ["127.0.0.1:7421"])
/// configuration.session = Session(text: text)
/// ```
public struct Session: Hashable, Sendable {
    let tokens: [Bytes]

    init(tokens: [Bytes]) {
        self.tokens = tokens
    }

    /// A session that was written as text; nil if it isn't one.
    public init?(text: String) {
        var tokens: [Bytes] = []
        for part in text.split(separator: ".") {
            guard let data = Data(base64Encoded: String(part)) else { return nil }
            tokens.append(Bytes(data))
        }
        self.tokens = tokens
    }

    /// The session as one word of ASCII characters; it tells nothing to people.
    public var text: String {
        tokens.map { Data($0).base64EncodedString() }.joined(separator: ".")
    }
}
