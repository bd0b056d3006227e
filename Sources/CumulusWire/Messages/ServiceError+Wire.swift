// The one place where errors become numbers on the wire, and numbers become errors.
//
// `Status` in records.proto: the payload of a STATUS frame, and the error of an item in a result.

package import CumulusModel

/// `Status`.
package struct WireStatus: WireMessage {
    package var code: UInt32 = 0
    package var message = ""
    package var reason: UInt32 = 0
    /// Milliseconds; 0: no advice.
    package var retryAfter: UInt32 = 0
    package var serverRecord: Embedded<WireRecord>?

    package init() {}

    /// - Parameter serverRecord: An encoded `Record`.
    package init(_ error: ServiceError, serverRecord: Bytes? = nil) {
        code = error.code.rawValue
        message = error.message
        reason = error.reason.rawValue
        retryAfter = error.retryAfterMilliseconds ?? 0
        self.serverRecord = serverRecord.map { .encoded($0) }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &code)
        try coder.text(2, &message)
        try coder.number(3, &reason)
        try coder.number(4, &retryAfter)
        try coder.message(5, &serverRecord)
    }
}

extension ServiceError {
    /// The bytes of a `Status`.
    ///
    /// - Parameter serverRecord: An encoded `Record`.
    package func encoded(serverRecord: Bytes? = nil) -> Bytes {
        WireStatus(self, serverRecord: serverRecord).encoded()
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        self.init(try WireStatus(wire: bytes))
    }

    /// Codes and reasons that this release doesn't know are internal errors without a reason.
    package init(_ status: WireStatus) {
        self.init(
            Code(rawValue: status.code) ?? .internalError,
            Reason(rawValue: status.reason) ?? .none,
            status.message
        )
        retryAfterMilliseconds = status.retryAfter == 0 ? nil : status.retryAfter
        serverRecord = status.serverRecord?.message.flatMap { Record($0) }
    }
}
