// The frames of one connection, as the parts of a connection share them: `CallerConnection` takes
// what has arrived, and `OpenCalls` sends answers.
//
// A box around `FrameConnection`, touched on the connection's loop only. hot: several calls per
// call of a caller.

import CumulusModel
import CumulusWire

final class ConnectionFrames {
    var connection: FrameConnection

    init(_ connection: FrameConnection) {
        self.connection = connection
    }

    /// Bytes of frames that the other side has not taken yet.
    var unsentBytes: Int { connection.pendingBytes + connection.output.count }

    func send(_ frame: Frame) {
        connection.send(frame)
    }

    func send(_ message: MessagePieces, isEnd: Bool, stream: UInt32) {
        connection.send(message, isEnd: isEnd, stream: stream)
    }

    /// Ends a stream with an error; stream 0 stands for the whole connection.
    func refuse(_ stream: UInt32, _ error: ServiceError) {
        send(Frame(.status, isEnd: true, stream: stream, payload: error.encoded()))
    }

    /// Allows the other side to send so many more bytes on a stream.
    func sendCredit(_ byteCount: Int, on stream: UInt32) {
        var payload: Bytes = []
        FrameEncoder.append(UInt32(clamping: byteCount), to: &payload)
        send(Frame(.credit, stream: stream, payload: payload))
    }
}
