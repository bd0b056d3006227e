// The bytes that leave a connection at the end of a turn, in pieces: what is large is one of its
// own, and not copied.
//
// Filled by `FrameConnection`, written by transports in one go. hot: once per frame.

package import CumulusModel

package struct FrameOutput: Sendable {
    private var ended: [ArraySlice<UInt8>] = []
    /// What comes behind them.
    private var open: Bytes
    package private(set) var count: Int
    private static let largeSize = 32 << 10

    package init(_ bytes: Bytes = []) {
        open = bytes
        count = bytes.count
    }

    package var isEmpty: Bool { count == 0 }

    /// One behind the other; none is empty.
    package var pieces: [ArraySlice<UInt8>] { open.isEmpty ? ended : ended + [open[...]] }

    /// All of it, for tests and simulated sockets.
    package var bytes: Bytes { Bytes(pieces.joined()) }

    package mutating func append(_ frame: Frame) {
        count += Frame.lengthSize + Frame.headSize + frame.payload.count
        FrameEncoder.appendHead(of: frame, payloadBytes: frame.payload.count, to: &open)
        append(frame.payload[...])
    }

    /// A frame with this for its payload, and none of its own.
    package mutating func append(_ frame: Frame, _ message: MessagePieces) {
        count += Frame.lengthSize + Frame.headSize + message.count
        FrameEncoder.appendHead(of: frame, payloadBytes: message.count, to: &open)
        append(message.first[...])
        for piece in message.others { append(piece) }
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= FrameOutput.largeSize else { return open.append(contentsOf: bytes) }
        if !open.isEmpty { ended.append(open[...]) }
        ended.append(bytes)
        open = []
    }
}
