// Errors over gRPC: the table of `proto/grpc.md`, both ways, and the trailers.

import CumulusModel
import CumulusTesting
import CumulusWire
import GRPCCore
import Testing

@testable import CumulusGRPC

@Suite struct GRPCRefusalTests {
    /// `INVALID_ARGUMENT` of `invalidArgument`.
    private static func constant(_ name: String) -> String {
        name.replacing(/([a-z])([A-Z])/) { "\($0.output.1)_\($0.output.2)" }.uppercased()
    }

    /// gRPC's own name for a code; `internalError` of the library is `INTERNAL`.
    private static func name(of code: RPCError.Code) -> String {
        code == .internalError ? "INTERNAL" : constant("\(code)")
    }

    /// The codes and reasons of the page, each with what gRPC has for it.
    private static func stated() throws -> [String: String] {
        let page = try Golden.text("grpc.md")
        let section = try #require(page.split(separator: "\n## Errors\n").last)
        var stated: [String: String] = [:]
        for row in section.matches(of: /\| `([A-Z_]+)` \| ([^|]+) \|/) {
            for name in row.output.2.split(separator: ", ") {
                stated[String(name).trimmingPrefix(" ").description] = String(row.output.1)
            }
        }
        return stated
    }

    @Test func thePageHasTheTable() throws {
        var ours: [String: String] = [:]
        // CloudKit's codes that no node sends are in the table of nobody.
        for code in ServiceError.Code.allCases {
            ours["\(code)"] = Self.name(of: GRPCRefusal.code(of: code))
        }
        for reason in ServiceError.Reason.allCases {
            guard let code = GRPCRefusal.code(ofReason: reason) else { continue }
            ours[Self.constant("\(reason)")] = Self.name(of: code)
        }
        #expect(try Self.stated() == ours)
    }

    @Test func aReasonGoesBeforeItsCode() {
        let late = ServiceError(.serviceUnavailable, .deadline, "late")
        #expect(GRPCRefusal.code(of: late) == .deadlineExceeded)
        let draining = ServiceError(.serviceUnavailable, .draining, "going")
        #expect(GRPCRefusal.code(of: draining) == .unavailable)
    }

    @Test func theTrailersHoldOurStatus() throws {
        var error = ServiceError(.requestRateLimited, .overloaded, "too much; come again")
        error.retryAfterMilliseconds = 250
        var more: Metadata = [:]
        more.addBinary([1], forKey: "cumulus-request-id-bin")
        let told = GRPCRefusal.error(error, more)
        #expect(told.code == .resourceExhausted && told.message == error.message)
        let status = try #require(Array(told.metadata[binaryValues: "cumulus-status-bin"]).first)
        let read = try ServiceError(wire: status)
        #expect(read.code == error.code && read.reason == error.reason)
        #expect(read.message == error.message && read.retryAfterMilliseconds == 250)
        #expect(Array(told.metadata[stringValues: "grpc-retry-pushback-ms"]) == ["250"])
        #expect(Array(told.metadata[binaryValues: "cumulus-request-id-bin"]) == [[1]])
    }
}
