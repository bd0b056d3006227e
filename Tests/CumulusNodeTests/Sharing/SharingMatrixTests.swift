// Owner, participants, former and possible participants, and strangers: each method answers each of
// them as the matrix of sharing says.
//
// Folder: shares at a node with real sockets. Read `SharingMatrix`, then `ShareCallTests`.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite(.serialized, .timeLimit(.minutes(2))) struct SharingMatrixTests {
    @Test func everyRowSpeaksOfEveryCaller() {
        for row in SharingMatrix.rows {
            let count = row.expected.count
            #expect(count == SharingMatrix.Who.allCases.count, "\(row.method) of \(row.target)")
        }
    }

    @Test func everyCallerGetsWhatTheMatrixSays() async throws {
        try await withServer { server in
            let (matrix, clients) = try await scene(at: server)
            for row in SharingMatrix.rows {
                for (who, expected) in zip(SharingMatrix.Who.allCases, row.expected) {
                    guard expected != "-", let client = clients[who] else { continue }
                    let outcome = try client.outcome(
                        of: row.method,
                        CallHeader(row.method),
                        try row.message(matrix, who),
                        sign: row.target.rawValue
                    )
                    #expect(
                        outcome == expected,
                        """
                        \(row.method) of \(row.target) \(row.why) by \(who): \(outcome), not \
                        \(expected)
                        """
                    )
                }
            }
        }
    }

    // MARK: The scene

    /// Zones, records and shares, and a connection of each caller.
    private func scene(
        at server: TestServer
    ) async throws -> (SharingMatrix, [SharingMatrix.Who: RawClient]) {
        try await server.importSchema(SharingMatrix.schema)
        var containers: [SharingMatrix.Who: Container] = [:]
        var clients: [SharingMatrix.Who: RawClient] = [:]
        var users: [SharingMatrix.Who: Record.ID] = [:]
        for who in SharingMatrix.Who.allCases {
            let token = try await server.makeUser(who.rawValue)
            let container = server.container(token: token)
            users[who] = try await container.userRecordID()
            containers[who] = container
            clients[who] = try RawClient(greeting: server.endpoint, token: token)
        }
        let database = try #require(containers[.owner]).privateCloudDatabase
        let owner = try #require(users[.owner]).recordName
        for zone in [SharingMatrix.Target.trips, .trees, .park] {
            try await database.save(RecordZone(zoneID: zoneID(zone)))
        }
        for target in [SharingMatrix.Target.member, .outside, .open] {
            try await database.save(record(target))
        }
        let root = try await database.save(record(.root))
        var inside = record(.inside)
        inside.parent = Record.Reference(recordName: SharingMatrix.Target.root.rawValue)
        try await database.save(inside)

        let people: [Share.Participant] = [
            SharingMatrix.Who.reader, .writer, .administrator, .former, .invited,
        ].compactMap { who in
            users[who].map {
                Share.Participant(
                    userRecordID: $0,
                    permission: who == .writer || who == .administrator ? .readWrite : .readOnly,
                    role: who == .administrator ? .administrator : .privateUser
                )
            }
        }
        var trips = Share(recordZoneID: zoneID(.trips))
        var tree = Share(rootRecord: root, shareID: record(.share).recordID)
        for person in people {
            trips.addParticipant(person)
            tree.addParticipant(person)
        }
        trips = try await database.save(trips)
        tree = try await database.save(tree, rootRecord: root).share
        var park = Share(recordZoneID: zoneID(.park))
        park.publicPermission = .readOnly
        park = try await database.save(park)
        for who in [SharingMatrix.Who.reader, .writer, .administrator, .former] {
            for share in [trips, tree] {
                try await containers[who]?.accept(try #require(share.url))
            }
        }
        try await containers[.joiner]?.accept(try #require(park.url))
        for share in [trips, tree] {
            var current = try #require(Share(try await database.record(for: share.recordID)))
            current.removeParticipant(
                Share.Participant(userRecordID: try #require(users[.former]))
            )
            try await database.save(current)
        }
        for container in containers.values { await container.close() }
        let urls = [SharingMatrix.Target.trips: trips, .trees: tree, .park: park]
            .compactMapValues { $0.url?.absoluteString }
        return (SharingMatrix(owner: owner, urls: urls), clients)
    }

    private func zoneID(_ target: SharingMatrix.Target) -> RecordZone.ID {
        RecordZone.ID(zoneName: target.zone.rawValue)
    }

    private func record(_ target: SharingMatrix.Target) -> Record {
        let id = Record.ID(recordName: target.rawValue, zoneID: zoneID(target))
        var record = Record(recordType: "Note", recordID: id)
        record["text"] = "Ada's"
        return record
    }
}
