// Lists that are too much for one message, or for one request.

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
        let one = try await admin.user(named: "user7")
        #expect(one?.name == "user7" && one?.isDisabled == false)
        #expect(try await admin.user(named: "eve") == nil)
        _ = try await admin.setState(of: "user7", isDisabled: true)
        #expect(try await admin.user(named: "user7")?.isDisabled == true)
        let disabled = try await admin.users(in: nil).filter(\.isDisabled)
        #expect(disabled.map(\.name) == ["user7"])
        await admin.close()
        try await server.stop()
    }

    /// A server that takes ten items at once: the client sends more in parts.
    @Test(.timeLimit(.minutes(5))) func whatExceedsALimitIsSentInParts() async throws {
        var limits = Limits.standard
        limits.itemsPerRequest = 10
        let server = try await TestServer(limits: limits)
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        let zones = (0..<25).map { RecordZone(zoneName: "z\($0)") }
        let made = try await database.modifyRecordZones(saving: zones, deleting: [])
        #expect(try made.saveResults.values.map { try $0.get() }.count == 25)
        let ids = zones.map(\.zoneID)
        let found = try await database.recordZones(for: ids + ids)
        #expect(try found.values.map { try $0.get() }.count == 25)
        let gone = try await database.modifyRecordZones(saving: [], deleting: ids)
        #expect(try gone.deleteResults.values.map { try $0.get() }.count == 25)

        let names = (0..<25).map { Record.ID(recordName: "r\($0)") }
        let records = names.map { Record(recordType: "Note", recordID: $0) }
        let saved = try await database.modifyRecords(saving: records, deleting: [])
        #expect(try saved.saveResults.values.map { try $0.get() }.count == 25)
        let fetched = try await database.records(for: names)
        #expect(try fetched.values.map { try $0.get() }.count == 25)
        let deleted = try await database.modifyRecords(saving: [], deleting: names)
        #expect(try deleted.deleteResults.values.map { try $0.get() }.count == 25)
        await container.close()
        try await server.stop()
    }
}
