// The `syncToken` of answers to requests with `getCurrentSyncToken=true`: which answers have one,
// and what a fetch of changes from it tells.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebSyncTokenTests {
    /// The methods whose answers may have a token, with a body for a zone with a note `a`.
    private static let methods: [(endpoint: WebEndpoint, body: @Sendable (String) -> String)] = [
        (.recordsQuery, { #"{"zoneID": \#($0), "query": {"recordType": "Note"}}"# }),
        (.recordsLookup, { #"{"zoneID": \#($0), "records": [{"recordName": "a"}]}"# }),
        (
            .recordsModify,
            {
                let change = operation(.forceUpdate, "a", #""title": {"value": "x"}"#)
                return #"{"zoneID": \#($0), "operations": [\#(change)]}"#
            }
        ), (.zonesList, { _ in "{}" }),
    ]

    /// Sends a request that asks for a token.
    private func ask(
        _ user: WebUser,
        _ path: String,
        _ body: String,
        _ wish: String = "true"
    ) async throws -> WebUser.Answer {
        let target = user.target(path) + "&getCurrentSyncToken=\(wish)"
        return try await user.send(WebRequest("POST", target, body: Bytes(body.utf8)))
    }

    /// The names of the records of a zone that changed since a token.
    private func changes(
        _ user: WebUser,
        _ database: String,
        _ zone: String,
        since token: String
    ) async throws -> [String] {
        let answer = try await user.post(
            "\(database)/changes/zone",
            #"{"zones": [{"zoneID": \#(zone), "syncToken": "\#(token)"}]}"#
        )
        let entry = try #require(answer.entries("zones").first)
        #expect(entry.errorCode == nil && entry["moreComing"] == .bool(false), "\(entry.text)")
        guard case .array(let records)? = entry["records"] else { return [] }
        return records.compactMap { $0["recordName"]?.string }
    }

    /// The names of the zones of a database that changed since a token.
    private func zones(
        _ user: WebUser,
        _ database: String,
        since token: String
    ) async throws -> [String] {
        let answer = try await user.post(
            "\(database)/changes/database",
            #"{"syncToken": "\#(token)"}"#
        )
        #expect(answer.status == 200, "\(answer.json.text)")
        return answer.entries("zones").compactMap { $0["zoneID"]?["zoneName"]?.string }
    }

    /// Each method, in one place: the token tells what happens from then on, and nothing older.
    ///
    /// - Parameter save: Saves a note in the zone `Trips`.
    private func check(
        _ user: WebUser,
        _ database: String,
        _ zone: String,
        save: (_ name: String) async throws -> Void
    ) async throws {
        for (endpoint, body) in Self.methods {
            let (path, content) = ("\(database)/\(endpoint.rawValue)", body(zone))
            let plain = try await user.post(path, content)
            #expect(plain.status == 200, "\(path): \(plain.json.text)")
            #expect(plain.json["syncToken"] == nil && plain.json["moreComing"] == nil)
            let no = try await ask(user, path, content, "false")
            #expect(no.json["syncToken"] == nil)
            let asked = try await ask(user, path, content)
            let token = try #require(asked.json["syncToken"]?.string, "\(path): \(asked.json.text)")
            let name = "after-\(database)-\(endpoint.rawValue.replacing("/", with: "-"))"
            if endpoint == .zonesList {
                #expect(asked.json["moreComing"] == .bool(false))
                #expect(try await zones(user, database, since: token) == [])
                try await save(name)
                #expect(try await zones(user, database, since: token) == ["Trips"])
            } else {
                // What the request itself changed may be told once more.
                let told = Set(try await changes(user, database, zone, since: token))
                #expect(told.isSubset(of: ["a"]), "\(path): \(told)")
                try await save(name)
                let later = Set(try await changes(user, database, zone, since: token))
                #expect(later.contains(name) && !later.contains("b"), "\(path): \(later)")
            }
        }
    }

    @Test func ofAPrivateZone() async throws {
        try await withWebUser { user, _ in
            try await user.makeTree("Trips")
            try await check(user, "private", #"{"zoneName": "Trips"}"#) { name in
                let note = operation(.create, name, type: "Note")
                _ = try await user.modify("private", zone: "Trips", note)
            }
        }
    }

    /// A zone that is shared as a whole, and a tree of one.
    @Test(arguments: [true, false])
    func ofASharedZone(isWhole: Bool) async throws {
        try await withWebUser { owner, server in
            try await owner.makeTree("Trips")
            let made = try await owner.share(
                .create,
                in: "Trips",
                (isWhole
                    ? #""recordName": "cloudkit.zoneshare""# : #""forRecord": {"recordName": "a"}"#)
                    + #", "publicPermission": "READ_WRITE""#
            )
            let value = try #require(made["shortGUID"]?.string, "\(made.text)")
            let guest = try await WebUser.make("guest", owner.gateway, owner.door, server)
            _ = try await guest.post(
                "public/records/accept",
                #"{"shortGUIDs": [{"value": "\#(value)"}]}"#
            )
            let zone = #"{"zoneName": "Trips", "ownerRecordName": "\#(try await owner.name)"}"#
            try await check(guest, "shared", zone) { name in
                let note = """
                    {"operationType": "create", "record": {"recordName": "\(name)",
                     "recordType": "Note", "parent": {"recordName": "a"}}}
                    """
                _ = try await owner.modify("private", zone: "Trips", note)
            }
        }
    }

    /// What changes while a query is read page by page is told after the last page.
    @Test func allPagesOfAQueryHaveTheFirstToken() async throws {
        try await withWebUser { user, _ in
            try await user.makeTree("Trips")
            let zone = #"{"zoneName": "Trips"}"#
            func page(_ marker: String?) async throws -> JSON {
                let marker = marker.map { #", "continuationMarker": "\#($0)""# } ?? ""
                return try await ask(
                    user,
                    "private/records/query",
                    """
                    {"zoneID": \(zone), "query": {"recordType": "Note"}, "resultsLimit": 1\(marker)}
                    """
                ).json
            }
            let first = try await page(nil)
            let token = try #require(first["syncToken"]?.string, "\(first.text)")
            let change = operation(.forceUpdate, "a", #""title": {"value": "x"}"#)
            _ = try await user.modify("private", zone: "Trips", change)
            let second = try await page(try #require(first["continuationMarker"]?.string))
            #expect(second["syncToken"]?.string == token, "\(second.text)")
            #expect(try await changes(user, "private", zone, since: token) == ["a"])
        }
    }

    /// Zones that keep no changes or do not exist: the answer is what it is without the wish.
    @Test func whereNoChangesAreKeptThereIsNoToken() async throws {
        try await withWebUser { user, _ in
            _ = try await user.modify("private", operation(.create, "a", type: "Note"))
            _ = try await user.modify("public", operation(.create, "a", type: "Note"))
            let home = #"{"zoneName": "_defaultZone"}"#
            let gone = #"{"zoneName": "Gone"}"#
            let places = [("private", home), ("public", home), ("private", gone)]
            for (database, zone) in places {
                for (endpoint, body) in Self.methods where endpoint != .zonesList {
                    let path = "\(database)/\(endpoint.rawValue)"
                    let plain = try await user.post(path, body(zone))
                    let asked = try await ask(user, path, body(zone))
                    #expect(asked.status == plain.status, "\(path): \(asked.json.text)")
                    #expect(asked.code == plain.code && asked.json["syncToken"] == nil)
                }
            }
            let listed = try await ask(user, "public/zones/list", "{}")
            #expect(listed.status == 200 && listed.json["syncToken"] == nil)
        }
    }
}
