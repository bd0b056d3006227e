// Appends frames to the bytes that leave a connection at the end of its turn.
//
// hot: once per frame.

package import CumulusModel

package enum FrameEncoder {
    package static func append(_ frame: Frame, to output: inout Bytes) {
        appendHead(of: frame, payloadBytes: frame.payload.count, to: &output)
        output.append(contentsOf: frame.payload)
    }

    /// What stands before the payload.
    static func appendHead(of frame: Frame, payloadBytes: Int, to output: inout Bytes) {
        append(UInt32(Frame.headSize + payloadBytes), to: &output)
        output.append(frame.kind.rawValue | (frame.isEnd ? 0x80 : 0))
        append(frame.stream, to: &output)
    }

    package static func append(_ number: UInt32, to output: inout Bytes) {
        withUnsafeBytes(of: number.bigEndian) { output.append(contentsOf: $0) }
    }
}
