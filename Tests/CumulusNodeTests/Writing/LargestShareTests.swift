// Saves of the largest shares on a node: no turn of the writer is long.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@Suite(.serialized) struct LargestShareTests {
    private static let zone = RecordZone.ID(zoneName: "z")
    private static let limits = Limits.standard
    /// A turn takes less than 50 milliseconds on a quiet machine.
    ///
    /// A machine that does other work as well takes several times as long; work that grows with the
    /// square takes seconds.
    private static let longestTurn = 250

    /// A save of the zone's share with so many people.
    private func request(_ people: Range<Int>, over tag: String? = nil) -> Bytes {
        let id = Record.ID(recordName: Names.zoneShare, zoneID: Self.zone)
        var share = Record(recordType: Names.shareType, recordID: id)
        share.recordChangeTag = tag
        let participants = people.map { number in
            let digits = String(number, radix: 16)
            let name = "_" + String(repeating: "0", count: 32 - digits.count) + digits
            return ShareDetails.Participant(user: name)
        }
        share.shareDetails = ShareDetails(root: "", participants: participants)
        return RawRequest.save([share])
    }

    private func withOwner(
        _ body: (RawClient, TestServer) async throws -> Void
    ) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let database = server.container(token: token).privateCloudDatabase
            try await database.save(RecordZone(zoneID: Self.zone))
            try await body(try RawClient(greeting: server.endpoint, token: token), server)
        }
    }

    /// Takes some seconds: a share with 1,500 people was saved 15 times.
    @Test func aShareOfVeryManyPeopleIsSavedInAShortTurn() async throws {
        try await withOwner { client, server in
            let most = Self.limits.participantsPerShare
            var tag: String?
            for first in stride(from: 0, to: Self.limits.peoplePerShare, by: most) {
                server.node.meter.longestTurn.store(0, ordering: .relaxed)
                let message = request(first..<first + most, over: tag)
                let answer = try client.modify(message, id: RawRequest.newID())
                tag = try answer.saves[0].get().recordChangeTag
            }
            let milliseconds = server.node.meter.longestTurn.value / 1_000
            print("a save of a share that 1,500 people were in: \(milliseconds) ms of the writer")
            #expect(milliseconds < Self.longestTurn)
            let more = request(5_000..<5_001, over: tag)
            let refusal = try client.modify(more, id: RawRequest.newID()).saves[0].refusal
            #expect(refusal?.code == .tooManyParticipants)
        }
    }

    /// As many as fit into a request.
    @Test func aLongerListIsRefusedBeforeTheWriter() async throws {
        try await withOwner { client, server in
            server.node.meter.longestTurn.store(0, ordering: .relaxed)
            let message = request(0..<40_000)
            #expect(message.count <= Self.limits.requestBytes)
            let refusal = try client.modify(message, id: RawRequest.newID()).saves[0].refusal
            #expect(refusal?.code == .tooManyParticipants)
            #expect(server.node.meter.longestTurn.value / 1_000 < Self.longestTurn)
        }
    }
}
