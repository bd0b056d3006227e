// `UploadPart` of services.proto: what gRPC, whose streams have messages of one kind, puts around
// the messages of an upload.
//
// Taken off by `GRPCDoor` before the node is given what is inside. hot: once per message of chunks.

import CumulusModel

enum UploadPart {
    /// The numbers of its fields.
    static let begin: UInt8 = 1
    static let chunks: UInt8 = 2

    /// The bytes of the message in a field, which has to be all that the part holds.
    static func content(_ part: Bytes, of field: UInt8) throws(ServiceError) -> Bytes {
        guard part.first == field << 3 | 2, let (count, start) = length(in: part),
            part.count - start == count
        else {
            throw ServiceError(
                .invalidArguments,
                .protocolError,
                "an upload has `begin` in its first message, and `chunks` in each one behind it"
            )
        }
        return Bytes(part[start...])
    }

    /// The number behind the tag, and where what it counts begins.
    private static func length(in part: Bytes) -> (count: Int, start: Int)? {
        var count = 0
        for (index, byte) in part.dropFirst().prefix(5).enumerated() {
            count |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return (count, index + 2) }
        }
        return nil
    }
}
