// An error as web services tell it: a code that clients know, its HTTP status, and a reason.
//
// Code that reads a request throws it. One place makes it from `ServiceError`, the core's only
// error. As JSON it is the body of a refused request, or one entry of a list of results.

package import CumulusModel
import CumulusWire

package struct WebError: Error, Hashable, Sendable {
    /// The codes that clients know.
    package enum Code: String, CaseIterable, Sendable {
        case accessDenied = "ACCESS_DENIED"
        case atomicError = "ATOMIC_ERROR"
        case authenticationFailed = "AUTHENTICATION_FAILED"
        case authenticationRequired = "AUTHENTICATION_REQUIRED"
        case badRequest = "BAD_REQUEST"
        case conflict = "CONFLICT"
        case exists = "EXISTS"
        case internalError = "INTERNAL_ERROR"
        case notFound = "NOT_FOUND"
        case quotaExceeded = "QUOTA_EXCEEDED"
        case throttled = "THROTTLED"
        case tryAgainLater = "TRY_AGAIN_LATER"
        case validatingReference = "VALIDATING_REFERENCE_ERROR"
        case zoneNotFound = "ZONE_NOT_FOUND"

        /// The status of a request that is refused with this code.
        package var status: Int {
            switch self {
            case .badRequest, .atomicError: 400
            case .authenticationFailed: 401
            case .accessDenied: 403
            case .notFound, .zoneNotFound: 404
            case .conflict, .exists: 409
            case .validatingReference: 412
            case .quotaExceeded: 413
            case .authenticationRequired: 421
            case .throttled: 429
            case .internalError: 500
            case .tryAgainLater: 503
            }
        }
    }

    package var code: Code
    /// A message that says what happened and what to do about it.
    package var reason: String
    /// Seconds; nil tells clients not to repeat the request.
    package var retryAfter: Int64?
    /// The absolute URL where a user signs in.
    package var redirectURL: String?
    /// The code's status, unless HTTP has a more exact one.
    package var status: Int
    /// Headers that belong to the status, such as Allow.
    package var headers: [String: String] = [:]

    package init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
        status = code.status
    }

    package static func badRequest(_ reason: String) -> WebError {
        WebError(.badRequest, reason)
    }

    /// A URL does not take the request's method.
    package static func methodNotAllowed(_ reason: String, allowed: [String]) -> WebError {
        var error = WebError.badRequest(reason)
        error.status = 405
        error.headers["Allow"] = allowed.joined(separator: ", ")
        return error
    }

    /// Keys of an error dictionary, without the keys that name the failed item.
    ///
    /// - Parameter uuid: The request's id, as in its header.
    package func members(uuid: String) -> [JSON.Member] {
        var members = [
            JSON.Member("uuid", .string(uuid)),
            JSON.Member("serverErrorCode", .string(code.rawValue)),
            JSON.Member("reason", .string(reason)),
        ]
        if let retryAfter { members.append(JSON.Member("retryAfter", .integer(retryAfter))) }
        if let redirectURL { members.append(JSON.Member("redirectURL", .string(redirectURL))) }
        return members
    }

    /// The body of a refused request.
    package func json(uuid: String) -> JSON { .object(members(uuid: uuid)) }

    /// The headers of a refused request that are the error's own.
    package var fields: [(name: String, value: String)] {
        var fields = headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        if let retryAfter { fields.append(("Retry-After", String(retryAfter))) }
        return fields
    }

    /// The answer to a request that is refused as a whole.
    package func answer(uuid: String) -> WebAnswer {
        WebAnswer(
            status: status,
            headers: fields + WebGateway.common(uuid),
            body: json(uuid: uuid).bytes
        )
    }

    /// One entry of a list of results.
    ///
    /// - Parameter subject: The failed item, as its endpoint names it.
    package func entry(_ subject: JSON.Member, uuid: String) -> JSON {
        .object([subject] + members(uuid: uuid))
    }
}

extension WebError {
    package init(_ error: ServiceError) {
        // Nothing comes of waiting for content that no node has.
        let isGone = error.code == .assetNotAvailable && error.retryAfterMilliseconds == nil
        self.init(isGone ? .badRequest : Code(error.code), error.message)
        guard code == .throttled || code == .tryAgainLater else { return }
        let milliseconds = Int64(error.retryAfterMilliseconds ?? 1_000)
        retryAfter = max(1, (milliseconds + 999) / 1_000)
    }

    private init(unreadable why: String) {
        self.init(.internalError, "the node's answer can't be read: \(why)")
    }

    /// Converts an error of a call of the gateway.
    init(any error: any Error) {
        switch error {
        case let error as WebError: self = error
        case let error as ServiceError: self.init(error)
        case let error as MalformedMessage: self.init(unreadable: error.message)
        default: self.init(unreadable: "\(error)")
        }
    }
}

extension WebError.Code {
    fileprivate init(_ code: ServiceError.Code) {
        self =
            switch code {
            case .internalError, .partialFailure, .incompatibleVersion: .internalError
            case .networkUnavailable, .networkFailure, .serviceUnavailable, .zoneBusy,
                .operationCancelled, .serverResponseLost, .assetNotAvailable,
                .accountTemporarilyUnavailable:
                .tryAgainLater
            case .badContainer, .unknownItem: .notFound
            case .requestRateLimited: .throttled
            case .notAuthenticated: .authenticationFailed
            case .permissionFailure, .missingEntitlement, .managedAccountRestricted:
                .accessDenied
            case .invalidArguments, .changeTokenExpired, .badDatabase, .limitExceeded,
                .assetFileNotFound, .assetFileModified, .tooManyParticipants,
                .participantMayNeedVerification, .participantAlreadyInvited:
                .badRequest
            case .serverRecordChanged: .conflict
            case .serverRejectedRequest, .alreadyShared, .constraintViolation: .exists
            case .batchRequestFailed: .atomicError
            case .quotaExceeded: .quotaExceeded
            case .zoneNotFound, .userDeletedZone: .zoneNotFound
            case .referenceViolation: .validatingReference
            }
    }
}
