// Shares over web services: looking where a URL leads, joining, and reading what is shared.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Testing

extension WebUser {
    /// Makes a zone with the note `a` and, below it, `b`.
    func makeTree(_ zone: String) async throws {
        let create = #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "\#(zone)"}}}"#
        _ = try await post("private/zones/modify", #"{"operations": [\#(create)]}"#)
        let saved = try await modify(
            "private",
            zone: zone,
            operation(.create, "a", type: "Note", #""title": {"value": "Oslo"}"#),
            """
            {"operationType": "create", "record": {"recordName": "b", "recordType": "Note",
             "parent": {"recordName": "a"}, "fields": {"title": {"value": "Bergen"}}}}
            """
        )
        #expect(saved.map(\.errorCode) == [nil, nil], "\(saved)")
    }

    /// Saves a share; returns its entry.
    func share(
        _ kind: WebOperation.Kind,
        in zone: String,
        _ members: String
    ) async throws -> JSON {
        let saved = try await modify(
            "private",
            zone: zone,
            """
            {"operationType": "\(kind.rawValue)",
             "record": {"recordType": "cloudKit.share", \(members)}}
            """
        )
        return try #require(saved.first)
    }

    var name: String {
        get async throws {
            try #require(try await get("public/users/caller").json["userRecordName"]?.string)
        }
    }

    /// The error of changing a note that another user shares; nil: it worked.
    func change(_ note: String, in zone: String, of owner: String) async throws -> String? {
        let id = #"{"zoneName": "\#(zone)", "ownerRecordName": "\#(owner)"}"#
        let answer = try await post(
            "shared/records/modify",
            """
            {"zoneID": \(id), "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "\(note)", "fields": {"title": {"value": "x"}}}}]}
            """
        )
        return answer.code ?? answer.entries("records").first?.errorCode
    }
}

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
            let stranger = WebUser(gateway: user.gateway, door: user.door, token: nil)
            let shown = try await stranger.post(
                "public/records/resolve",
                """
                {"shortGUIDs": [{"value": "\(value)", "shouldFetchRootRecord": true},
                 {"value": "\(String(repeating: "A", count: 22))"}]}
                """
            )
            let open = try #require(shown.entries("results").first)
            #expect(open["databaseScope"] == "SHARED", "\(shown.json.text)")
            #expect(open["participantType"] == "PUBLIC_USER")
            #expect(open["zoneID"]?["ownerRecordName"]?.string == name)
            #expect(open["rootRecord"] == nil)
            #expect(shown.entries("results").last?.errorCode == "NOT_FOUND")
            let refusal = try await stranger.post(
                "public/records/accept",
                #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
            )
            #expect(refusal.code == "AUTHENTICATION_REQUIRED")
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
            // Only callers who see the participants see who joined last: others see who made it.
            let later = try await stranger.post(
                "public/records/resolve",
                #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
            )
            let record = later.entries("results").first?["share"]
            #expect(record?["modified"]?["timestamp"] != nil)
            #expect(record?["modified"]?["userRecordName"]?.string == name)
            #expect(record?["created"]?["userRecordName"]?.string == name)
            #expect(try await !later.json.text.contains(user.name))
            let wrong = try await send("resolve", String(repeating: "A", count: 22))
            #expect(wrong.entries("results").first?.errorCode == "NOT_FOUND")
            let broken = try await send("resolve", "?")
            #expect(broken.entries("results").first?.errorCode == "BAD_REQUEST")
        }
    }

    /// A share is made, opened, joined, restricted and ended by web apps alone.
    @Test func aTreeIsSharedFromAWebApp() async throws {
        try await withWebUser { user, server in
            try await user.makeTree("Trips")
            let made = try await user.share(
                .create,
                in: "Trips",
                """
                "forRecord": {"recordName": "a"}, "publicPermission": "READ_WRITE",
                "createShortGUID": true, "fields": {"cloudkit.title": {"value": "Our trips"}}
                """
            )
            let value = try #require(made["shortGUID"]?.string, "\(made.text)")
            let name = try #require(made["recordName"]?.string)
            #expect(made["recordType"] == "cloudkit.share")
            #expect(made["forRecord"]?["recordName"] == "a")
            #expect(made.field("cloudkit.title") == "Our trips")
            let root = try await user.post(
                "private/records/lookup",
                #"{"zoneID": {"zoneName": "Trips"}, "records": [{"recordName": "a"}]}"#
            )
            let shown = try #require(root.entries("records").first)
            #expect(shown["share"]?["recordName"]?.string == name)
            #expect(shown.field("title") == "Oslo")

            let guest = try await WebUser.make("guest", user.gateway, user.door, server)
            let owner = try await user.name
            let body = #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
            let joined = try await guest.post("public/records/accept", body)
            #expect(joined.entries("results").first?["participantStatus"] == "ACCEPTED")
            #expect(try await guest.change("b", in: "Trips", of: owner) == nil)
            // A participant who has joined is told so, even if the root can't be fetched.
            for (keys, hasRoot) in [("title", true), ("?", false)] {
                let item = """
                    {"value": "\(value)", "shouldFetchRootRecord": true,
                     "rootRecordDesiredKeys": ["\(keys)"]}
                    """
                let again = try await guest.post(
                    "public/records/accept",
                    #"{"shortGUIDs": [\#(item)]}"#
                )
                let result = try #require(again.entries("results").first)
                #expect(result["participantStatus"] == "ACCEPTED", "\(again.json.text)")
                #expect((result["rootRecord"] != nil) == hasRoot, "\(again.json.text)")
            }

            // A user who joined by the URL stays in the share.
            let closed = try await user.share(
                .forceUpdate,
                in: "Trips",
                #""recordName": "\#(name)", "publicPermission": "READ_ONLY""#
            )
            #expect(closed["publicPermission"] == "READ_ONLY", "\(closed.text)")
            #expect(try await guest.change("b", in: "Trips", of: owner) == "ACCESS_DENIED")
            let renamed = try await user.share(
                .forceUpdate,
                in: "Trips",
                #""recordName": "\#(name)", "fields": {"cloudkit.title": {"value": "Trips"}}"#
            )
            #expect(renamed["publicPermission"] == "READ_ONLY", "\(renamed.text)")
            guard case .array(let participants)? = renamed["participants"] else {
                Issue.record("no participants: \(renamed.text)")
                return
            }
            #expect(participants.map { $0["type"] } == ["OWNER", "PUBLIC_USER"])
            let deletion = operation(.forceDelete, name)
            _ = try await user.modify("private", zone: "Trips", deletion)
            let ended = try await guest.change("b", in: "Trips", of: owner)
            #expect(ended == "ZONE_NOT_FOUND" || ended == "NOT_FOUND", "\(ended ?? "")")
        }
    }

    @Test func participantsAreInvitedChangedAndRemoved() async throws {
        try await withWebUser { user, server in
            try await user.makeTree("Trips")
            let guest = try await WebUser.make("guest", user.gateway, user.door, server)
            let (owner, invited) = (try await user.name, try await guest.name)
            func participant(_ permission: String) -> String {
                """
                {"type": "PRIVATE_USER", "permission": "\(permission)",
                 "userIdentity": {"userRecordName": "\(invited)"}}
                """
            }
            let made = try await user.share(
                .create,
                in: "Trips",
                """
                "recordName": "cloudkit.zoneshare",
                "participants": [\(participant("READ_ONLY"))]
                """
            )
            let value = try #require(made["shortGUID"]?.string, "\(made.text)")
            let body = #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
            let stranger = WebUser(gateway: user.gateway, door: user.door, token: nil)
            let closed = try await stranger.post("public/records/resolve", body)
            let refusal = try #require(closed.entries("results").first, "\(closed.json.text)")
            #expect(refusal.errorCode == "AUTHENTICATION_REQUIRED")
            let url = refusal["redirectURL"]?.string
            #expect(url?.hasPrefix("https://node.example/sign-in?state=") == true)
            let joined = try await guest.post("public/records/accept", body)
            let result = joined.entries("results").first
            #expect(result?["participantType"] == "PRIVATE_USER", "\(joined.json.text)")
            #expect(try await guest.change("b", in: "Trips", of: owner) == "ACCESS_DENIED")
            for (list, outcome) in [
                (participant("READ_WRITE"), nil), ("", "ZONE_NOT_FOUND"),
            ] as [(String, String?)] {
                let saved = try await user.share(
                    .forceUpdate,
                    in: "Trips",
                    #""recordName": "cloudkit.zoneshare", "participants": [\#(list)]"#
                )
                #expect(saved.errorCode == nil, "\(saved.text)")
                #expect(try await guest.change("b", in: "Trips", of: owner) == outcome)
            }
        }
    }

    @Test func wrongSharesAreRefused() async throws {
        try await withWebUser { user, _ in
            try await user.makeTree("Trips")
            for (members, code) in [
                (#""forRecord": {"recordName": "none"}"#, "NOT_FOUND"),
                (#""forRecord": {"recordName": "a", "recordChangeTag": "00"}"#, "CONFLICT"),
                (#""fields": {}"#, "BAD_REQUEST"),
                (
                    #""forRecord": {"recordName": "a"}, "fields": {"no": {"value": 1}}"#,
                    "BAD_REQUEST"
                ),
            ] {
                let entry = try await user.share(.create, in: "Trips", members)
                #expect(entry.errorCode == code, "\(members): \(entry.text)")
            }
            let elsewhere = try await user.modify(
                "private",
                operation(.create, "d", type: "Note"),
                """
                {"operationType": "create", "record": {"recordType": "cloudkit.share",
                 "recordName": "s", "forRecord": {"recordName": "d"}}}
                """
            )
            #expect(elsewhere.last?.errorCode == "BAD_REQUEST")
            let note = operation(.create, "n", type: "Note").replacing(
                #""recordType""#,
                with: #""publicPermission": "READ_ONLY", "recordType""#
            )
            let refused = try await user.modify("private", note)
            #expect(refused.first?.errorCode == "BAD_REQUEST")
            let malformed = try await user.post(
                "private/records/modify",
                """
                {"operations": [{"operationType": "create", "record": {"recordName": "s",
                 "recordType": "cloudkit.share", "participants": [{"type": "BOSS"}]}}]}
                """
            )
            #expect(malformed.code == "BAD_REQUEST")
        }
    }
}
