// One request at its endpoint: what it asks, and the caller's calls to the node.
//
// Made by `WebGateway` when the caller was let in. The endpoints are in extensions, one file per
// family. Each returns the members of the answer, or, where answers hold many records, writes the
// answer when it is there as a whole. It throws what refuses the request.
//
// Folder: what each endpoint does. Read `WebContext`, then `WebContext+Records`.

package import CumulusModel
import CumulusWire

package struct WebContext: Sendable {
    package let route: WebRoute
    package let request: WebObject
    package let calls: any WebCalls
    /// Names the request in errors.
    package let uuid: String
    let links: WebLinks
    /// The refusal of a caller who has to sign in first, with the place to do so.
    let signIn: @Sendable () -> WebError

    package init(
        _ route: WebRoute,
        _ request: WebObject,
        _ calls: any WebCalls,
        _ links: WebLinks,
        uuid: String,
        signIn: @escaping @Sendable () -> WebError = { WebContext.userNeeded }
    ) {
        self.route = route
        self.request = request
        self.calls = calls
        self.links = links
        self.uuid = uuid
        self.signIn = signIn
    }

    var door: any WebDoor { links.door }
    var user: String { calls.user }
    var database: DatabaseScope { route.database }

    /// Does what the request asks for; returns the JSON of the answer.
    package func answer() async throws(WebError) -> Bytes {
        do {
            var json = JSONWriter()
            try await answer(&json)
            return json.bytes
        } catch {
            throw WebError(any: error)
        }
    }

    private func answer(_ json: inout JSONWriter) async throws {
        switch route.endpoint {
        case .recordsLookup: try await lookUpRecords(&json)
        case .recordsModify: try await modifyRecords(&json)
        case .recordsQuery: try await queryRecords(&json)
        case .recordsChanges: try await recordsChanges(&json)
        case .changesZone: try await zoneChanges(&json)
        default: json.value(.object(try await members() ?? []))
        }
    }

    /// The members of an answer that is not written as it comes; nil for the others.
    private func members() async throws -> [JSON.Member]? {
        switch route.endpoint {
        case .recordsLookup, .recordsModify, .recordsQuery, .recordsChanges, .changesZone: nil
        case .changesDatabase: try await databaseChanges(tokenKeys: ["syncToken"])
        case .zonesChanges: try await databaseChanges(tokenKeys: ["metaSyncToken", "syncToken"])
        case .zonesList: try await listZones()
        case .zonesLookup: try await lookUpZones()
        case .zonesModify: try await modifyZones()
        case .usersCaller, .usersCurrent: try identity()
        case .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupContacts:
            try await discoverUsers()
        case .usersSignOut: try await signOut()
        case .subscriptionsList: try await listSubscriptions()
        case .subscriptionsLookup: try await lookUpSubscriptions()
        case .subscriptionsModify: try await modifySubscriptions()
        case .recordsResolve: try await resolveShares(accepts: false)
        case .recordsAccept: try await resolveShares(accepts: true)
        case .assetsUpload: try announceUploads()
        case .assetsRereference: try await rereferenceAssets()
        case .tokensCreate: try await makeCourier(registers: false)
        case .tokensRegister: try await makeCourier(registers: true)
        }
    }

    static let userNeeded = WebError(.authenticationRequired, "request needs authorization")

    // MARK: Parts

    /// The zone that an object names; nil: it names none.
    func zone(in object: WebObject) throws(WebError) -> RecordZone.ID? {
        try WebZone.id(in: object, for: user)
    }

    /// How many entries the answer may have.
    func limit(_ object: WebObject) throws(WebError) -> Int {
        min(try object.count("resultsLimit") ?? WebLimits.items, WebLimits.items)
    }

    /// A token that the caller carries; empty: it has none.
    func token(_ object: WebObject, _ key: String) throws(WebError) -> Bytes {
        guard let text = try object.string(key), !text.isEmpty else { return [] }
        guard let bytes = Base64.decode(text) else {
            throw .badRequest("Unknown sync continuation type: '\(object.place(key))' is no token")
        }
        return bytes
    }

    func writer(_ options: WebRecordOptions) -> WebRecordWriter {
        // The target of a share's URL is in another database than the one in the request's URL.
        let isElsewhere = route.endpoint == .recordsResolve || route.endpoint == .recordsAccept
        let fields = WebFieldWriter(
            numbersAsStrings: options.numbersAsStrings,
            user: user,
            downloadURL: { [links] in isElsewhere ? nil : links.url(toDownload: $0) }
        )
        return WebRecordWriter(fields, keys: options.keys)
    }

    /// The fields of the types of records.
    func columns(of records: [Record]) async throws -> [String: [String: FieldType]] {
        try await calls.columns(of: Array(Set(records.map(\.recordType))).sorted())
    }

    /// The fields that a call asks for, so that each of several wishes is met; nil means all.
    static func wireKeys(_ options: [WebRecordOptions]) -> [Bytes]? {
        var keys: Set<String> = []
        for option in options {
            guard let wanted = option.keys else { return nil }
            keys.formUnion(wanted)
        }
        return keys.sorted().map { Bytes($0.utf8) }
    }

    /// Reads records by their names; each has a result.
    func fetch(_ ids: [Record.ID], keys: [Bytes]?) async throws -> [RecordResult] {
        if ids.isEmpty { return [] }
        let request = FetchRecordsRequest(
            database: database,
            ids: ids.map { WireRecordID($0) },
            keys: keys
        )
        let results = try await calls.fetch(request)
        guard results.count == ids.count else { throw WebContext.resultMissing }
        return results
    }

    static let resultMissing = WebError(.internalError, "the node's answer lacks a result")
}
