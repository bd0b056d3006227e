// The exchange that proto/exchange.md shows, byte for byte, replayed against a node.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct WorkedExchangeTests {
    @Test func theContractsExchangeIsWhatANodeSays() async throws {
        // With the limits that `cumulusd` has unless it is told otherwise.
        var limits = Limits.standard
        limits.perCaller = .standard
        let server = try await TestServer(limits: limits)
        let client = try RawClient(server.endpoint)
        defer { client.close() }
        var pending = Bytes()
        for part in try WorkedExchange().parts {
            if part.isFromClient {
                try client.send(part.bytes.compactMap { $0 })
                continue
            }
            while pending.count < part.bytes.count {
                let more = try #require(
                    try client.receive(),
                    "the node said less than the contract"
                )
                pending += more
            }
            for (index, expected) in part.bytes.enumerated() {
                guard let expected else { continue }
                #expect(pending[index] == expected, "byte \(index) of the node's answer")
            }
            pending.removeFirst(part.bytes.count)
        }
        #expect(pending.isEmpty, "the node said more than the contract")
        try await server.stop()
    }
}
