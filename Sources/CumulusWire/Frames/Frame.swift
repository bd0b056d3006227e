// One frame: the unit in which both sides of a connection talk.
//
//    0             4      5             9
//    +-------------+------+-------------+---------------- ...
//    | length      | kind | stream      | payload
//    +-------------+------+-------------+---------------- ...
//
// length  32 bits, big-endian: the bytes after this field (5 + payload). First, so that it is
//         judged before a byte is buffered.
// kind    8 bits: what the frame says; the top bit: this side sends nothing more on this stream.
// stream  32 bits, big-endian: the call that the frame belongs to; 0 is the connection itself. The
//         dialler's calls are odd.
//
// `FrameDecoder` reads frames, `FrameEncoder` writes them. hot: once per frame.
//
// Folder: the frames of a connection, and the seam to the transport. Read `Frame`, then
// `FrameConnection` and `FrameTransport`.

package import CumulusModel

package enum FrameKind: UInt8, Sendable {
    case hello = 1
    case call = 2
    case message = 3
    case status = 4
    case cancel = 5
    case credit = 6
    case ping = 7
    case pong = 8
    case drain = 9
    case nonce = 10
    case causal = 11
}

package struct Frame: Hashable, Sendable {
    package var kind: FrameKind
    package var isEnd: Bool
    package var stream: UInt32
    package var payload: Bytes

    package init(_ kind: FrameKind, isEnd: Bool = false, stream: UInt32 = 0, payload: Bytes = []) {
        self.kind = kind
        self.isEnd = isEnd
        self.stream = stream
        self.payload = payload
    }

    /// Bytes of the length field.
    package static let lengthSize = 4
    /// Bytes that the length counts before the payload.
    package static let headSize = 5
    /// What both sides send first: 7 letters and the version of the protocol.
    package static let preface = Bytes("CUMULUS".utf8) + [1]
}

/// What a peer sent that can't be understood.
///
/// The connection's state is in doubt: it is closed.
package struct ProtocolFault: Error, Equatable, Sendable {
    package var message: String

    package init(_ message: String) {
        self.message = message
    }
}
