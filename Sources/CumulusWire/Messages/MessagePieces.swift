// A message on its way out: what was encoded, and between it bytes that somebody else holds too
// and that are not copied.
//
// Made by the `+Wire` files, written by `FrameOutput`. hot: once per message.

package import CumulusModel

package struct MessagePieces: Sendable {
    /// Most messages are nothing but this.
    package let first: Bytes
    /// Behind it, one after the other.
    package private(set) var others: [ArraySlice<UInt8>] = []
    package private(set) var count: Int

    package init(_ bytes: Bytes = []) {
        first = bytes
        count = bytes.count
    }

    package mutating func append(_ bytes: ArraySlice<UInt8>) {
        others.append(bytes)
        count += bytes.count
    }

    /// All of it in one.
    package var bytes: Bytes { first + others.joined() }
}
