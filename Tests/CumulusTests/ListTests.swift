// Lists that are too long for one message.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ListTests {
    @Test(.timeLimit(.minutes(5))) func aLongListComesInParts() async throws {
        let server = try await TestServer()
        let admin = server.nodeOperator()
        let names = (0..<1_001).map { "user\($0)" }
        try await withThrowingTaskGroup { group in
            for part in 0..<8 {
                group.addTask {
                    for (index, name) in names.enumerated() where index % 8 == part {
                        _ = try await admin.addUser(name, in: nil)
                    }
                }
            }
            try await group.waitForAll()
        }
        let found = Set(try await admin.users(in: nil).map(\.name))
        #expect(found.symmetricDifference(names).isEmpty)
        await admin.close()
        try await server.stop()
    }
}
