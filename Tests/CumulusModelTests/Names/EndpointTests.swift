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
        "", "here", ":1", "[]:1", "a:", "a:65536", "a:-1", "a:x", "a b:1", "a,b:1", "é:1",
        "a\n:1", "a\0:1", String(repeating: "a", count: 254) + ":1",
    ])
    func anythingElseIsNone(text: String) {
        #expect(Endpoint.split(text) == nil)
    }
}
