// The access matrix of web services: what each endpoint answers to each kind of caller, row by row.
//
// Checked by `WebAccessMatrixTests`. Rights are the node's, and `AccessMatrix` of its own tests has
// them method by method; these rows show that no endpoint opens another way to them. An endpoint
// has one row for each target that makes a difference.

import CumulusGateway

enum WebAccessMatrix {
    /// The callers; the words of a row are in this order.
    enum Who: String, CaseIterable {
        /// Shows nothing.
        case nobody
        /// Shows an app's API token only, as the other users do too.
        case app
        /// Has the private zone and the public records.
        case owner
        /// A user like any other.
        case other
        /// Signs with a server's key.
        case server
        /// Takes part in the share of the zone: one may read, the other write.
        case reader
        case writer
    }

    /// What bodies name.
    struct Names {
        var who: Who
        /// The owner's private zone, as JSON.
        var zone: String
        /// The end of its share's URL.
        var share: String
    }

    struct Row: Sendable {
        let endpoint: WebEndpoint
        /// Empty: the endpoint's URL names none.
        let database: String
        /// For each of `Who`: the status of what refuses the request or its only item; `x`, any of
        /// them; `told`, an answer that shows the target; `ok`, another one; `-`, not asked.
        let expected: [String]
        let body: @Sendable (Names) -> String

        init(
            _ endpoint: WebEndpoint,
            _ database: String,
            _ expected: String,
            _ body: @escaping @Sendable (Names) -> String = { _ in "{}" }
        ) {
            self.endpoint = endpoint
            self.database = database
            self.expected = expected.split(separator: " ").map(String.init)
            self.body = body
        }

        var path: String {
            database.isEmpty ? endpoint.rawValue : "\(database)/\(endpoint.rawValue)"
        }
    }

    /// Begins the name of each target.
    static let sign = "target-"
    static let zone = "target-zone"

    static let schema =
        WebUser.schema + """
             RECORD TYPE Report (
                "___recordID" REFERENCE QUERYABLE, title STRING,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator"
            );
            """

    // MARK: Rows

    static let rows: [Row] =
        recordRows + changeRows + zoneRows + userRows + subscriptionRows + shareRows + assetRows
        + tokenRows

    private static let recordRows: [Row] = [
        Row(.recordsLookup, "private", "401 421 told 404 401 404 404") { lookUp("record", $0) },
        Row(.recordsLookup, "shared", "401 421 404 404 401 told told") { lookUp("record", $0) },
        Row(.recordsLookup, "public", "401 told told told told told told") { _ in lookUp("note") },
        Row(.recordsLookup, "public", "401 403 told 403 403 403 403") { _ in lookUp("report") },
        Row(.recordsQuery, "private", "401 421 told 404 401 404 404") { query("Note", $0) },
        Row(.recordsQuery, "shared", "401 421 404 404 401 told told") { query("Note", $0) },
        Row(.recordsQuery, "public", "401 told told told told told told") { _ in query("Note") },
        Row(.recordsQuery, "public", "401 403 told ok ok ok ok") { _ in query("Report") },
        Row(.recordsModify, "private", "401 421 ok 404 401 404 404") { update("record", $0) },
        Row(.recordsModify, "shared", "401 421 404 404 401 403 ok") { update("record", $0) },
        Row(.recordsModify, "public", "401 421 ok 403 403 403 403") { _ in update("note") },
        Row(.recordsModify, "public", "401 421 ok 403 403 403 403") { _ in update("report") },
        Row(.recordsModify, "public", "401 421 ok ok ok ok ok") {
            let create = operation(.create, "by-\($0.who)", type: "Note")
            return #"{"operations": [\#(create)]}"#
        },
    ]

    private static let changeRows: [Row] = [
        Row(.recordsChanges, "private", "401 421 told 404 401 404 404") { inZone($0) },
        Row(.recordsChanges, "shared", "401 421 404 404 401 told told") { inZone($0) },
        Row(.changesZone, "private", "401 421 told 404 401 404 404") { list("zones", inZone($0)) },
        Row(.changesZone, "shared", "401 421 404 404 401 told told") { list("zones", inZone($0)) },
        Row(.changesDatabase, "private", "401 421 told ok 401 ok ok"),
        Row(.changesDatabase, "shared", "401 421 ok ok 401 told told"),
        Row(.zonesChanges, "private", "401 421 told ok 401 ok ok"),
        Row(.zonesChanges, "shared", "401 421 ok ok 401 told told"),
    ]

