// Who is told the metrics: this machine, hosts on the operator's list, and holders of the token.

import CumulusModel
import CumulusTesting
import Testing

@testable import CumulusGateway

@Suite struct MetricsAccessTests {
    private static let token = "0123456789abcdef0123456789abcdef"
    private static let inside: Bytes = [10, 1, 2, 3]
    private static let outside: Bytes = [192, 0, 2, 1]

    private func verdict(
        _ access: MetricsAccess,
        _ address: Bytes,
        _ authorization: String? = nil,
        isLoopback: Bool = false,
        isOwnHost: Bool = true
    ) -> MetricsAccess.Verdict {
        access.verdict(address, authorization, isLoopback: isLoopback, isOwnHost: isOwnHost)
    }

    @Test func onlyThisMachineIsToldByDefault() {
        let access = MetricsAccess()
        #expect(verdict(access, [127, 0, 0, 1], isLoopback: true) == .told)
        let rebound = verdict(access, [127, 0, 0, 1], isLoopback: true, isOwnHost: false)
        #expect(rebound == .wrongHost)
        #expect(verdict(access, Self.inside) == .refused)
        #expect(verdict(access, [], "Bearer " + Self.token) == .refused)
    }

    @Test func hostsOnTheListNeedNoToken() throws {
        let access = MetricsAccess(hosts: try AddressList("10.0.0.0/8,fd00::/8"))
        #expect(verdict(access, Self.inside) == .told)
        #expect(verdict(access, Self.inside, isOwnHost: false) == .wrongHost)
        #expect(verdict(access, Self.outside) == .refused)
        #expect(verdict(access, []) == .refused)
    }

    @Test func theTokenIsGoodFromEverywhere() throws {
        let digest = try #require(MetricsAccess.digest(of: Self.token))
        let access = MetricsAccess(hosts: try AddressList("10.0.0.0/8")) { digest }
        for header in ["Bearer " + Self.token, "bearer  " + Self.token] {
            #expect(verdict(access, Self.outside, header, isOwnHost: false) == .told, "\(header)")
        }
        let wrong: [String?] = [
            nil, "", "Bearer", "Bearer ", Self.token, "Basic " + Self.token,
            "Bearer " + Self.token.dropLast(), "Bearer " + Self.token + "0",
        ]
        for header in wrong {
            #expect(verdict(access, Self.outside, header) == .wrongToken, "\(header ?? "none")")
        }
        // Who needs none is told with a wrong one, too.
        #expect(verdict(access, Self.inside, "Bearer x") == .told)
        #expect(MetricsAccess.digest(of: "too-short") == nil)
    }

    @Test func thePageAnswersByIt() async throws {
        let server = try await TestServer()
        let digest = try #require(MetricsAccess.digest(of: Self.token))
        let meter = WebMeter()
        func status(
            _ access: MetricsAccess,
            _ authorization: String?
        ) async throws -> (Int, [String]) {
            let pages = OperatorPages(server.node, meter, access: access)
            let told = await pages.answer(
                "GET",
                "/metrics",
                isLoopback: false,
                isOwnHost: false,
                address: Self.outside,
                authorization: authorization
            )
            let answer = try #require(told)
            return (answer.status, answer.headers.map(\.name))
        }
        let access = MetricsAccess { digest }
        #expect(try await status(access, "Bearer " + Self.token).0 == 200)
        let refused = try await status(access, "Bearer x")
        #expect(refused.0 == 401 && refused.1.contains("WWW-Authenticate"))
        #expect(try await status(MetricsAccess(), nil).0 == 403)
        try await server.stop()
    }
}
