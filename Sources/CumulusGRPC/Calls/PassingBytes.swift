// Messages as gRPC hands them over and takes them: bytes, which nobody here reads.
//
// Given to gRPC with every method. The node reads requests with the same parser as those of the
// binary protocol. hot: once per message.

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
