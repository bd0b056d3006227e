// changes/database and changes/zone, and the older zones/changes and records/changes.
//
// The tokens are the binary protocol's: a client may go on with one at either door.

import CumulusModel
import CumulusWire

extension WebContext {
    /// - Parameter tokenKeys: How the request may name the token; answers use the first.
    func databaseChanges(tokenKeys: [String]) async throws -> [JSON.Member] {
        var since: Bytes = []
        for key in tokenKeys where since.isEmpty { since = try token(request, key) }
        let call = FetchDatabaseChangesRequest(
            database: database,
            token: since,
            limit: UInt32(try limit(request))
        )
        let messages = try await calls.read(.changesDatabase, call.encoded())
        guard let message = messages.first else { throw WebContext.resultMissing }
        let answer = try FetchDatabaseChangesResponse(wire: message)
        let changed = answer.changed.map { zone -> JSON in
            ["zoneID": WebZone.json(zone.id, user: user)]
        }
        let deleted = answer.deleted.map { deletion -> JSON in
            ["zoneID": WebZone.json(deletion.id.id, user: user), "deleted": .bool(true)]
        }
        return [
            JSON.Member("zones", .array(changed + deleted)),
            JSON.Member(tokenKeys[0], .string(Base64.encode(answer.token))),
            JSON.Member("moreComing", .bool(answer.moreComing)),
        ]
    }

    /// The wishes for one zone's changes.
    private struct ZoneWish {
        var id: RecordZone.ID
        var object: WebObject
        var options: WebRecordOptions
    }

    func zoneChanges() async throws -> [JSON.Member] {
        let base = try WebRecordOptions(request)
        var entries: [JSON] = []
        for item in try request.items("zones") {
            guard let id = try zone(in: item) else {
                throw WebError.badRequest("'\(item.place("zoneID"))' is missing")
            }
            let options = try WebRecordOptions(item, over: base)
            let wish = ZoneWish(id: id, object: item, options: options)
            do {
                let members = try await changes(wish)
                let zone = JSON.Member("zoneID", WebZone.json(id, user: user))
                entries.append(.object([zone] + members))
            } catch let error as ServiceError {
                entries.append(WebZone.entry(WebError(error), id, user: user, uuid: uuid))
            } catch let error as WebError {
                entries.append(WebZone.entry(error, id, user: user, uuid: uuid))
            }
        }
        return [JSON.Member("zones", .array(entries))]
    }

    func recordsChanges() async throws -> [JSON.Member] {
        guard let id = try zone(in: request) else {
            throw WebError.badRequest("'zoneID' is missing")
        }
        guard id.zoneName != Names.defaultZone else {
            throw WebError.badRequest("cannot get changes in default zone")
        }
        let options = try WebRecordOptions(request)
        return try await changes(ZoneWish(id: id, object: request, options: options))
    }

    private func changes(_ wish: ZoneWish) async throws -> [JSON.Member] {
        let isReverse = try wish.object.flag("reverse") ?? request.flag("reverse") ?? false
        guard !isReverse else {
            throw WebError.badRequest("changes are told oldest first only; leave 'reverse' out")
        }
        let own = try wish.object.count("resultsLimit")
        let limit = try min(own ?? limit(request), WebLimits.items)
        let call = FetchZoneChangesRequest(
            database: database,
            zone: WireZoneID(wish.id),
            token: try token(wish.object, "syncToken"),
            limit: UInt32(limit),
            keys: wish.options.keys?.map { Bytes($0.utf8) }
        )
        let messages = try await calls.read(.changesZone, call.encoded())
        guard let message = messages.first else { throw WebContext.resultMissing }
        let answer = try FetchZoneChangesResponse(wire: message)
        let types = try wish.object.strings("desiredRecordTypes")
        let wanted = try types ?? request.strings("desiredRecordTypes")
        let records = answer.changed.filter { wanted?.contains($0.recordType) ?? true }
        let columns = try await columns(of: records)
        let writer = writer(wish.options)
        let changed = records.map { writer.json($0, columns: columns[$0.recordType] ?? [:]) }
        let deleted = answer.deleted.filter { deletion in
            wanted?.contains { Bytes($0.utf8) == deletion.type } ?? true
        }
        let tombstones = deleted.map { writer.tombstone($0.id.id.recordName, in: wish.id) }
        return [
            JSON.Member("records", .array(changed + tombstones)),
            JSON.Member("syncToken", .string(Base64.encode(answer.token))),
            JSON.Member("moreComing", .bool(answer.moreComing)),
        ]
    }
}
