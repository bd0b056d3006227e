// Links to the console as a node judges them: only with its token, and for one run of it.

import Crypto
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import Testing

@Suite struct ConsoleLinkTests {
    @Test func theTokenMakesItForOneRun() async throws {
        let server = try await TestServer()
        let node = server.node
        let now = node.environment.wallClock()
        func made(_ token: Bytes, _ run: UInt64, _ number: UInt8) -> ConsoleLink {
            let nonce = Bytes(repeating: number, count: ConsoleLink.nonceBytes)
            var link = ConsoleLink(time: now, nonce: nonce, code: [])
            let message = ConsoleLink.message(of: run, time: link.time, nonce: link.nonce)
            let key = SymmetricKey(data: token)
            link.code = Bytes(HMAC<SHA256>.authenticationCode(for: message, using: key))
            return link
        }
        let (token, run) = (node.configuration.operatorToken, node.incarnation.value)
        #expect(node.redeem(made(token, run &+ 1, 1), from: []) == nil)
        #expect(node.redeem(made(token + [1], run, 1), from: []) == nil)
        var later = made(token, run, 1)
        later.time += 1
        #expect(node.redeem(later, from: []) == nil)
        let digest = Bytes(SHA256.hash(data: token))
        #expect(node.redeem(made(token, run, 1), from: []) == digest)
        #expect(node.redeem(made(token, run, 1), from: []) == nil)
        try await server.stop()
    }
}
