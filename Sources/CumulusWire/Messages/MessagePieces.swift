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

    /// What a writer wrote, and what it kept apart.
    package init(_ writer: CanonicalWriter) {
        let apart = writer.apart ?? []
        var start = apart.first?.place ?? writer.bytes.count
        self.init(Bytes(writer.bytes[..<start]))
        for (index, slice) in apart.enumerated() {
            append(slice.bytes)
            let end = index + 1 < apart.count ? apart[index + 1].place : writer.bytes.count
            if start < end { append(writer.bytes[start..<end]) }
            start = end
        }
    }

    package mutating func append(_ bytes: ArraySlice<UInt8>) {
        others.append(bytes)
        count += bytes.count
    }

    /// All of it in one.
    package var bytes: Bytes { first + others.joined() }
}
