// Appends frames to the bytes that leave a connection at the end of its turn.
//
// hot: once per frame.

package import CumulusModel

package enum FrameEncoder {
    package static func append(_ frame: Frame, to output: inout Bytes) {
        append(frame.kind, isEnd: frame.isEnd, stream: frame.stream, to: &output) {
            $0.append(contentsOf: frame.payload)
        }
    }

    /// Appends a frame whose payload is written in place.
    package static func append(
        _ kind: FrameKind,
        isEnd: Bool,
        stream: UInt32,
        to output: inout Bytes,
        _ payload: (inout Bytes) -> Void
    ) {
        let start = output.count
        append(0, to: &output)
        output.append(kind.rawValue | (isEnd ? 0x80 : 0))
        append(stream, to: &output)
        payload(&output)
        let length = UInt32(output.count - start - Frame.lengthSize)
        withUnsafeBytes(of: length.bigEndian) { bytes in
            for (index, byte) in bytes.enumerated() { output[start + index] = byte }
        }
    }

    package static func append(_ number: UInt32, to output: inout Bytes) {
        withUnsafeBytes(of: number.bigEndian) { output.append(contentsOf: $0) }
    }
}
