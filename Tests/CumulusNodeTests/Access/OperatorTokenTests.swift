// Operators of the cluster: a token that every node takes, until its end, with the operator's name
// in the audit log.

import Cumulus
import CumulusModel
import CumulusTesting
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct OperatorTokenTests {
    @Test func everyNodeTakesTheTokenUntilItsEnd() async throws {
        let lines = Mutex<[String]>([])
        let key = Bytes(repeating: 0x6B, count: 32)
        let first = try await TestServer(clusterKey: key)
        let second = try await TestServer(
            clusterKey: key,
            audit: { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
        )
        first.follow([second])
        second.follow([first])
        let admin = first.nodeOperator()
        let token = try await admin.addOperator("carol")
        #expect(try await admin.operators().map(\.name) == ["carol"])
        await #expect(throws: ServiceError.self) { try await admin.addOperator("carol") }
        for server in [first, second] {
            let opens = try await eventually {
                let carol = NodeOperator(endpoint: server.endpoint, token: token)
                let status = try? await carol.status()
                await carol.close()
                return status != nil
            }
            #expect(opens)
        }
        let carol = NodeOperator(endpoint: second.endpoint, token: token)
        _ = try await carol.createContainer("iCloud.carols")
        let acts = lines.withLock { $0.filter { $0.contains("OPERATOR_CREATE_CONTAINER") } }
        #expect(acts.count == 1 && acts[0].contains("\"carol\"") && acts[0].contains("operator"))
        // It ends on the other node, also for the connection that is there.
        try await admin.removeOperator("carol")
        #expect(try await admin.operators().isEmpty)
        await #expect(throws: ServiceError.self) { try await admin.removeOperator("carol") }
        let isEnded = try await eventually {
            do {
                _ = try await carol.status()
                return false
            } catch let error as ServiceError {
                return error.code == .notAuthenticated
            }
        }
        #expect(isEnded)
        let again = NodeOperator(endpoint: first.endpoint, token: token)
        await #expect(throws: ServiceError.self) { _ = try await again.status() }
        for node in [admin, carol, again] { await node.close() }
        try await first.stop()
        try await second.stop()
    }

    @Test func aUsersTokenIsNoOperators() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let ada = NodeOperator(endpoint: server.endpoint, token: token)
            await #expect(throws: ServiceError.self) { _ = try await ada.status() }
            await ada.close()
            // And the other way round: an operator is no user.
            let admin = server.nodeOperator()
            let operators = try await admin.addOperator("carol")
            let refused = try error {
                _ = try RawClient(greeting: server.endpoint, token: operators)
            }
            #expect(refused.code == .notAuthenticated)
            await admin.close()
        }
    }
}
