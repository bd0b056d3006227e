// What each web client asks in both worlds: every endpoint, of all that the client sees, and by the
// names of what it may not see.

import CumulusGateway
import CumulusModel
import CumulusTesting

extension WebHiddenCaller {
    private struct Place {
        let database: String
        /// As JSON; empty: the default zone.
        let zone: String

        /// The members of a body that name the zone, with a comma behind them.
        var members: String { zone.isEmpty ? "" : #""zoneID": \#(zone), "# }
    }

    private var places: [Place] {
        let shared =
            HiddenScene.zones.map { ($0, scene.owner) }
            + [("vault", scene.owner), ("own", scene.hidden)]
        return [Place(database: "public", zone: ""), Place(database: "private", zone: own)]
            + shared.map { zone, owner in
                Place(
                    database: "shared",
                    zone: #"{"zoneName": "\#(zone)", "ownerRecordName": "\#(owner)"}"#
                )
            }
    }

    private var own: String { #"{"zoneName": "trees"}"# }

    mutating func askAll() async throws {
        try await askOfUsers()
        for place in places {
            try await askOfZones(place)
            try await lookUp(place)
            try await query(place)
            try await askOfAssets(place)
            if place.database != "public" { try await askOfChanges(place) }
        }
        for database in ["private", "shared"] { try await askOfDatabase(database) }
        try await askOfSubscriptions()
        for place in places { try await change(place) }
        try await changeTallies()
        try await askOfShares()
    }

    private static func list(_ key: String, _ items: [String]) -> String {
        #"{"\#(key)": [\#(items.joined(separator: ", "))]}"#
    }

    // MARK: Users and zones

    private mutating func askOfUsers() async throws {
        try await ask(.usersCaller, "public")
        try await ask(.usersCaller, "private")
        try await ask(.usersCurrent, "public")
        try await ask(.usersDiscover, "public")
        let addresses = ["victim", "nobody", "quentin", "rosamunde"].map {
            #"{"emailAddress": "\#($0)@example.org"}"#
        }
        let names = [scene.hidden, scene.owner, "_" + String(repeating: "0", count: 32)].map {
            #"{"userRecordName": "\#($0)"}"#
        }
        try await ask(.usersLookupEmail, "public", Self.list("users", addresses))
        try await ask(.usersLookupContacts, "public", Self.list("contacts", addresses))
        try await ask(.usersLookupContacts, "public", Self.list("users", addresses))
        try await ask(.usersLookupID, "public", Self.list("users", names))
        let lookUps = (addresses + names).map { #"{"lookupInfo": \#($0)}"# }
        try await ask(.usersDiscover, "public", Self.list("lookupInfos", addresses + names))
        try await ask(.usersDiscover, "public", Self.list("lookupInfos", lookUps))
    }

    private mutating func askOfZones(_ place: Place) async throws {
        try await ask(.zonesList, place.database)
        let zone = place.zone.isEmpty ? #"{"zoneName": "_defaultZone"}"# : place.zone
        try await ask(.zonesLookup, place.database, Self.list("zones", [zone]))
    }

    // MARK: Records

    private mutating func lookUp(_ place: Place) async throws {
        let names = [
            "root", "inside-1", "outside", "outside-7", "outside-99", "share", "share-2", "gold",
            "photo", "trips-1", "park-1", "note-1", "known", "tally", "report-1", "\(who)-1",
            "mine", "nothing", "cloudkit.zoneshare",
        ].map { #"{"recordName": "\#($0)"}"# }
        let records = names.joined(separator: ", ")
        let body = #"{\#(place.members)"records": [\#(records)]}"#
        try await ask(.recordsLookup, place.database, body)
        guard place.database == "public" else { return }
        for name in ["diary-1", "diary-7", "diary-99"] {
            try await ask(
                .recordsLookup,
                "public",
                Self.list("records", [#"{"recordName": "\#(name)"}"#]),
                mayDiffer: name == "diary-7" ? Self.takenNames : ""
            )
        }
    }

    /// Names are given once in a database: who tries one learns whether it is taken.
    static let takenNames = "a name that is taken"

    private mutating func query(_ place: Place) async throws {
        let types =
            place.database == "public"
            ? ["Note", "Diary", "Report", "Secret", "Tally", "Users"] : ["Note"]
        for type in types {
            for comparator in ["GREATER_THAN_OR_EQUALS", "LESS_THAN"] {
                let filter = """
                    {"comparator": "\(comparator)", "fieldName": "n", "fieldValue": {"value": 5000}}
                    """
                let sort = #"{"fieldName": "n", "ascending": false}"#
                let query = """
                    {"recordType": "\(type)", "filterBy": [\(filter)], "sortBy": [\(sort)]}
                    """
                var marker = ""
                for _ in 0..<3 {
                    let page = try await ask(
                        .recordsQuery,
                        place.database,
                        #"{\#(place.members)"resultsLimit": 7, "query": \#(query)}"#,
                        from: marker
                    )
                    guard let next = page["continuationMarker"]?.string else { break }
                    marker = #""continuationMarker": "\#(next)""#
                }
            }
        }
    }

    private mutating func askOfAssets(_ place: Place) async throws {
        for name in ["known", "root", "outside", "outside-7", "nothing"] {
            try await ask(
                .assetsRereference,
                place.database,
                """
                {\(place.members)"assets": [{"recordName": "\(name)", "fieldName": "file"}]}
                """
            )
        }
        try await ask(
            .assetsUpload,
            place.database,
            #"{\#(place.members)"tokens": [{"recordType": "Note", "fieldName": "file"}]}"#
        )
    }

    // MARK: Changes

    private mutating func askOfChanges(_ place: Place) async throws {
        for limit in [3, 200] {
            var token = ""
            // The pages of a tree are many.
            for _ in 0..<6 {
                let page = try await ask(
                    .recordsChanges,
                    place.database,
                    #"{\#(place.members)"resultsLimit": \#(limit)}"#,
                    from: token
                )
                guard let next = page["syncToken"]?.string, page["moreComing"] == .bool(true)
                else { break }
                token = #""syncToken": "\#(next)""#
            }
        }
        let past = scene.past[who, default: .nothing]
        for token in [[], past.trips, past.trees] {
            let since = token.isEmpty ? "" : #", "syncToken": "\#(Base64.encode(token))""#
            let zone = #"{"zoneID": \#(place.zone)\#(since)}"#
            try await ask(.changesZone, place.database, Self.list("zones", [zone]))
        }
    }

    private mutating func askOfDatabase(_ database: String) async throws {
        let past = database == "shared" ? scene.past[who]?.sharedZones ?? [] : []
        for token in [[], past] {
            let since = token.isEmpty ? "{}" : #"{"syncToken": "\#(Base64.encode(token))"}"#
            try await ask(.changesDatabase, database, since)
            try await ask(.zonesChanges, database, since)
        }
    }

    // MARK: Subscriptions and shares

    private mutating func askOfSubscriptions() async throws {
        for database in ["public", "private"] {
            try await ask(.subscriptionsList, database)
            let zoes = #"{"subscriptionID": "zoes"}"#
            try await ask(.subscriptionsLookup, database, Self.list("subscriptions", [zoes]))
            let making = WebAccessMatrix.subscribing("zoes", to: "Diary")
            try await ask(.subscriptionsModify, database, Self.list("operations", [making]))
        }
        try await ask(.tokensCreate, "", #"{"apnsEnvironment": "development"}"#)
        try await ask(
            .tokensRegister,
            "",
            #"{"apnsEnvironment": "development", "apnsToken": "00"}"#
        )
    }

    private mutating func askOfShares() async throws {
        for (_, url) in scene.urls.sorted(by: { $0.key < $1.key }) {
            let guid = String(url.split(separator: "/").last ?? "")
            let body = Self.list("shortGUIDs", [#"{"value": "\#(guid)"}"#])
            try await ask(.recordsResolve, "public", body)
            try await ask(.recordsAccept, "public", body)
        }
        let guess = #"{"value": "AAAAAAAAAAAAAAAAAAAAAA"}"#
        try await ask(.recordsResolve, "public", Self.list("shortGUIDs", [guess]))
        if who != .anonymous, who != .former { return }
        try await ask(.usersSignOut, "public")
    }

    // MARK: Changes of records

    private mutating func change(_ place: Place) async throws {
        let text = #""text": {"value": "by \#(who)"}"#
        var operations = ["outside", "known", "note-1", "inside-1", "root"].map {
            operation(.forceUpdate, $0, type: "Note", text)
        }
        operations += ["outside-7", "outside-1", "nothing", "root", "known"].map {
            operation(.forceDelete, $0)
        }
        operations.append(operation(.create, "by-\(who)", type: "Note", text))
        if place.database != "public" {
            for parent in ["outside-7", "outside-1", "nothing", "root"] {
                operations.append(
                    """
                    {"operationType": "create", "record": {"recordName": "below-\(parent)-\(who)",
                     "recordType": "Note", "parent": {"recordName": "\(parent)"}}}
                    """
                )
            }
        }
        for operation in operations {
            let body = #"{\#(place.members)"operations": [\#(operation)]}"#
            try await ask(.recordsModify, place.database, body)
        }
        if place.database == "public" { return }
        let zone = #"{"operationType": "create", "zone": {"zoneID": \#(place.zone)}}"#
        try await ask(.zonesModify, place.database, Self.list("operations", [zone]))
    }

    /// A counter that everybody signed in may change, and nobody here read.
    private mutating func changeTallies() async throws {
        let change = operation(.forceUpdate, "tally", type: "Tally", #""text": {"value": "x"}"#)
        try await ask(.recordsModify, "public", Self.list("operations", [change]))
        let stale = operation(.update, "tally", tag: "0011223344556677", type: "Tally")
        try await ask(.recordsModify, "public", Self.list("operations", [stale]))
    }
}
