// The requests that a migration makes to web services: their paths and bodies.
//
// Pure. A request asks for 200 records at most, as the services allow.

package import CumulusModel

package struct SourceRequest: Hashable, Sendable {
    /// The most records that a request names or gets.
    package static let most = 200

    /// Behind the environment: database and endpoint, such as `public/records/query`.
    package var path: String
    /// The JSON of a POST; empty in a GET.
    package var body: String

    /// The records of a type in a zone, page after page.
    ///
    /// - Parameters:
    ///   - since: Only those that were modified at that time or later, in milliseconds.
    ///   - keys: The fields to get; nil means all.
    ///   - limit: The most records of a page.
    package static func query(
        _ type: String,
        in zone: SourceZone,
        of database: DatabaseScope,
        since: Int64? = nil,
        marker: String? = nil,
        keys: [String]? = nil,
        limit: Int = most
    ) -> SourceRequest {
        var query = [JSON.Member("recordType", .string(type))]
        if let since {
            let filter: JSON = [
                "systemFieldName": "modifiedTimestamp", "comparator": "GREATER_THAN_OR_EQUALS",
                "fieldValue": ["value": .integer(since), "type": "TIMESTAMP"],
            ]
            query.append(JSON.Member("filterBy", .array([filter])))
        }
        var members = [
            JSON.Member("query", .object(query)), JSON.Member("zoneID", zone.json),
            JSON.Member("resultsLimit", .integer(Int64(limit))),
        ]
        if let marker { members.append(JSON.Member("continuationMarker", .string(marker))) }
        if let keys { members.append(JSON.Member("desiredKeys", .array(keys.map { .string($0) }))) }
        return post(database, "records/query", members)
    }

    /// Records by their names, at most 200.
    package static func lookup(
        _ names: [String],
        in zone: SourceZone,
        of database: DatabaseScope,
        keys: [String]? = nil
    ) -> SourceRequest {
        let records = names.map { JSON.object([JSON.Member("recordName", .string($0))]) }
        var members = [
            JSON.Member("records", .array(records)), JSON.Member("zoneID", zone.json),
        ]
        if let keys { members.append(JSON.Member("desiredKeys", .array(keys.map { .string($0) }))) }
        return post(database, "records/lookup", members)
    }

    /// What changed in a zone since a token; without one all of it.
    package static func zoneChanges(
        _ zone: SourceZone,
        of database: DatabaseScope,
        token: String?
    ) -> SourceRequest {
        var wish = [
            JSON.Member("zoneID", zone.json), JSON.Member("resultsLimit", .integer(Int64(most))),
        ]
        if let token { wish.append(JSON.Member("syncToken", .string(token))) }
        return post(
            database,
            "changes/zone",
            [JSON.Member("zones", .array([.object(wish)]))]
        )
    }

    /// Which zones changed since a token; without one all of them.
    package static func databaseChanges(
        of database: DatabaseScope,
        token: String?
    ) -> SourceRequest {
        let members = token.map { [JSON.Member("syncToken", .string($0))] } ?? []
        return post(database, "changes/database", members)
    }

    package static func subscriptions(of database: DatabaseScope) -> SourceRequest {
        SourceRequest(path: "\(database.name)/subscriptions/list", body: "")
    }

    package static let caller = SourceRequest(path: "public/users/caller", body: "")

    private static func post(
        _ database: DatabaseScope,
        _ endpoint: String,
        _ members: [JSON.Member]
    ) -> SourceRequest {
        SourceRequest(path: "\(database.name)/\(endpoint)", body: JSON.object(members).text)
    }
}
