// What people are told of a certificate or a key that can't be used.

import CumulusSystem
import Testing

@testable import CumulusTransport

@Suite struct TLSFileTests {
    @Test(
        arguments: [
            (0, "/etc/node.key holds no private key (PEM)"),
            (
                EACCES,
                "/etc/node.key can't be read; give it and its folder to the user of this process"
            ),
            (ENOENT, "/etc/node.key does not exist"), (ENOTDIR, "/etc/node.key does not exist"),
        ] as [(Int32, String)]
    )
    func aFileThatLacksAKeySaysWhy(error: Int32, words: String) {
        #expect(TLS.lack(of: "private key", in: "/etc/node.key", error: error) == words)
    }

    @Test func theSystemIsAsked() {
        let file = "/dev/null"
        #expect(TLS.lack(of: "certificate", in: file) == "\(file) holds no certificate (PEM)")
        #expect(TLS.lack(of: "key", in: "\(file)/a") == "\(file)/a does not exist")
    }
}
