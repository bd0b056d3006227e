// Requests to other sites over real sockets, with TLS: which address is connected to, whose
// certificate is believed, and what ends a request.

import CumulusGateway
import CumulusModel
import CumulusTesting
import CumulusTransport
import Foundation
import Logging
import NIOCore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct OutboundWebClientTests {
    /// Answers by the path, and counts.
    private final class Site: WebPages {
        private let count = Mutex(0)
        var requests: Int { count.withLock { $0 } }

        func isAt(_ path: Substring) -> Bool { true }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            count.withLock { $0 += 1 }
            switch request.target {
            case "/hook": return WebAnswer(status: 201, body: request.body + [0, 0xFF])
            case "/away":
                return WebAnswer(status: 302, headers: [("Location", "/hook")], body: [])
            case "/large": return WebAnswer(status: 200, body: Bytes(repeating: 1, count: 300_000))
            default:
                try? await Task.sleep(for: .seconds(30))
                return WebAnswer(status: 200)
            }
        }
    }

    /// Serves a site with the certificate of `hooks.test` for the length of a test.
    private func withSite(
        _ body: (_ site: Site, _ port: Int, _ authority: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "cumulus-site-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func write(_ text: String, _ name: String) throws -> String {
            let file = folder.appending(path: name)
            try Data(text.utf8).write(to: file)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600],
                ofItemAtPath: file.path
            )
            return file.path
        }
        let authority = try write(SitePEM.authority, "authority.pem")
        let identity = try TLSIdentity(
            certificate: try write(SitePEM.certificate, "site.pem"),
            key: try write(SitePEM.key, "site.key"),
            onRenewal: { _ in }
        )
        // 2126-11-04 17:25:13 UTC.
        #expect(identity.end == 4_949_486_713)
        let site = Site()
        let server = try await TestServer()
        let gateway = WebGateway(NodeDoor(server.node) { _ in nil })
        let http = HTTPServer(
            gateway,
            OperatorPages(server.node, gateway.meter),
            [site],
            hosts: WebHosts(["hooks.test"]),
            secure: { identity.web },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try await withRunning(http) { port in try await body(site, port, authority) }
        try await server.stop()
    }

    /// Posts with a client of its own.
    private func post(
        _ url: String,
        _ milliseconds: Int64 = 15_000,
        judge: OutboundWebClient.Judge? = { _ in true },
        resolve: @escaping OutboundWebClient.Resolver,
        authorities: String?
    ) async throws -> (status: Int, body: Bytes) {
        let loops = EventLoops(threads: 1)
        let client = OutboundWebClient(
            on: loops.group,
            milliseconds: milliseconds,
            judge: judge,
            resolve: resolve,
            authorities: authorities
        )
        let address = try #require(WebAddress(url))
        let headers = [(name: "Content-Type", value: "text/plain")]
        let result: Result<(status: Int, body: Bytes), any Error>
        do {
            result = .success(try await client.post([7], to: address, headers: headers))
        } catch {
            result = .failure(error)
        }
        try await loops.stop()
        return try result.get()
    }

    private static let loopback: OutboundWebClient.Resolver = { _, port in
        try SocketAddress(ipAddress: "127.0.0.1", port: port)
    }

    /// The name exists nowhere else, so an answer shows that the judged address was used, and the
    /// certificate was still held to the name.
    @Test func theJudgedAddressIsConnectedTo() async throws {
        try await withSite { site, port, authority in
            let asked = Mutex<[String]>([])
            let (status, body) = try await post(
                "https://hooks.test:\(port)/hook",
                resolve: { host, port in
                    asked.withLock { $0.append(host) }
                    return try SocketAddress(ipAddress: "127.0.0.1", port: port)
                },
                authorities: authority
            )
            #expect(status == 201)
            #expect(body == [7, 0, 0xFF])
            #expect(asked.withLock { $0 } == ["hooks.test"])
            #expect(site.requests == 1)
        }
    }

    @Test func anotherSitesCertificateIsRefused() async throws {
        try await withSite { site, port, authority in
            await #expect(throws: (any Error).self) {
                try await post(
                    "https://other.test:\(port)/hook",
                    resolve: Self.loopback,
                    authorities: authority
                )
            }
            // The system's authorities did not sign it.
            let failure = await #expect(throws: OutboundWebClient.Failure.self) {
                try await post(
                    "https://hooks.test:\(port)/hook",
                    resolve: Self.loopback,
                    authorities: nil
                )
            }
            let reason = "the certificate of hooks.test is not one that the system's authorities "
            #expect(failure?.description == reason + "vouch for")
            #expect(site.requests == 0)
        }
    }

    /// A name that leads to an allowed address first, at which nothing listens, and to another one
    /// when it is resolved again.
    @Test func aNameThatIsBoundAnewIsRefused() async throws {
        try await withSite { site, port, authority in
            let url = "https://hooks.test:\(port)/hook"
            let places = Mutex(["127.0.0.2", "127.0.0.1"])
            let judged = Mutex<[Bytes]>([])
            let resolve: OutboundWebClient.Resolver = { _, port in
                let place = places.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
                return try SocketAddress(ipAddress: place, port: port)
            }
            let judge: OutboundWebClient.Judge = { address in
                judged.withLock { $0.append(address) }
                return address == [127, 0, 0, 2]
            }
            await #expect(throws: (any Error).self) {
                try await post(url, judge: judge, resolve: resolve, authorities: authority)
            }
            #expect(judged.withLock { $0 } == [[127, 0, 0, 2]])
            await #expect(throws: OutboundWebClient.Failure.self) {
                try await post(url, judge: judge, resolve: resolve, authorities: authority)
            }
            #expect(judged.withLock { $0 }.last == [127, 0, 0, 1])
            // An address that is no name is judged as it stands, and never resolved.
            for host in ["127.0.0.1", "[::1]"] {
                await #expect(throws: OutboundWebClient.Failure.self) {
                    try await post(
                        "https://\(host):\(port)/hook",
                        judge: PublicAddress.isPublic,
                        resolve: { _, _ in
                            Issue.record("an address was resolved")
                            return try SocketAddress(ipAddress: "127.0.0.2", port: 1)
                        },
                        authorities: authority
                    )
                }
            }
            // The client may write this name in another way, and resolve it itself.
            await #expect(throws: OutboundWebClient.Failure.self) {
                try await post(
                    "https://xn--hks-0nab.test:\(port)/hook",
                    resolve: Self.loopback,
                    authorities: authority
                )
            }
            #expect(site.requests == 0)
        }
    }

    @Test func aRedirectIsAnAnswer() async throws {
        try await withSite { site, port, authority in
            let (status, _) = try await post(
                "https://hooks.test:\(port)/away",
                resolve: Self.loopback,
                authorities: authority
            )
            #expect(status == 302)
            #expect(site.requests == 1)
        }
    }

    @Test func timeAndSizeAreLimited() async throws {
        try await withSite { _, port, authority in
            for (path, milliseconds) in [("large", 15_000), ("slow", 300)] as [(String, Int64)] {
                await #expect(throws: OutboundWebClient.Failure.self) {
                    try await post(
                        "https://hooks.test:\(port)/\(path)",
                        milliseconds,
                        resolve: Self.loopback,
                        authorities: authority
                    )
                }
            }
        }
    }
}

