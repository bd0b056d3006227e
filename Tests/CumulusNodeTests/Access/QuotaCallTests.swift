// Quotas as callers and operators of a node meet them.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct QuotaCallTests {
    @Test func whatIsTooMuchIsRefusedAndTheStatusTellsTheLimits() async throws {
        let limits = limits {
            $0.privateDatabaseBytes = 10_000
            $0.publicDatabaseBytes = 20_000
        }
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: token)
            func record(_ name: String, bytes: Int) -> Record {
                Record(name, ["text": .string(String(repeating: "x", count: bytes))])
            }
            _ = try ada.save([record("a", bytes: 9_000)])[0].get()
            let refusal = try ada.save([record("b", bytes: 2_000)])[0].refusal
            #expect(refusal?.code == .quotaExceeded)
            #expect(refusal?.message.contains("of 10000 bytes") == true)
            _ = try ada.save([record("b", bytes: 2_000)], in: .public)[0].get()

            let admin = try RawClient.administering(server)
            let status = try NodeStatus(wire: admin.perform(.operatorStatus)[0])
            #expect(status.privateQuota == 10_000 && status.publicQuota == 20_000)
        }
    }
}
