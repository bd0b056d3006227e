// Every dictionary of CloudKit's web services that requests hold, member by member: what the
// gateway makes of each.
//
// Checked by `WebMembersTests`, which sends each one. A member that changes what a request means is
// read or refused; of the others this says why leaving them out changes nothing.

import CumulusGateway

/// One dictionary, in the smallest request that holds it.
struct WebMembers: Sendable {
    /// What becomes of a member.
    enum Fate: Sendable {
        /// It is read: this value is not one that it may have, and is refused by the member's name.
        case read(not: String)
        /// A value that it may have elsewhere is refused by the member's name.
        case refused(String)
        /// A value that it may have changes nothing, and why.
        case harmless(String, because: String)
    }

    let name: String
    /// Database and endpoint; without a database the device endpoint.
    let path: String
    /// `@` stands for the dictionary.
    let request: String
    /// Members with which the request is taken.
    let base: [(key: String, value: String)]
    let members: [(key: String, fate: Fate)]

    init(
        _ name: String,
        _ path: String,
        _ request: String,
        _ base: [(String, String)],
        _ members: [(String, Fate)]
    ) {
        self.name = name
        self.path = path
        self.request = request
        self.base = base.map { (key: $0.0, value: $0.1) }
        self.members = members.map { (key: $0.0, fate: $0.1) }
    }

    /// The request with another value of a member; nil: as it is taken.
    func body(_ key: String? = nil, _ value: String = "") -> String {
        var members = base.filter { $0.key != key }
        if let key { members.append((key: key, value: value)) }
        let list = members.map { #""\#($0.key)": \#($0.value)"# }.joined(separator: ", ")
        return request.replacing("@", with: "{\(list)}")
    }
}

extension WebMembers {
    // What tests make beforehand: a zone `Z` with the records `a` and `p`, and an asset.

    /// Replaced by what a file was answered with.
    static let file = "FILE"
    /// Replaced by the end of a share's URL.
    static let share = "SHARE"