/// The certificate of `hooks.test` and its authority, which are good until 2126; of no worth
/// outside tests.
private enum SitePEM {
    static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBmDCCAT+gAwIBAgIUZGeAiLlg2R4tNLDJKs6Q18cSpKgwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOdGVzdCBhdXRob3JpdHkwIBcNMjYxMTI4MTcyNTEyWhgPMjEy
        NjExMDQxNzI1MTJaMBkxFzAVBgNVBAMMDnRlc3QgYXV0aG9yaXR5MFkwEwYHKoZI
        zj0CAQYIKoZIzj0DAQcDQgAErZ0S/qdzTWewfWU5Txn8y5FydSRMnKsVnZU8VUrK
        +/6gudab56Cg2qMU2zfOF8cR7SCZTqVEU8r77MxU/trLv6NjMGEwHQYDVR0OBBYE
        FOFeciZT99BiXX8Ks3vClV2PAHj1MB8GA1UdIwQYMBaAFOFeciZT99BiXX8Ks3vC
        lV2PAHj1MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMAoGCCqGSM49
        BAMCA0cAMEQCIAbZox9oZTg5fpt31CMsClJ9OVMWBO5+QqFpVWh3rN1gAiBIm3jF
        wbkexNzdnyu2tf7Njpx8YY5afINbXEhVW0P57A==
        -----END CERTIFICATE-----
        """
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBqzCCAVGgAwIBAgIUAvqgUNWTVJ8/OUKlCVhmXUGYRTMwCgYIKoZIzj0EAwIw
        GTEXMBUGA1UEAwwOdGVzdCBhdXRob3JpdHkwIBcNMjYxMTI4MTcyNTEzWhgPMjEy
        NjExMDQxNzI1MTNaMBUxEzARBgNVBAMMCmhvb2tzLnRlc3QwWTATBgcqhkjOPQIB
        BggqhkjOPQMBBwNCAAR/njndixU9OgcLoDn45Y8VsJOFIUlVrtAuAwnY/UPX+1ZH
        OZRT0pAjsTDYpnMdrIOjyPHmx4Dl0g9MiLTIdToxo3kwdzAVBgNVHREEDjAMggpo
        b29rcy50ZXN0MBMGA1UdJQQMMAoGCCsGAQUFBwMBMAkGA1UdEwQCMAAwHQYDVR0O
        BBYEFGArPaBH/3K+ctdpEqzvI5qrGCB3MB8GA1UdIwQYMBaAFOFeciZT99BiXX8K
        s3vClV2PAHj1MAoGCCqGSM49BAMCA0gAMEUCIDqKvzixLXYlTwoLjYUzqEl7esqa
        nEhCPCGjkdMEvKj8AiEA8kcHWzv2flvWA5TTBrDYSksBn7b3CT67nP6i7tXoPik=
        -----END CERTIFICATE-----
        """
    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/4WuI0cZ+cxgZNhE
        rP19aorI04Y5u2XuZqARvDzZPMuhRANCAAR/njndixU9OgcLoDn45Y8VsJOFIUlV
        rtAuAwnY/UPX+1ZHOZRT0pAjsTDYpnMdrIOjyPHmx4Dl0g9MiLTIdTox
        -----END PRIVATE KEY-----
        """
}
