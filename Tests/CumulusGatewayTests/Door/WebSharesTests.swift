// Shares over web services: looking where a URL leads, joining, and reading what is shared.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite struct WebSharesTests {
    @Test func aPublicShareIsJoinedAndRead() async throws {
        try await withWebUser { user, server in
            let owner = try await server.container(user: "olga")
            let database = owner.privateCloudDatabase
            let zone = RecordZone.ID(zoneName: "Trips")
            try await database.save(RecordZone(zoneID: zone))
            var note = Record(
                recordType: "Note",
                recordID: Record.ID(recordName: "a", zoneID: zone)
            )
            note["title"] = "Oslo"
            try await database.save(note)
            var share = Share(recordZoneID: zone)
            share.publicPermission = .readOnly
            let saved = try await database.save(share)
            let value = try #require(saved.url).lastPathComponent
            let name = try await owner.userRecordID().recordName
            await owner.close()

            func send(_ action: String, _ value: String) async throws -> WebUser.Answer {
                try await user.post(
                    "public/records/\(action)",
                    #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
                )
            }
            let seen = try await send("resolve", value)
            let result = try #require(seen.entries("results").first)
            #expect(result["shortGUID"]?["value"]?.string == value, "\(seen.json.text)")
            #expect(result["databaseScope"] == "SHARED")
            #expect(result["ownerIdentity"]?["userRecordName"]?.string == name)
            #expect(result["share"]?["recordType"] == "cloudkit.share")
            #expect(result["share"]?["publicPermission"] == "READ_ONLY")
            #expect(result["share"]?["shortGUID"]?.string == value)
            for _ in 0..<2 {
                let joined = try await send("accept", value).entries("results").first
                #expect(joined?["participantStatus"] == "ACCEPTED")
                #expect(joined?["participantPermission"] == "READ_ONLY")
            }
            let shared = #"{"zoneName": "Trips", "ownerRecordName": "\#(name)"}"#
            let found = try await user.post(
                "shared/records/lookup",
                #"{"zoneID": \#(shared), "records": [{"recordName": "a"}]}"#
            )
            #expect(found.entries("records").first?.field("title") == "Oslo")
            let refused = try await user.post(
                "shared/records/modify",
                """
                {"zoneID": \(shared), "operations": [{"operationType": "forceUpdate",
                 "record": {"recordName": "a", "fields": {"title": {"value": "x"}}}}]}
                """
            )
            #expect(refused.entries("records").first?.errorCode == "ACCESS_DENIED")
            let wrong = try await send("resolve", String(repeating: "A", count: 22))
            #expect(wrong.entries("results").first?.errorCode == "NOT_FOUND")
            let broken = try await send("resolve", "?")
            #expect(broken.entries("results").first?.errorCode == "BAD_REQUEST")
        }
    }
}
