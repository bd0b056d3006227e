// Which of several clocks counts as wrong, and what a node does whose own is.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct PeerClocksTests {
    /// Clocks of all nodes in seconds; whether each of them takes its own for wrong.
    @Test(
        arguments: [
            ([0, 0, 0], [0, 0, 0]), ([0, 100], [0, 100]), ([100, 0], [100, 0]),
            ([0, 0, 100], [0, 0, 100]), ([0, 0, -100], [0, 0, -100]),
            ([0, 0, 100, 100], [0, 0, 100, 100]), ([0, 0, 0, -100, 100], [0, 0, 0, -100, 100]),
        ] as [([Int64], [Int64])]
    )
    func theOneFarFromMostIsWrong(clocks: [Int64], leads: [Int64]) {
        for own in clocks.indices {
            let known = PeerClocks()
            for (other, clock) in clocks.enumerated() where other != own {
                known.note(
                    clock * 1_000,
                    of: [UInt8(other)],
                    ours: clocks[own] * 1_000,
                    now: Instant(milliseconds: 0)
                )
            }
            #expect(known.lead(now: Instant(milliseconds: 10)) == leads[own] * 1_000)
        }
    }

    @Test func whoWasNotHeardForLongDoesNotCount() {
        let known = PeerClocks()
        known.note(0, of: [1], ours: 100_000, now: Instant(milliseconds: 0))
        #expect(known.lead(now: Instant(milliseconds: 60_000)) == 100_000)
        #expect(known.lead(now: Instant(milliseconds: 60_001)) == 0)
        known.note(.min, of: [1], ours: .max, now: Instant(milliseconds: 0))
        _ = known.lead(now: Instant(milliseconds: 0))
    }

    /// It refuses what its callers write and takes what others wrote; set right, it goes on.
    @Test func aNodeWhoseClockIsAheadTakesNoWrites() async throws {
        let key = Bytes(repeating: 0x5A, count: 32)
        let right = try await TestServer(clusterKey: key)
        let wrong = try await TestServer(clusterKey: key, clockLead: 100_000)
        let user = try await right.makeUser("ada")
        right.follow([wrong])
        wrong.follow([right])
        let hasStopped = try await eventually {
            try wrong.node.status(wrong.node.gate.latest(reach: .disk)).state == "clock wrong"
        }
        #expect(hasStopped)
        let client = try await connected(user, to: wrong)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await client.privateCloudDatabase.save(Record("r"))
        }
        #expect(error?.reason == .clockWrong, "\(String(describing: error))")
        let other = right.container(token: user)
        _ = try await other.privateCloudDatabase.save(Record("s"))
        let isRead = try await eventually {
            let id = Record.ID(recordName: "s")
            return (try? await client.privateCloudDatabase.record(for: id)) != nil
        }
        #expect(isRead)
        wrong.clockLead = 0
        let goesOn = try await eventually {
            (try? await client.privateCloudDatabase.save(Record("r"))) != nil
        }
        #expect(goesOn)
        for container in [client, other] { await container.close() }
        for server in [right, wrong] { try await server.stop() }
    }

    /// A client, once the user is known there.
    private func connected(_ user: String, to server: TestServer) async throws -> Container {
        let isKnown = try await eventually {
            (try? RawClient(greeting: server.endpoint, token: user)) != nil
        }
        #expect(isKnown)
        return server.container(token: user, timeout: .seconds(2))
    }
}