    private static let number = Fate.read(not: "5")
    private static let text = Fate.read(not: #""x""#)
    private static let zone = Fate.read(not: #"{"zoneName": 5}"#)
    private static let server =
        "the server says it in answers, and clients send back what they read"
    private static let options: [(String, Fate)] = [
        ("desiredKeys", number), ("numbersAsStrings", number), ("numberAsStrings", number),
    ]

    static let all: [WebMembers] = requests + records + shares + values + queries + others

    // MARK: Requests

    private static let requests: [WebMembers] = [
        WebMembers(
            "records/query",
            "private/records/query",
            "@",
            [("query", #"{"recordType": "Note"}"#)],
            [
                ("query", number), ("zoneID", zone), ("zoneWide", number), ("resultsLimit", text),
                ("continuationMarker", number),
            ] + options
        ),
        WebMembers(
            "records/modify",
            "private/records/modify",
            "@",
            [("operations", "[]")],
            [("operations", number), ("zoneID", zone), ("atomic", number)] + options
        ),
        WebMembers(
            "operation on a record",
            "private/records/modify",
            #"{"operations": [@]}"#,
            [("operationType", #""forceDelete""#), ("record", #"{"recordName": "none"}"#)],
            [("operationType", number), ("record", number)] + options
        ),
        WebMembers(
            "records/lookup",
            "private/records/lookup",
            "@",
            [("records", "[]")],
            [
                ("records", number), ("zoneID", zone),
                (
                    "assetPrivacyMaskType",
                    .harmless("5", because: "assets have no masks: links are of their caller")
                ),
            ] + options
        ),
        WebMembers(
            "record that is looked up",
            "private/records/lookup",
            #"{"records": [@]}"#,
            [("recordName", #""a""#), ("zoneID", #"{"zoneName": "Z"}"#)],
            [("recordName", number), ("zoneID", zone)] + options
        ),
        WebMembers(
            "records/changes",
            "private/records/changes",
            "@",
            [("zoneID", #"{"zoneName": "Z"}"#)],
            [
                ("zoneID", zone), ("resultsLimit", text), ("syncToken", number),
                ("desiredRecordTypes", number), ("reverse", .refused("true")),
            ] + options
        ),
        WebMembers(
            "changes/database",
            "private/changes/database",
            "@",
            [],
            [("syncToken", number), ("resultsLimit", text)]
        ),
        WebMembers(
            "zones/changes",
            "private/zones/changes",
            "@",
            [],
            [("metaSyncToken", number), ("syncToken", number), ("resultsLimit", text)]
        ),
        WebMembers(
            "changes/zone",
            "private/changes/zone",
            "@",
            [("zones", #"[{"zoneID": {"zoneName": "Z"}}]"#)],
            [
                ("zones", number), ("resultsLimit", text), ("desiredRecordTypes", number),
                ("reverse", .refused("true")),
            ] + options
        ),
        WebMembers(
            "zone whose changes are asked for",
            "private/changes/zone",
            #"{"zones": [@]}"#,
            [("zoneID", #"{"zoneName": "Z"}"#)],
            [
                ("zoneID", zone), ("syncToken", number), ("resultsLimit", text),
                ("desiredRecordTypes", number), ("reverse", .refused("true")),
            ] + options
        ),
    ]

    // MARK: Records

    private static let records: [WebMembers] = [
        WebMembers(
            "record",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"},
             "operations": [{"operationType": "forceUpdate", "record": @}]}
            """#,
            [("recordName", #""b""#), ("recordType", #""Note""#)],
            [
                ("recordName", number), ("recordType", number), ("recordChangeTag", number),
                ("fields", number), ("zoneID", zone), ("parent", number),
                ("forRecord", .refused(#"{"recordName": "a"}"#)),
                ("publicPermission", .refused(#""READ_ONLY""#)), ("participants", .refused("[]")),
                ("created", .harmless(#"{"timestamp": 5}"#, because: server)),
                ("modified", .harmless(#"{"timestamp": 5}"#, because: server)),
                ("deleted", .harmless("false", because: server)),
                ("pluginFields", .harmless("{}", because: server)),
                (
                    "share",
                    .harmless(
                        #"{"recordName": "s"}"#,
                        because: "a record is shared by the save of its share, which names it"
                    )
                ), ("shortGUID", .harmless(#""x""#, because: server)),
                (
                    "createShortGUID",
                    .harmless("true", because: "each share has a short GUID, and no other record")
                ),
            ]
        ),
        WebMembers(
            "parent",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"}, "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "b", "recordType": "Note", "parent": @}}]}
            """#,
            [("recordName", #""p""#)],
            [
                ("recordName", number), ("zoneID", .refused(#"{"zoneName": "Other"}"#)),
                ("action", .refused(#""DELETE_SELF""#)),
            ]
        ),
        WebMembers(
            "zone's id",
            "private/records/lookup",
            #"{"zoneID": @, "records": []}"#,
            [("zoneName", #""Z""#)],
            [
                ("zoneName", number), ("ownerRecordName", number), ("ownerName", number),
                ("zoneType", .harmless(#""REGULAR_CUSTOM_ZONE""#, because: server)),
            ]
        ),
    ]

    // MARK: Shares

    private static let shares: [WebMembers] = [
        WebMembers(
            "share",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"},
             "operations": [{"operationType": "forceUpdate", "record": @}]}
            """#,
            [
                ("recordName", #""s""#), ("recordType", #""cloudkit.share""#),
                ("forRecord", #"{"recordName": "a"}"#),
            ],
            [
                ("forRecord", number), ("publicPermission", number), ("participants", number),
                ("parent", number), ("owner", .harmless("{}", because: server)),
                ("currentUserParticipant", .harmless("{}", because: server)),
                ("stableUrl", .harmless(#""x""#, because: server)),
                ("shortTokenHash", .harmless(#""x""#, because: server)),
            ]
        ),
        WebMembers(
            "record that a share is for",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"}, "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "s", "recordType": "cloudkit.share", "forRecord": @}}]}
            """#,
            [("recordName", #""a""#)],
            [
                ("recordName", number), ("zoneID", .refused(#"{"zoneName": "Other"}"#)),
                ("recordChangeTag", number),
            ]
        ),
        WebMembers(
            "participant",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"}, "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "s", "recordType": "cloudkit.share",
              "forRecord": {"recordName": "a"}, "participants": [@]}}]}
            """#,
            [("userIdentity", #"{"lookupInfo": {"emailAddress": "c@example.org"}}"#)],
            [
                ("participantId", number), ("type", number), ("permission", number),
                ("acceptanceStatus", number), ("userIdentity", number),
            ]
        ),
        WebMembers(
            "identity of a participant",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"}, "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "s", "recordType": "cloudkit.share",
              "forRecord": {"recordName": "a"}, "participants": [{"userIdentity": @}]}}]}
            """#,
            [("lookupInfo", #"{"emailAddress": "c@example.org"}"#)],
            [
                ("userRecordName", number), ("lookupInfo", number),
                ("nameComponents", .harmless("{}", because: "users name themselves")),
            ]
        ),
        WebMembers(
            "what finds a participant",
            "private/records/modify",
            #"""
            {"zoneID": {"zoneName": "Z"}, "operations": [{"operationType": "forceUpdate",
             "record": {"recordName": "s", "recordType": "cloudkit.share",
              "forRecord": {"recordName": "a"},
              "participants": [{"userIdentity": {"lookupInfo": @}}]}}]}
            """#,
            [("emailAddress", #""c@example.org""#)],
            [("emailAddress", number), ("phoneNumber", number), ("userRecordName", number)]
        ),
        WebMembers(
            "records/resolve",
            "public/records/resolve",
            "@",
            [("shortGUIDs", "[]")],
            [("shortGUIDs", number)] + options
        ),
        WebMembers(
            "share that is resolved",
            "public/records/resolve",
            #"{"shortGUIDs": [@]}"#,
            [("value", #""SHARE""#)],
            [
                ("value", number), ("shouldFetchRootRecord", number),
                ("rootRecordDesiredKeys", number),
            ]
        ),
        WebMembers(
            "share that is accepted",
            "public/records/accept",
            #"{"shortGUIDs": [@]}"#,
            [("value", #""SHARE""#)],
            [
                ("value", number), ("shouldFetchRootRecord", number),
                ("rootRecordDesiredKeys", number),
            ]
        ),
    ]

    // MARK: Values

    private static func field(
        _ name: String,
        _ request: String,
        _ base: [(String, String)],
        _ members: [(String, Fate)]
    ) -> WebMembers {
        let record = #"{"recordName": "b", "recordType": "Note", "fields": {\#(request)}}"#
        let operation = #"{"operationType": "forceUpdate", "record": \#(record)}"#
        return WebMembers(
            name,
            "private/records/modify",
            #"{"zoneID": {"zoneName": "Z"}, "operations": [\#(operation)]}"#,
            base,
            members
        )
    }

    private static let coordinates: [(String, Fate)] = [
        "latitude", "longitude", "horizontalAccuracy", "verticalAccuracy", "altitude", "speed",
        "course", "timestamp",
    ].map { ($0, text) }

    private static let values: [WebMembers] = [
        field(
            "field",
            #""title": @"#,
            [("value", #""x""#)],
            [("value", number), ("type", number), ("isEncrypted", .refused("true"))]
        ),
        field(
            "location",
            #""place": {"value": @}"#,
            [("latitude", "1"), ("longitude", "2")],
            coordinates
        ),
        field(
            "reference",
            #""post": {"value": @}"#,
            [("recordName", #""a""#)],
            [
                ("recordName", number), ("zoneID", .refused(#"{"zoneName": "Other"}"#)),
                ("action", .refused(#""VALIDATE""#)),
            ]
        ),
        field(
            "asset",
            #""photo": {"value": @}"#,
            [("receipt", file)],
            [
                ("receipt", number), ("fileChecksum", number), ("size", number),
                (
                    "referenceChecksum",
                    .harmless(#""x""#, because: "the receipt stands for the bytes alone")
                ),
                (
                    "wrappingKey",
                    .harmless(#""x""#, because: "files are kept as they came, wrapped by no key")
                ), ("downloadURL", .harmless(#""x""#, because: server)),
            ]
        ),
    ]

    // MARK: Queries

    private static func query(
        _ name: String,
        _ query: String,
        _ base: [(String, String)],
        _ members: [(String, Fate)]
    ) -> WebMembers {
        WebMembers(name, "private/records/query", #"{"query": \#(query)}"#, base, members)
    }

    private static let queries: [WebMembers] = [
        query(
            "query",
            "@",
            [("recordType", #""Note""#)],
            [("recordType", number), ("filterBy", number), ("sortBy", number)]
        ),
        query(
            "filter",
            #"{"recordType": "Note", "filterBy": [@]}"#,
            [
                ("comparator", #""EQUALS""#), ("fieldName", #""title""#),
                ("fieldValue", #"{"value": "x"}"#),
            ],
            [
                ("comparator", number), ("fieldName", number),
                ("systemFieldName", .refused(#""recordName""#)), ("fieldValue", number),
                ("distance", .refused("5")),
            ]
        ),
        query(
            "reference of a filter",
            #"""
            {"recordType": "Note", "filterBy": [{"comparator": "EQUALS",
             "systemFieldName": "recordName", "fieldValue": {"value": @}}]}
            """#,
            [("recordName", #""a""#)],
            [
                ("recordName", number), ("zoneID", .refused(#"{"zoneName": "Other"}"#)),
                (
                    "action",
                    .harmless(#""VALIDATE""#, because: "a filter compares names of records")
                ),
            ]
        ),
        query(
            "filter by distance",
            #"{"recordType": "Note", "filterBy": [@]}"#,
            [
                ("comparator", #""NEAR""#), ("fieldName", #""place""#), ("distance", "5"),
                ("fieldValue", #"{"value": {"latitude": 1, "longitude": 2}}"#),
            ],
            [("distance", text)]
        ),
        query(
            "sort",
            #"{"recordType": "Note", "sortBy": [@]}"#,
            [("fieldName", #""title""#)],
            [
                ("fieldName", number), ("systemFieldName", .refused(#""recordName""#)),
                ("ascending", number), ("relativeLocation", number),
            ]
        ),
    ]

    // MARK: The rest

    private static func subscription(
        _ name: String,
        _ base: [(String, String)],
        _ members: [(String, Fate)]
    ) -> WebMembers {
        WebMembers(
            name,
            "private/subscriptions/modify",
            #"{"operations": [{"operationType": "create", "subscription": @}]}"#,
            [("subscriptionID", #""s""#)] + base,
            [("subscriptionID", number), ("subscriptionType", number)] + members
        )
    }

    private static let others: [WebMembers] = [
        WebMembers(
            "zones/lookup",
            "private/zones/lookup",
            "@",
            [("zones", "[]")],
            [("zones", number)]
        ),
        WebMembers(
            "zones/modify",
            "private/zones/modify",
            "@",
            [("operations", "[]")],
            [("operations", number)]
        ),
        WebMembers(
            "operation on a zone",
            "private/zones/modify",
            #"{"operations": [@]}"#,
            [("operationType", #""create""#), ("zone", #"{"zoneID": {"zoneName": "Z"}}"#)],
            [("operationType", number), ("zone", number)]
        ),
        WebMembers(
            "zone",
            "private/zones/modify",
            #"{"operations": [{"operationType": "create", "zone": @}]}"#,
            [("zoneID", #"{"zoneName": "Z"}"#)],
            [
                ("zoneID", zone), ("syncToken", .harmless(#""x""#, because: server)),
                ("atomic", .harmless("true", because: "each custom zone is atomic, and no other")),
                ("deleted", .harmless("false", because: server)),
            ]
        ),
        WebMembers(
            "subscriptions/lookup",
            "private/subscriptions/lookup",
            "@",
            [("subscriptions", "[]")],
            [("subscriptions", number)]
        ),
        WebMembers(
            "subscriptions/modify",
            "private/subscriptions/modify",
            "@",
            [("operations", "[]")],
            [("operations", number)]
        ),
        subscription(
            "subscription to a query",
            [
                ("subscriptionType", #""query""#), ("query", #"{"recordType": "Note"}"#),
                ("firesOn", #"["create"]"#),
            ],
            [
                ("query", number), ("firesOn", number), ("firesOnce", number), ("zoneID", zone),
                ("zoneWide", number), ("notificationInfo", number),
            ]
        ),
        subscription(
            "subscription to a zone",
            [("subscriptionType", #""zone""#), ("zoneID", #"{"zoneName": "Z"}"#)],
            [
                ("zoneID", zone), ("zoneWide", .refused("true")),
                ("query", .refused(#"{"recordType": "Note"}"#)),
                ("firesOn", .refused(#"["create"]"#)), ("firesOnce", .refused("true")),
                ("notificationInfo", number),
            ]
        ),
        subscription(
            "subscription to a database",
            [("subscriptionType", #""database""#)],
            [
                ("zoneID", .refused(#"{"zoneName": "Z"}"#)),
                (
                    "zoneWide",
                    .harmless("true", because: "it tells of all zones anyway")
                ), ("query", .refused(#"{"recordType": "Note"}"#)),
                ("firesOn", .refused(#"["create"]"#)), ("firesOnce", .refused("true")),
                ("notificationInfo", number),
            ]
        ),
        WebMembers(
            "what a notification shows",
            "private/subscriptions/modify",
            #"""
            {"operations": [{"operationType": "create", "subscription":
             {"subscriptionID": "s", "subscriptionType": "database", "notificationInfo": @}}]}
            """#,
            [],
            [
                "alertBody", "alertLocalizationKey", "alertLocalizationArgs",
                "alertActionLocalizationKey", "alertLaunchImage", "soundName", "shouldBadge",
                "shouldSendContentAvailable", "shouldSendMutableContent", "additionalFields",
                "category", "title", "subtitle", "titleLocalizationKey", "titleLocalizationArgs",
                "subtitleLocalizationKey", "subtitleLocalizationArgs", "collapseIDKey",
            ].map { ($0, number) }
        ),
        WebMembers(
            "users/discover",
            "public/users/discover",
            "@",
            [("lookupInfos", "[]")],
            [("lookupInfos", number)]
        ),
        WebMembers(
            "user who is looked for",
            "public/users/discover",
            #"{"lookupInfos": [@]}"#,
            [("userRecordName", #""USER""#)],
            [
                ("userRecordName", number), ("emailAddress", .refused(#""c@example.org""#)),
                ("phoneNumber", .refused(#""+47123""#)),
            ]
        ),
        WebMembers(
            "users/lookup",
            "public/users/lookup/id",
            "@",
            [("users", "[]")],
            [("users", number)]
        ),
        WebMembers(
            "assets/upload",
            "private/assets/upload",
            "@",
            [("tokens", "[]")],
            [("tokens", number), ("zoneID", zone)]
        ),
        WebMembers(
            "file that is to be uploaded",
            "private/assets/upload",
            #"{"tokens": [@]}"#,
            [("fieldName", #""photo""#)],
            [("fieldName", number), ("recordType", number), ("recordName", number)]
        ),
        WebMembers(
            "assets/rereference",
            "private/assets/rereference",
            "@",
            [("assets", "[]")],
            [("assets", number), ("zoneID", zone), ("targetZoneID", zone)]
        ),
        WebMembers(
            "asset that is referred to again",
            "private/assets/rereference",
            #"{"assets": [@]}"#,
            [
                ("recordName", #""a""#), ("fieldName", #""photo""#),
                ("zoneID", #"{"zoneName": "Z"}"#),
            ],
            [
                ("recordName", number), ("fieldName", number), ("zoneID", zone),
                ("fileChecksum", number),
            ]
        ),
        WebMembers(
            "tokens/create",
            "tokens/create",
            "@",
            [("apnsEnvironment", #""development""#)],
            [
                ("apnsEnvironment", number), ("clientId", number),
            ]
        ),
        WebMembers(
            "tokens/register",
            "tokens/register",
            "@",
            [("apnsEnvironment", #""development""#), ("apnsToken", #""00""#)],
            [
                ("apnsEnvironment", number), ("apnsToken", number), ("clientId", number),
            ]
        ),
    ]
}
