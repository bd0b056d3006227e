// The text of a predicate's format, and how a refusal points into it.
//
// Shared by the lexer and the parser.

package struct PredicateSource: Sendable {
    /// Longer formats are refused.
    package static let maximumBytes = 64 << 10

    package let bytes: Bytes

    package init(_ format: String) {
        bytes = Bytes(format.utf8)
    }

    /// The text of a range, shortened for a message.
    package func excerpt(_ range: Range<Int>) -> String {
        Self.shortened(String(decoding: bytes[range], as: UTF8.self))
    }

    package static func shortened(_ text: String) -> String {
        text.utf8.count <= 40 ? text : text.prefix(20) + "…"
    }

    /// An error that names the character, counted from 1, which begins at a byte.
    package func refusal(_ sentence: String, at offset: Int) -> ServiceError {
        let place = String(decoding: bytes[..<min(offset, bytes.count)], as: UTF8.self).count + 1
        let message = "predicate format, at \(place): \(sentence)"
        return ServiceError(.invalidArguments, .invalidValue, message)
    }
}
