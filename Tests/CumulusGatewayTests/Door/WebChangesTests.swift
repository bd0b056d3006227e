// Zones and changes over web services.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebChangesTests {
    private func zone(_ name: String, _ operation: String = "create") -> String {
        #"{"operationType": "\#(operation)", "zone": {"zoneID": {"zoneName": "\#(name)"}}}"#
    }

    private func modify(_ user: WebUser, _ operations: String...) async throws -> [JSON] {
        let list = operations.joined(separator: ",")
        let body = #"{"operations": [\#(list)]}"#
        return try await user.post("private/zones/modify", body).entries("zones")
    }

    @Test func zonesAreMadeFoundAndDeleted() async throws {
        try await withWebUser { user, _ in
            let made = try await modify(
                user,
                zone("A"),
                zone("A"),
                zone("No", "delete"),
                zone("_defaultZone", "delete"),
                zone("B")
            )
            let codes = made.map(\.errorCode)
            #expect(codes == [nil, nil, "ZONE_NOT_FOUND", "BAD_REQUEST", nil])
            for answer in [
                try await user.get("private/zones/list"),
                try await user.post("private/zones/list", "{}"),
            ] {
                let names = answer.entries("zones").compactMap { $0["zoneID"]?["zoneName"]?.string }
                #expect(Set(names) == ["_defaultZone", "A", "B"])
            }
            let found = try await user.post(
                "private/zones/lookup",
                #"{"zones": [{"zoneName": "No"}, {"zoneName": "B"}]}"#
            )
            let entries = found.entries("zones")
            #expect(entries.map(\.errorCode) == ["ZONE_NOT_FOUND", nil])
            #expect(entries.map { $0["zoneID"]?["zoneName"] } == ["No", "B"])
            let gone = try await modify(user, zone("B", "delete"))
            #expect(gone.first?["deleted"] == .bool(true))
            #expect(try await user.post("public/zones/modify", "{}").status == 400)
        }
    }

    @Test func changesOfADatabaseAreTold() async throws {
        try await withWebUser { user, _ in
            _ = try await modify(user, zone("A"), zone("B"))
            let first = try await user.post("private/changes/database", "{}")
            #expect(first.status == 200, "\(first.json.text)")
            #expect(first.json["moreComing"] == .bool(false))
            let names = first.entries("zones").compactMap { $0["zoneID"]?["zoneName"]?.string }
            #expect(Set(names).isSuperset(of: ["A", "B"]))
            _ = try await modify(user, zone("B", "delete"))
            let token = first.json["syncToken"]?.string ?? ""
            for (path, key) in [("changes/database", "syncToken"), ("zones/changes", "syncToken")] {
                let next = try await user.post("private/\(path)", #"{"\#(key)": "\#(token)"}"#)
                let entries = next.entries("zones")
                #expect(entries.count == 1)
                #expect(entries.first?["zoneID"]?["zoneName"] == "B")
                #expect(entries.first?["deleted"] == .bool(true))
            }
            let older = try await user.post("private/zones/changes", "{}")
            #expect(older.json["metaSyncToken"]?.string?.isEmpty == false)
        }
    }

    @Test func changesOfZonesAreToldFromAToken() async throws {
        try await withWebUser { user, _ in
            _ = try await modify(user, zone("A"))
            let title = #""title": {"value": "x"}"#
            for name in ["a", "b"] {
                let note = operation(.create, name, type: "Note", title)
                _ = try await user.modify("private", zone: "A", note)
            }
            func changes(_ more: String = "") async throws -> WebUser.Answer {
                let zones = """
                    {"zoneID": {"zoneName": "A"}\(more)}, {"zoneID": {"zoneName": "Gone"}}
                    """
                return try await user.post("private/changes/zone", #"{"zones": [\#(zones)]}"#)
            }
            let first = try await changes()
            #expect(first.status == 200)
            let entries = first.entries("zones")
            #expect(entries.map(\.errorCode) == [nil, "ZONE_NOT_FOUND"])
            guard case .array(let records)? = entries[0]["records"] else {
                Issue.record("no records: \(entries[0].text)")
                return
            }
            #expect(records.map { $0["recordName"] } == ["a", "b"])
            #expect(entries[0]["moreComing"] == .bool(false))
            let part = try await changes(#", "resultsLimit": 1"#).entries("zones")[0]
            #expect(part["moreComing"] == .bool(true))
            let token = entries[0]["syncToken"]?.string ?? ""
            _ = try await user.modify("private", zone: "A", operation(.forceDelete, "a"))
            let next = try await changes(#", "syncToken": "\#(token)""#).entries("zones")[0]
            guard case .array(let tombstones)? = next["records"] else {
                Issue.record("no records: \(next.text)")
                return
            }
            #expect(tombstones.count == 1)
            #expect(tombstones.first?["deleted"] == .bool(true))
            #expect(tombstones.first?["recordType"] == nil)
            #expect(next["syncToken"]?.string?.isEmpty == false)
            let older = try await user.post(
                "private/records/changes",
                #"{"zoneID": {"zoneName": "A"}, "syncToken": "\#(token)"}"#
            )
            #expect(older.entries("records") == tombstones)
        }
    }

    @Test func badTokensAreTheZonesError() async throws {
        try await withWebUser { user, _ in
            _ = try await modify(user, zone("A"))
            for token in ["AAAA", "?", "AAAB/w=="] {
                let zones = #"{"zoneID": {"zoneName": "A"}, "syncToken": "\#(token)"}"#
                let answer = try await user.post("private/changes/zone", #"{"zones": [\#(zones)]}"#)
                #expect(answer.status == 200)
                #expect(answer.entries("zones").first?.errorCode == "BAD_REQUEST")
            }
            let inDefault = #"{"zoneID": {"zoneName": "_defaultZone"}}"#
            #expect(try await user.post("private/records/changes", inDefault).status == 400)
        }
    }
}
