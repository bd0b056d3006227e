// The text form of tokens that an application keeps: base64.
//
// Used by `ServerChangeToken` and `FeedToken`.

import CumulusModel
import CumulusSystem

enum TokenText {
    /// The bytes of a token; nil if `text` is no token.
    static func bytes(_ text: String) -> Bytes? {
        guard let data = Data(base64Encoded: text), !data.isEmpty else { return nil }
        return Bytes(data)
    }

    static func text(_ bytes: Bytes) -> String { Data(bytes).base64EncodedString() }

    /// Reads the text of a token; throws an error with `problem` if it is no token.
    static func decode(from decoder: any Decoder, or problem: String) throws -> Bytes {
        let container = try decoder.singleValueContainer()
        guard let bytes = bytes(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: problem)
        }
        return bytes
    }
}
