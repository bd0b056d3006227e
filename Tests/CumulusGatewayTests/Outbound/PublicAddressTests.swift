// The addresses that a webhook may lead to.

import CumulusGateway
import NIOCore
import Testing

@Suite struct PublicAddressTests {
    private func isPublic(_ text: String) throws -> Bool {
        PublicAddress.isPublic(try SocketAddress(ipAddress: text, port: 443).rawBytes)
    }

    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0",
        "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "223.255.255.255", "2a00:1450:4001:830::200e", "2606:4700:4700::1111", "2001:200::1",
        "2001:db7:ffff::1", "2003::1", "3ffe::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    ])
    func thePublicInternetIsReached(_ address: String) throws {
        #expect(try isPublic(address))
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255",
        "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
        "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1",
        "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
        "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::8.8.8.8",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:8.8.8.8",
        "64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::8.8.8.8", "100::1", "2001::1",
        "2001:1ff:ffff::1", "2001:db8::1", "2002:808:808::1", "2002:7f00:1::1", "3fff::1",
        "3fff:fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
    ])
    func everythingElseIsNot(_ address: String) throws {
        #expect(try !isPublic(address))
    }

    @Test(arguments: [0, 3, 5, 15, 17])
    func whatIsNoAddressIsNot(_ count: Int) {
        #expect(!PublicAddress.isPublic([UInt8](repeating: 8, count: count)))
    }
}

extension SocketAddress {
    /// 4 bytes, or all 16 of an IPv6 address, also where it holds one of IPv4.
    fileprivate var rawBytes: [UInt8] {
        withSockAddr { address, size in
            let bytes = UnsafeRawBufferPointer(start: address, count: size)
            return if case .v4 = self { [UInt8](bytes[4..<8]) } else { [UInt8](bytes[8..<24]) }
        }
    }
}
