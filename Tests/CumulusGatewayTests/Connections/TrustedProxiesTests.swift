// The proxies that are trusted about a request's origin, and how their lists are read.

import CumulusModel
import Testing

@testable import CumulusGateway

@Suite struct TrustedProxiesTests {
    private static let proxy: Bytes = [10, 0, 0, 1]

    private func origin(
        _ headers: [String: String],
        through link: Bytes = proxy
    ) throws -> TrustedProxies.Origin {
        try TrustedProxies("10.0.0.0/8, 2001:db8:1::/48").origin(of: link, headers)
    }

    @Test func networksAreRead() throws {
        let text = "127.0.0.1, 10.16.0.0/12,::1,fd00::/9,::ffff:192.0.2.0/120"
        let proxies = try TrustedProxies(text)
        let fd: Bytes = [0xFD, 0x7F] + Bytes(repeating: 9, count: 14)
        for address: Bytes in [
            [127, 0, 0, 1], [10, 16, 0, 0], [10, 31, 255, 255], [192, 0, 2, 200],
            Bytes(repeating: 0, count: 15) + [1], fd,
        ] {
            #expect(proxies.contains(address), "\(address)")
        }
        for address: Bytes in [
            [127, 0, 0, 2], [10, 15, 255, 255], [10, 32, 0, 0], [192, 0, 3, 0], [],
            Bytes(repeating: 0, count: 16), [0xFD, 0x80] + Bytes(repeating: 0, count: 14),
        ] {
            #expect(!proxies.contains(address), "\(address)")
        }
        #expect(try TrustedProxies("0.0.0.0/0").contains([1, 2, 3, 4]))
        #expect(try !TrustedProxies("").contains([127, 0, 0, 1]))
    }

    @Test(arguments: [
        ",", "127.0.0.1,", "localhost", "127.0.0.1/33", "127.0.0.1/", "127.0.0.1/8/8",
        "127.0.0.1/-1", "127.0.0.1/+8", "10.0.0.1/8", "127.1", "::1/129", "fe80::1%lo", "[::1]",
        "1.2.3.4:80",
        "/8", "::ffff:10.0.0.0/95", "127.0.0.1 10.0.0.1", "1.2.3.4/0x8", "1.2.3.4\0",
        "1.2.3.4/99999999999999999999",
    ])
    func whatIsNoNetworkIsRefused(_ text: String) {
        #expect(throws: AddressList.Problem.self) { try TrustedProxies(text) }
    }

    @Test func theLastAddressThatIsNotTrustedCounts() throws {
        for (field, address) in [
            ("192.0.2.7", [192, 0, 2, 7]), ("1.1.1.1, 192.0.2.7", [192, 0, 2, 7]),
            ("192.0.2.7,10.9.9.9 , 10.0.0.2", [192, 0, 2, 7]),
            ("10.0.0.3, 10.0.0.2", [10, 0, 0, 3]),
            ("192.0.2.7:5555", [192, 0, 2, 7]), ("::ffff:192.0.2.7", [192, 0, 2, 7]),
            // An entry that is no address ends the list: its proxy counts as the caller.
            ("192.0.2.7, unknown", [10, 0, 0, 1]), ("192.0.2.7, x, 10.0.0.2", [10, 0, 0, 2]),
            ("", [10, 0, 0, 1]), ("192.0.2.7,", [10, 0, 0, 1]),
        ] as [(String, Bytes)] {
            let origin = try origin(["x-forwarded-for": field])
            #expect(origin == .init(address: address, isForwarded: true), "\(field)")
        }
        let six = try origin(["x-forwarded-for": "[2001:db8::7]:80, 2001:db8:1::1"]).address
        #expect(six == [0x20, 1, 0xD, 0xB8] + Bytes(repeating: 0, count: 11) + [7])
    }

    @Test func forwardedIsReadAsItsRFCHasIt() throws {
        for (field, address) in [
            ("for=192.0.2.7", [192, 0, 2, 7]),
            ("For=\"192.0.2.7:_x\";proto=https", [192, 0, 2, 7]),
            ("by=1.1.1.1; FOR = 192.0.2.7 ;host=a", [192, 0, 2, 7]),
            ("for=1.1.1.1, for=192.0.2.7, for=10.0.0.2", [192, 0, 2, 7]),
            ("for=1.1.1.1;by=\"a,b;for=2.2.2.2\"", [1, 1, 1, 1]),
            ("for=1.1.1.1, for=_hidden", [10, 0, 0, 1]), ("for=unknown", [10, 0, 0, 1]),
            ("proto=https", [10, 0, 0, 1]), ("for=1.1.1.1;for=2.2.2.2", [10, 0, 0, 1]),
            // A quote without its end would take what the proxy added.
            ("for=\"1.1.1.1, for=192.0.2.7", [10, 0, 0, 1]),
            ("for=\"\\\", for=192.0.2.7", [10, 0, 0, 1]),
        ] as [(String, Bytes)] {
            let origin = try origin(["forwarded": field])
            #expect(origin == .init(address: address, isForwarded: true), "\(field)")
        }
        let six = try origin(["forwarded": "for=\"[2001:db8::7]:4711\""]).address
        #expect(six == [0x20, 1, 0xD, 0xB8] + Bytes(repeating: 0, count: 11) + [7])
    }

    @Test func fieldsThatDisagreeNameNobody() throws {
        let same = ["forwarded": "for=192.0.2.7", "x-forwarded-for": "192.0.2.7"]
        #expect(try origin(same).address == [192, 0, 2, 7])
        let other = ["forwarded": "for=192.0.2.7", "x-forwarded-for": "192.0.2.8"]
        #expect(try origin(other) == .init(address: Self.proxy, isForwarded: true))
    }

    @Test func othersAreNotBelieved() throws {
        let headers = ["forwarded": "for=192.0.2.7", "x-forwarded-for": "192.0.2.7"]
        for link: Bytes in [[192, 0, 2, 1], [127, 0, 0, 1], []] {
            #expect(
                try origin(headers, through: link) == .init(address: link, isForwarded: false)
            )
        }
        #expect(try origin([:]) == .init(address: Self.proxy, isForwarded: false))
    }

    /// Whatever stands in a field, the end that a proxy wrote decides.
    @Test func mutatedFieldsDoNotHideWhatAProxyAdded() throws {
        var dice = SystemRandomNumberGenerator()
        let seeds = [
            "for=\"[2001:db8::7]:4711\";proto=https, for=1.1.1.1", "1.1.1.1, [::1]:80, 10.0.0.2:x",
            "for=unknown;by=_a;host=\"a\\\"b\"",
        ]
        let alphabet = Bytes("0123456789abcdef:.,;=\"\\[]/%-_ \tfor".utf8)
        for _ in 0..<3_000 {
            var bytes = Bytes(seeds.randomElement(using: &dice)!.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &dice) {
                let index = Int.random(in: 0..<bytes.count, using: &dice)
                bytes[index] = alphabet.randomElement(using: &dice)!
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let last = try origin(["x-forwarded-for": text + ", 192.0.2.7"])
            #expect(last.address == [192, 0, 2, 7], "\(text)")
            let forwarded = try origin(["forwarded": text + ", for=192.0.2.7"]).address
            #expect(forwarded == [192, 0, 2, 7] || forwarded == Self.proxy, "\(text)")
            if let proxies = try? TrustedProxies(text) { _ = proxies.contains(Self.proxy) }
        }
    }
}
