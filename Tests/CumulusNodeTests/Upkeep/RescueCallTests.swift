// What a node takes of an operator who brings the directory of a removed node.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusTesting
import Testing

@testable import CumulusNode

@Suite struct RescueCallTests {
    private let scope = ScopeID(container: TestServer.container, environment: .development)
    private let database = DatabaseID(kind: .private, owner: "_ada")

    private func withOperator(
        _ body: (NodeOperator) async throws -> Void
    ) async throws {
        try await withServer { server in
            let admin = server.nodeOperator()
            try await body(admin)
            await admin.close()
        }
    }

    /// Commits may be larger than requests.
    @Test func aMessageMayFillAFrame() async throws {
        try await withOperator { admin in
            let error = await #expect(throws: ServiceError.self) {
                _ = try await admin.rescue([Bytes(repeating: 0xFF, count: 3 << 20)], of: scope)
            }
            #expect(error?.reason == .corrupt)
        }
    }

    @Test func aScopeThatIsNotThereIsRefused() async throws {
        try await withOperator { admin in
            let vector = try await admin.vector(of: .cluster)
            #expect(!vector.isEmpty)
            let other = ScopeID(container: "iCloud.other", environment: .production)
            let error = await #expect(throws: ServiceError.self) {
                _ = try await admin.vector(of: other)
            }
            #expect(error?.code == .badContainer)
        }
    }

    /// A node that is about to leave has handed over what it had.
    @Test func aNodeThatLeavesTakesNothing() async throws {
        try await withServer { server in
            #expect(server.node.gate.stops.begin(Node.isLeaving))
            // It asks again until then.
            let admin = NodeOperator(
                endpoint: server.endpoint,
                token: TestServer.operatorToken,
                timeout: .seconds(3)
            )
            let error = await #expect(throws: ServiceError.self) {
                _ = try await admin.rescue([[0xFF]], of: scope)
            }
            #expect(error?.reason == .draining)
            await admin.close()
            server.node.gate.stops.resume()
        }
    }

    /// Chunks are taken of known assets only, and judged like any.
    @Test func chunksComeBeforeTheCommitsThatNameThem() async throws {
        let content = SampleAsset.stream(1_200_000)
        let list = content.withUnsafeBytes { ChunkList(cutting: $0) }
        var start = 0
        var chunks = list.entries.map { entry in
            defer { start += entry.size }
            return Chunk(
                digest: entry.digest,
                size: entry.size,
                isCompressed: false,
                content: content[start..<start + entry.size]
            )
        }
        try #require(chunks.count > 1)
        try await withOperator { admin in
            func missing() async throws -> [Int] {
                try await admin.missingChunks(of: list, in: database, of: scope)
            }
            #expect(try await missing() == Array(chunks.indices))
            try await admin.rescue([chunks[0]], in: database, of: scope)
            #expect(try await missing() == Array(chunks.indices.dropFirst()))
            let last = chunks.count - 1
            chunks[last].content = content[..<chunks[last].size]
            let error = await #expect(throws: ServiceError.self) {
                try await admin.rescue([chunks[last]], in: database, of: scope)
            }
            #expect(error?.reason == .invalidValue)
            #expect(try await missing() == Array(chunks.indices.dropFirst()))
        }
    }
}
