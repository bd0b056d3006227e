// The errors that end a call before or beside its work: too much at once, too late, this node goes.
//
// Thrown and sent by `OpenCalls` and the families of calls.

import CumulusModel

extension ServiceError {
    /// A limit on bytes or calls is reached; a retry after so many milliseconds may succeed.
    static func overloaded(_ what: String, retryAfter: Int64 = 100) -> ServiceError {
        var error = ServiceError(.requestRateLimited, .overloaded, "\(what); try again in a moment")
        error.retryAfterMilliseconds = UInt32(clamping: retryAfter)
        return error
    }

    static var tooManyWrites: ServiceError { overloaded("too many writes are waiting") }
    static var tooManyReads: ServiceError { overloaded("too many reads are waiting") }

    /// All connections together hold too much.
    static func nodeFull(_ limits: Limits) -> ServiceError {
        overloaded("more than \(limits.nodeUnansweredBytes) unanswered bytes on this node")
    }

    static let draining: ServiceError = {
        var error = ServiceError(
            .serviceUnavailable,
            .draining,
            "this node is shutting down; connect to another one, or here again later"
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }()

    /// The node's database can't be reached, or another process has taken it over.
    static let storeAway: ServiceError = {
        var error = ServiceError(
            .serviceUnavailable,
            .draining,
            "this node can't read its database now; try again, or another node"
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }()

    static let cancelledByCaller = ServiceError(
        .operationCancelled,
        "the caller cancelled the call"
    )

    static let withoutCredit = ServiceError(
        .serviceUnavailable,
        .deadline,
        "the call's time was up before the caller gave credit for the rest"
    )

    static let untaken = ServiceError(
        .serviceUnavailable,
        .deadline,
        "the call's time was up before the caller had taken what else it asked for"
    )

    static func answerTooLarge(_ byteCount: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooLarge,
            "the answer has \(byteCount) bytes, which don't fit into a frame; ask for less at once"
        )
    }

    static func requestTooLarge(_ byteCount: Int, limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooLarge,
            "the request has \(byteCount) bytes; the limit is \(limit), send it in parts"
        )
    }

    static func unknownMethod(_ number: UInt32) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .protocolError,
            "method \(number) is not known to this server"
        )
    }

    static let oneMessageOnly = ServiceError(
        .invalidArguments,
        .protocolError,
        "this call takes exactly one message: set the end bit of its CALL frame"
    )

    static let requestIDNeeded = ServiceError(
        .invalidArguments,
        .invalidValue,
        "this call needs a request id of 16 bytes, so that it can be repeated safely"
    )
}
