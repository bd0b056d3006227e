// What may be the address of a node.

import CumulusModel
import Testing

@Suite struct EndpointTests {
    @Test func anAddressIsHostAndPort() throws {
        for (text, host, port) in [
            ("127.0.0.1:7420", "127.0.0.1", 7_420), ("a:0", "a", 0), ("[::1]:65535", "::1", 65_535),
            ("node-1.example:1", "node-1.example", 1), ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        ] {
            let parts = try #require(Endpoint.split(text))
            #expect(parts.host == host)
            #expect(parts.port == port)
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:7420"), ("127.0.0.1:1", "127.0.0.1:1"),
        ("cumulus://127.0.0.1:7420", "127.0.0.1:7420"), ("CUMULUS://a", "a:7420"),
        ("a/", "a:7420"), ("cumulus://a:2/", "a:2"), ("[::1]", "[::1]:7420"),
        ("::1", "[::1]:7420"), ("[::1]:3", "[::1]:3"),
    ])
    func peopleMayLeaveOutThePort(text: String, address: String) {
        #expect(Endpoint.address(from: text) == address)
    }

    @Test(arguments: [
        "", "/", "cumulus://", ":1", "a:", "a:x", "a b", "http://a:1", "cumulus://a/b", "a,b",
        "[::1]x", "a:99999",
    ])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(Endpoint.address(from: text) == nil)
    }

    @Test(arguments: [
        "", "here", ":1", "[]:1", "a:", "a:65536", "a:-1", "a:x", "a b:1", "a,b:1", "é:1",
        "a\n:1", "a\0:1", String(repeating: "a", count: 254) + ":1",
    ])
    func anythingElseIsNone(text: String) {
        #expect(Endpoint.split(text) == nil)
    }
}
