// What a link tells of the address at its other side: whose calls count together follows from it.

import CumulusModel
import CumulusTransport
import NIOCore
import Testing

@Suite struct AddressTests {
    @Test(
        arguments: [
            ("10.1.2.3", [10, 1, 2, 3]),
            ("2001:db8::ff", [0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF]),
            // The same caller, over a socket for both.
            ("::ffff:10.1.2.3", [10, 1, 2, 3]),
        ] as [(String, Bytes)]
    )
    func anAddressHasItsBytes(text: String, bytes: Bytes) throws {
        #expect(try SocketAddress(ipAddress: text, port: 7_420).addressBytes == bytes)
    }

    @Test func aPathHasNone() throws {
        #expect(try SocketAddress(unixDomainSocketPath: "/run/a").addressBytes.isEmpty)
    }
}
