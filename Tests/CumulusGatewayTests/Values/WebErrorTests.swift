// Errors of the core as web services tell them.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebErrorTests {
    @Test func codesHaveTheirStatus() {
        let expected: [ServiceError.Code: (WebError.Code, Int)] = [
            .permissionFailure: (.accessDenied, 403), .batchRequestFailed: (.atomicError, 400),
            .notAuthenticated: (.authenticationFailed, 401), .invalidArguments: (.badRequest, 400),
            .limitExceeded: (.badRequest, 400), .changeTokenExpired: (.badRequest, 400),
            .serverRecordChanged: (.conflict, 409), .internalError: (.internalError, 500),
            .unknownItem: (.notFound, 404), .quotaExceeded: (.quotaExceeded, 413),
            .requestRateLimited: (.throttled, 429), .serviceUnavailable: (.tryAgainLater, 503),
            .zoneBusy: (.tryAgainLater, 503), .referenceViolation: (.validatingReference, 412),
            .zoneNotFound: (.zoneNotFound, 404), .badContainer: (.notFound, 404),
        ]
        for (code, (webCode, status)) in expected {
            let error = WebError(ServiceError(code, "why"))
            #expect(error.code == webCode, "\(code)")
            #expect(error.status == status, "\(code)")
        }
        #expect(WebError(.authenticationRequired, "").status == 421)
    }

    /// Clients repeat what has a time, and nothing else.
    @Test func onlyWhatMayBeRepeatedHasATime() {
        for code in ServiceError.Code.allCases {
            var error = ServiceError(code, "why")
            error.retryAfterMilliseconds = 1_001
            let web = WebError(error)
            let isLater = web.code == .throttled || web.code == .tryAgainLater
            #expect(web.retryAfter == (isLater ? 2 : nil), "\(code)")
        }
        #expect(WebError(ServiceError(.zoneBusy, "why")).retryAfter == 1)
    }

    /// A file that no node has doesn't come by waiting.
    @Test func missingFilesAreWaitedForWhereOthersMayHaveThem() {
        var error = ServiceError(.assetNotAvailable, .assetIncomplete, "why")
        #expect(WebError(error).code == .badRequest)
        #expect(WebError(error).retryAfter == nil)
        error.retryAfterMilliseconds = 1_000
        #expect(WebError(error).code == .tryAgainLater)
        #expect(WebError(error).retryAfter == 1)
    }

    @Test func dictionariesHoldWhatClientsRead() {
        var error = WebError(.throttled, "slowly")
        error.retryAfter = 3
        let text = """
            {"uuid": "u", "serverErrorCode": "THROTTLED", "reason": "slowly", "retryAfter": 3}
            """
        #expect(error.json(uuid: "u").text == text)
        let entry = error.entry(JSON.Member("recordName", "a"), uuid: "u")
        #expect(entry["recordName"] == "a")
        #expect(entry["retryAfter"] == .integer(3))
        var refused = WebError(.authenticationRequired, "sign in")
        refused.redirectURL = "https://node/sign-in"
        #expect(refused.json(uuid: "u")["redirectURL"] == "https://node/sign-in")
        #expect(refused.json(uuid: "u")["retryAfter"] == nil)
    }
}
