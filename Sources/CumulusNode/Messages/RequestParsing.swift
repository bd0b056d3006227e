// From what came over the wire to what operations take: names checked, fields canonical, the
// caller's own zones recognised.
//
// Called by the handlers of calls before anything is queued, so that the writer never waits for
// decoding.
// What is wrong with one item is that item's error; what is wrong with the request as a whole is
// thrown. hot: once per call.
//
// Folder: from messages to operations and back. Read `RequestParsing`, then `Answers`.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

/// Judges names and values on behalf of one caller.
struct RequestParser {
    let caller: Caller
    let limits: Limits
    /// Why a database is closed to the caller now; nil means that none is.
    var refusal: (@Sendable (DatabaseScope) -> ServiceError?)?
    /// Whether a subscription may name a webhook.
    var knowsWebhook: @Sendable (String) -> Bool = { _ in false }

    // MARK: Requests

    func fetchRecords(_ message: Bytes) throws -> FetchRecords {
        try fetchRecords(try FetchRecordsRequest(wire: message))
    }

    func fetchRecords(_ request: FetchRecordsRequest) throws(ServiceError) -> FetchRecords {
        guard request.ids.count <= limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(request.ids.count, limit: limits.itemsPerRequest)
        }
        return FetchRecords(
            database: try database(request.database),
            ids: request.ids.map(record),
            keys: try keys(request.keys)
        )
    }

    func readAsset(_ request: DownloadAssetRequest) throws -> ReadAsset {
        guard let id = request.record else { return ReadAsset(asset: request.asset) }
        let address = try record(id).get()
        let field = String(decoding: request.field, as: UTF8.self)
        return ReadAsset(
            asset: request.asset,
            place: ReadAsset.Place(record: address, field: field)
        )
    }

    func modifyRecords(_ message: Bytes) throws -> ModifyRecords {
        let request = try NodeModifyRecordsRequest(wire: message)
        let count = request.saves.count + request.deletes.count
        guard count <= limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(count, limit: limits.itemsPerRequest)
        }
        guard request.deleteTags.isEmpty || request.deleteTags.count == request.deletes.count else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "delete_tags must be empty, or have one tag for each deletion"
            )
        }
        var deletes = request.deletes.map(delete)
        for (index, tag) in request.deleteTags.enumerated() where !tag.isEmpty {
            deletes[index].changeTag = tag
        }
        let modify = ModifyRecords(
            database: try database(request.database),
            policy: try policy(request.policy),
            isAtomic: request.isAtomic,
            saves: request.saves.map(save),
            deletes: deletes,
            limits: limits
        )
        try modify.checkOwners()
        return modify
    }

    func listRecords(_ message: Bytes) throws -> ListRecords {
        let request = try ListRecordsRequest(wire: message)
        var list = ListRecords(
            database: try database(request.database),
            zone: try zone(request.zone),
            keys: try keys(request.keys)
        )
        if !request.after.isEmpty {
            list.after = try Names.checkText(request.after[...], "record name")
        }
        return list
    }

    /// - Parameter cursor: What the request's cursor says; nil means it has none.
    func queryRecords(
        _ request: QueryRecordsRequest,
        from cursor: QueryCursor?
    ) throws(ServiceError) -> QueryRecords {
        var query = Query(
            recordType: try Names.checkText(request.recordType[...], "record type"),
            predicate: try predicate(request.predicate)
        )
        query.sortDescriptors = try request.sort.map { (key) throws(ServiceError) in
            var descriptor = Query.SortDescriptor(
                key: try Names.checkText(key.key[...], "sort key"),
                ascending: !key.descending
            )
            descriptor.relativeLocation = key.origin
            return descriptor
        }
        query.allowsExtensions = request.allowsExtensions
        let limit = Int(request.limit)
        var parsed = QueryRecords(
            database: try database(request.database),
            zone: try request.zone.map(zone),
            query: query,
            keys: try keys(request.keys),
            limit: limit == 0 ? limits.queryPageItems : min(limit, limits.itemsPerRequest),
            question: Asker.digest(
                of: request.question,
                method: Method.recordsQuery.rawValue
            ),
            limits: limits
        )
        parsed.counts = request.counts
        parsed.cursor = cursor
        return parsed
    }

    func listZones(_ message: Bytes) throws -> ListZones {
        ListZones(database: try database(try ListZonesRequest(wire: message).database))
    }

    func fetchZones(_ message: Bytes) throws -> FetchZones {
        let request = try FetchZonesRequest(wire: message)
        guard request.ids.count <= limits.itemsPerRequest else {
            throw ServiceError.tooManyItems(request.ids.count, limit: limits.itemsPerRequest)
        }
        return FetchZones(
            database: try database(request.database),
            ids: request.ids.map(zoneResult)
        )
    }

    func modifyZones(_ message: Bytes) throws -> ModifyZones {
        let request = try ModifyZonesRequest(wire: message)
        return ModifyZones(
            database: try database(request.database),
            saves: request.saves.map(zoneResult),
            deletes: request.deletes.map(zoneResult),
            limits: limits
        )
    }

    /// - Parameter token: What the request's token says; nil means it has none.
    func databaseChanges(
        _ request: FetchDatabaseChangesRequest,
        since token: ChangeToken?
    ) throws(ServiceError) -> FetchDatabaseChanges {
        FetchDatabaseChanges(
            database: try database(request.database),
            since: token,
            limit: pageItems(request.limit)
        )
    }

    /// - Parameter token: What the request's token says; nil means it has none.
    func zoneChanges(
        _ request: FetchZoneChangesRequest,
        since token: ChangeToken?
    ) throws(ServiceError) -> FetchZoneChanges {
        FetchZoneChanges(
            database: try database(request.database),
            zone: try zone(request.zone),
            since: token,
            keys: try keys(request.keys),
            limit: FetchZoneChanges.PageLimit(
                items: pageItems(request.limit),
                bytes: limits.answerBytes
            )
        )
    }

    // MARK: Parts

    /// Items of a page for which the caller wants so many; 0: it has no wish.
    private func pageItems(_ wanted: UInt32) -> Int {
        wanted == 0 ? limits.itemsPerRequest : min(Int(wanted), limits.itemsPerRequest)
    }

    func database(_ number: UInt32) throws(ServiceError) -> DatabaseScope {
        guard let scope = DatabaseScope(rawValue: UInt8(truncatingIfNeeded: number)), number < 256
        else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "the request names no database; use 1 (public), 2 (private) or 3 (shared)"
            )
        }
        if let refusal = refusal?(scope) { throw refusal }
        return scope
    }

    /// The predicate that a postfix list means; an empty one finds all records.
    func predicate(_ nodes: [Query.Node]) throws(ServiceError) -> Query.Predicate {
        guard nodes.count <= limits.predicateNodes else {
            throw ServiceError.tooManyItems(nodes.count, limit: limits.predicateNodes)
        }
        for case .comparison(let comparison) in nodes where !comparison.key.isEmpty {
            _ = try Names.checkText(Bytes(comparison.key.utf8)[...], "key of a comparison")
        }
        return nodes.isEmpty ? .all : Query.Predicate(nodes: nodes)
    }

    private func policy(_ number: UInt32) throws(ServiceError) -> SavePolicy {
        switch number {
        case 0: .ifUnchanged
        case 1: .changedKeys
        case 2: .allKeys
        default: throw ServiceError(.invalidArguments, "\(number) is not a save policy")
        }
    }

    func keys(_ keys: [Bytes]?) throws(ServiceError) -> [String]? {
        guard let keys else { return nil }
        var names: Set<String> = []
        for key in keys { names.insert(try Names.checkFieldName(key[...], "a desired key")) }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The zone that an id means; none is the default zone.
    func zone(_ id: WireZoneID?) throws(ServiceError) -> ZoneAddress {
        guard let id else { return ZoneAddress() }
        var owner = ""
        if !id.owner.isEmpty { owner = try Names.checkText(id.owner[...], "zone owner") }
        if caller.isOwner(named: owner) { owner = "" }
        if id.name.elementsEqual(Names.defaultZone.utf8) { return ZoneAddress(owner: owner) }
        return ZoneAddress(name: try Names.checkIdentifier(id.name[...], "zone name"), owner: owner)
    }

    private func zoneResult(_ id: WireZoneID) -> Result<ZoneAddress, ServiceError> {
        Result { () throws(ServiceError) in try zone(id) }
    }

    private func record(_ id: WireRecordID) -> Result<RecordAddress, ServiceError> {
        Result { () throws(ServiceError) in
            let zone = try zone(id.zone)
            return RecordAddress(
                zone: zone,
                name: try Names.checkRecordName(id.name[...], "record name")
            )
        }
    }

    private func delete(_ id: WireRecordID) -> DeleteItem {
        switch record(id) {
        case .success(let address): DeleteItem(address: address)
        case .failure(let error): DeleteItem(address: nominal(id), fault: error)
        }
    }

    private func save(_ save: NodeModifyRecordsRequest.Save) -> SaveItem {
        let address: RecordAddress
        switch record(save.id) {
        case .success(let checked): address = checked
        case .failure(let error):
            return SaveItem(address: nominal(save.id), content: .failure(error))
        }
        let content = Result { () throws(ServiceError) in try self.content(save, at: address) }
        return SaveItem(address: address, content: content)
    }

    /// Something to report a fault under: the zone as far as it is known, and the name as text.
    private func nominal(_ id: WireRecordID) -> RecordAddress {
        let zone = (try? zone(id.zone)) ?? ZoneAddress()
        return RecordAddress(zone: zone, name: String(decoding: id.name, as: UTF8.self))
    }

    private func content(
        _ save: NodeModifyRecordsRequest.Save,
        at address: RecordAddress
    ) throws(ServiceError) -> SaveItem.Content {
        let record = save.record
        guard record.fields.count <= limits.fieldsPerType else {
            throw ServiceError.tooManyItems(record.fields.count, limit: limits.fieldsPerType)
        }
        // A reference into a zone of another user names its owner.
        let owners = [Names.currentUser, caller.user, address.zone.owner].filter { !$0.isEmpty }
        let type = try Names.checkTypeName(record.type[...])
        var canonicaliser = FieldCanonicaliser(
            zoneName: address.zone.name,
            zoneOwners: owners,
            isShare: type == Names.shareType
        )
        for field in record.fields { try canonicaliser.add(field) }
        var parent: String?
        if let name = record.parent?.bytes {
            parent =
                name.isEmpty ? "" : try Names.checkIdentifier(name[...], "parent's record name")
        }
        return SaveItem.Content(
            type: type,
            changeTag: record.changeTag.isEmpty ? nil : record.changeTag,
            fields: try canonicaliser.finish(),
            increments: try increments(save.increments),
            parent: parent,
            share: try record.share.map(share)
        )
    }

    private func increments(
        _ raw: [WireIncrement]
    ) throws(ServiceError) -> [Commit.Increment] {
        guard raw.count <= limits.fieldsPerType else {
            throw ServiceError.tooManyItems(raw.count, limit: limits.fieldsPerType)
        }
        var increments: [Commit.Increment] = []
        var fields: Set<String> = []
        for increment in raw {
            let field = try Names.checkSchemaName(increment.field[...], "field name")
            guard fields.insert(field).inserted else {
                throw ServiceError(
                    .invalidArguments,
                    .invalidValue,
                    "field '\(field)' is incremented twice in one save; add the amounts up"
                )
            }
            increments.append(Commit.Increment(field: field, delta: increment.delta))
        }
        return increments.sorted { $0.field.utf8.lexicographicallyPrecedes($1.field.utf8) }
    }
}
