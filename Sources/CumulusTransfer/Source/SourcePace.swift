// What follows an answer of a web service: it is taken, or the request is made again later, or the
// migration ends.
//
// Pure. A service that says how long to wait is believed; else the waits double.

package import CumulusModel

package enum SourcePace: Equatable, Sendable {
    case take
    /// The same request after so many milliseconds.
    case wait(Int64)
    case refuse(SourceRefusal)

    /// The longest wait that a service is believed, in milliseconds.
    package static let longest: Int64 = 15 * 60_000

    /// - Parameters:
    ///   - status: HTTP status; nil: no answer came.
    ///   - retryAfter: The header of that name.
    ///   - body: The answer's JSON.
    ///   - attempt: How many times the request was made already, from 1.
    package static func of(
        status: Int?,
        retryAfter: String?,
        body: some Sequence<UInt8>,
        attempt: Int
    ) -> SourcePace {
        guard let status else { return .wait(doubling(attempt)) }
        if (200..<300).contains(status) { return .take }
        let refusal =
            SourceRefusal(body: body)
            ?? SourceRefusal(code: "", reason: "it answered with the HTTP status \(status)")
        let named = refusal.retryAfter ?? retryAfter.flatMap { Double($0) }
        let passes = [429, 500, 502, 503, 504].contains(status) || refusal.mayPass
        if let named, passes { return .wait(milliseconds(named)) }
        return passes ? .wait(doubling(attempt)) : .refuse(refusal)
    }

    /// Milliseconds to wait before a refused request is made again.
    package static func pause(for refusal: SourceRefusal, attempt: Int) -> Int64 {
        refusal.retryAfter.map(milliseconds) ?? doubling(attempt)
    }

    private static func milliseconds(_ seconds: Double) -> Int64 {
        guard seconds.isFinite, seconds > 0 else { return 100 }
        return Int64(min(seconds * 1_000, Double(longest)).rounded(.up))
    }

    /// Half a second, then twice as long each time, up to 30 seconds.
    private static func doubling(_ attempt: Int) -> Int64 {
        min(30_000, 500 << Int64(max(0, min(attempt - 1, 10))))
    }
}

/// Waits between two tries of a request that a busy service refuses, within the patience of a
/// migration.
package struct SourceWait {
    private let end: ContinuousClock.Instant
    private var attempt = 0

    package init(patience: Duration) { end = ContinuousClock.now + patience }

    /// Waits as long as a refusal says; false, at once, if the patience ends before.
    package mutating func pause(for refusal: SourceRefusal) async throws -> Bool {
        attempt += 1
        let pause = Duration.milliseconds(SourcePace.pause(for: refusal, attempt: attempt))
        guard ContinuousClock.now + pause < end else { return false }
        try await Task.sleep(for: pause)
        return true
    }
}

extension SourceRefusal {
    /// Whether the same request may succeed later.
    package var mayPass: Bool {
        ["THROTTLED", "TRY_AGAIN_LATER", "ZONE_BUSY"].contains(code) || retryAfter != nil
    }

    /// The error in which a migration ends.
    package func error(of what: String) -> ServiceError {
        let code: ServiceError.Code =
            switch self.code {
            case "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED": .notAuthenticated
            case "ACCESS_DENIED": .permissionFailure
            case "NOT_FOUND": .unknownItem
            case "ZONE_NOT_FOUND": .zoneNotFound
            case "BAD_REQUEST": .invalidArguments
            case "QUOTA_EXCEEDED": .quotaExceeded
            case "INTERNAL_ERROR": .internalError
            default: .serverRejectedRequest
            }
        return ServiceError(code, "the source refused \(what): \(text)\(advice)")
    }

    private var advice: String {
        switch code {
        case "AUTHENTICATION_FAILED":
            "; check the key and its id, or the user's token, and that both are of this "
                + "container and environment"
        case "AUTHENTICATION_REQUIRED":
            "; the user's token has ended: get a new one for --source-token-file"
        case "ACCESS_DENIED": "; give the key's or the user's role READ on the type"
        case _ where mayPass: "; the source is busy: run it again later"
        case "BAD_REQUEST" where reason.contains("queryable"):
            "; add the index QUERYABLE to the field in the source's schema: a migration lists by "
                + "___recordID, and follows by ___modTime"
        default: ""
        }
    }
}
