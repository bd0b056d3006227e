// Messages as gRPC hands them over and takes them: bytes, which nobody here reads.
//
// Given to gRPC with every method. The node parses the bytes of requests, as it does for the binary
// protocol. hot: once per message.

import CumulusModel
import GRPCCore

struct PassingBytes: MessageSerializer, MessageDeserializer {
    typealias Message = Bytes

    func serialize<Content: GRPCContiguousBytes>(_ message: Bytes) -> Content {
        Content(message)
    }

    func deserialize<Content: GRPCContiguousBytes>(_ content: Content) -> Bytes {
        content.withUnsafeBytes { Bytes($0) }
    }
}
