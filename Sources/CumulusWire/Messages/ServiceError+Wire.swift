// The one place where errors become numbers on the wire, and numbers become errors.
//
// `Status` in records.proto: the payload of a STATUS frame, and the error of an item in a result.

import CCumulusWire
package import CumulusModel

extension ServiceError {
    /// The bytes of a `Status`.
    ///
    /// `serverRecord` is an encoded `Record`.
    package func encoded(serverRecord: Bytes? = nil) -> Bytes {
        var writer = CanonicalWriter(reserving: message.utf8.count + 16)
        writer.field(1, varint: UInt64(code.rawValue))
        writer.field(2, text: message)
        writer.field(3, varint: UInt64(reason.rawValue))
        writer.field(4, varint: UInt64(retryAfterMilliseconds ?? 0))
        if let serverRecord { writer.present(5, bytes: serverRecord) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__status__unpack)
        self.init(wire: message.raw)
    }

    /// Codes and reasons that this release doesn't know are internal errors without a reason.
    init(wire raw: Cumulus__V1__Status) {
        self.init(
            Code(rawValue: raw.code) ?? .internalError,
            Reason(rawValue: UInt32(raw.reason.rawValue)) ?? .none,
            raw.message.swiftText
        )
        retryAfterMilliseconds = raw.retry_after_ms == 0 ? nil : raw.retry_after_ms
        serverRecord = raw.server_record.flatMap { Record(wire: $0.pointee) }
    }
}
