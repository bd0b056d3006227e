// The bytes that leave a connection at the end of a turn, in pieces: a large payload is one of its
// own, and not copied.
//
// Filled by `FrameConnection`, written by transports in one go. hot: once per frame.

package import CumulusModel

package struct FrameOutput: Sendable {
    /// One behind the other; none is empty.
    package private(set) var pieces: [Bytes] = []
    package private(set) var count = 0
    /// The last piece is a payload that somebody else may hold too.
    private var isShared = false
    private static let largeSize = 32 << 10

    package init() {}

    package init(_ bytes: Bytes) {
        pieces = bytes.isEmpty ? [] : [bytes]
        count = bytes.count
    }

    package var isEmpty: Bool { count == 0 }

    /// All of it, for tests and simulated sockets.
    package var bytes: Bytes { Bytes(pieces.joined()) }

    package mutating func append(_ frame: Frame) {
        guard frame.payload.count >= FrameOutput.largeSize else {
            return append { FrameEncoder.append(frame, to: &$0) }
        }
        append { FrameEncoder.appendHead(of: frame, to: &$0) }
        pieces.append(frame.payload)
        count += frame.payload.count
        isShared = true
    }

    private mutating func append(_ write: (inout Bytes) -> Void) {
        if isShared || pieces.isEmpty { pieces.append([]) }
        isShared = false
        let before = pieces[pieces.count - 1].count
        write(&pieces[pieces.count - 1])
        count += pieces[pieces.count - 1].count - before
    }
}