    private static let zoneRows: [Row] = [
        Row(.zonesList, "private", "401 421 told ok 401 ok ok"),
        Row(.zonesList, "shared", "401 421 ok ok 401 told told"),
        Row(.zonesList, "public", "401 421 ok ok ok ok ok"),
        Row(.zonesLookup, "private", "401 421 told 404 401 404 404") { list("zones", $0.zone) },
        Row(.zonesLookup, "shared", "401 421 404 404 401 told told") { list("zones", $0.zone) },
        Row(.zonesLookup, "public", "401 421 ok ok ok ok ok") { _ in
            list("zones", #"{"zoneName": "_defaultZone"}"#)
        },
        Row(.zonesModify, "private", "401 421 ok 404 401 404 404") {
            list("operations", #"{"operationType": "create", "zone": \#(inZone($0))}"#)
        },
    ]

    private static let userRows: [Row] =
        [
            .usersCurrent, .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupContacts,
        ].map { Row($0, "public", "401 421 ok ok 401 ok ok") }
        + [
            Row(.usersCaller, "public", "401 421 ok ok ok ok ok"),
            Row(.usersCaller, "private", "401 421 ok ok 401 ok ok"),
            Row(.usersCaller, "shared", "401 421 ok ok 401 ok ok"),
            Row(.usersCurrent, "private", "401 421 ok ok 401 ok ok"),
            Row(.usersCurrent, "shared", "401 421 ok ok 401 ok ok"),
            // It would end the sessions of the others.
            Row(.usersSignOut, "public", "401 421 - - 401 - -"),
        ]

    private static let subscriptionRows: [Row] = [
        Row(.subscriptionsList, "private", "401 421 told ok 401 ok ok"),
        Row(.subscriptionsList, "public", "401 421 ok ok 403 ok ok"),
        Row(.subscriptionsLookup, "private", "401 421 told 404 401 404 404") { _ in
            list("subscriptions", #"{"subscriptionID": "target-subscription"}"#)
        },
        Row(.subscriptionsModify, "private", "401 421 ok ok 401 ok ok") { _ in
            list("operations", subscribing("private", to: "Note"))
        },
        Row(.subscriptionsModify, "public", "401 421 ok ok 403 ok ok") { _ in
            list("operations", subscribing("public", to: "Note"))
        },
    ]

    /// Only who is in it learns of a share, and joins.
    private static let shareRows: [Row] = [
        Row(.recordsResolve, "public", "401 421 told x x told told") {
            list("shortGUIDs", #"{"value": "\#($0.share)"}"#)
        },
        Row(.recordsAccept, "public", "401 421 - x x told told") {
            list("shortGUIDs", #"{"value": "\#($0.share)"}"#)
        },
    ]

    /// A link to upload opens nothing by itself: the node judges its use.
    private static let assetRows: [Row] = [
        Row(.assetsUpload, "private", "401 421 ok ok 401 ok ok") { _ in photo() },
        Row(.assetsUpload, "public", "401 421 ok ok ok ok ok") { _ in photo() },
        Row(.assetsRereference, "private", "401 421 ok 404 401 404 404") { photo("record", $0) },
        Row(.assetsRereference, "shared", "401 421 404 404 401 ok ok") { photo("record", $0) },
        Row(.assetsRereference, "public", "401 421 ok ok ok ok ok") { _ in photo("note") },
    ]

    private static let tokenRows: [Row] = [
        Row(.tokensCreate, "", "401 421 ok ok 403 ok ok") { _ in
            #"{"apnsEnvironment": "development"}"#
        },
        Row(.tokensRegister, "", "401 421 ok ok 403 ok ok") { _ in
            #"{"apnsEnvironment": "development", "apnsToken": "00"}"#
        },
    ]

    // MARK: Bodies

    private static func list(_ key: String, _ item: String) -> String {
        #"{"\#(key)": [\#(item)]}"#
    }

    private static func inZone(_ names: Names) -> String { #"{"zoneID": \#(names.zone)}"# }

    /// - Parameters:
    ///   - members: Members of the body, besides the zone.
    ///   - names: nil: it names no zone.
    private static func body(_ members: String, _ names: Names?) -> String {
        let zone = names.map { #""zoneID": \#($0.zone), "# } ?? ""
        return "{\(zone)\(members)}"
    }

    private static func lookUp(_ target: String, _ names: Names? = nil) -> String {
        body(#""records": [{"recordName": "target-\#(target)"}]"#, names)
    }

    private static func query(_ type: String, _ names: Names? = nil) -> String {
        body(#""query": {"recordType": "\#(type)"}"#, names)
    }

    private static func update(_ target: String, _ names: Names? = nil) -> String {
        let change = operation(.forceUpdate, "target-\(target)", #""title": {"value": "x"}"#)
        return body(#""operations": [\#(change)]"#, names)
    }

    private static func photo() -> String {
        list("tokens", #"{"recordType": "Note", "fieldName": "photo"}"#)
    }

    private static func photo(_ target: String, _ names: Names? = nil) -> String {
        let item = #"{"recordName": "target-\#(target)", "fieldName": "photo"}"#
        return body(#""assets": [\#(item)]"#, names)
    }

    /// A second, equal subscription would be refused.
    static func subscribing(_ id: String, to type: String) -> String {
        """
        {"operationType": "create", "subscription": {"subscriptionID": "\(id)",
         "subscriptionType": "query", "firesOn": ["create"], "query": {"recordType": "\(type)"},
         "zoneID": {"zoneName": "_defaultZone"}}}
        """
    }
}
