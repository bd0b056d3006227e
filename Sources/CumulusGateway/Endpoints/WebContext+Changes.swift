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

    func zoneChanges(_ json: inout JSONWriter) async throws {
        let base = try WebRecordOptions(request)
        var zones: [(id: RecordZone.ID, found: Result<ZoneChanges, WebError>)] = []
        for item in try request.items("zones") {
            guard let id = try zone(in: item) else {
                throw WebError.badRequest("'\(item.place("zoneID"))' is missing")
            }
            let options = try WebRecordOptions(item, over: base)
            let wish = ZoneWish(id: id, object: item, options: options)
            do {
                zones.append((id, .success(try await changes(wish))))
            } catch let error as ServiceError {
                zones.append((id, .failure(WebError(error))))
            } catch let error as WebError {
                zones.append((id, .failure(error)))
            }
        }
        json.object { json in
            json.key("zones")
            json.array(of: zones) { zone, json in write(zone.found, of: zone.id, to: &json) }
        }
    }

    private func write(
        _ found: Result<ZoneChanges, WebError>,
        of id: RecordZone.ID,
        to json: inout JSONWriter
    ) {
        switch found {
        case .success(let changes):
            json.object { json in
                json.key("zoneID")
                WebZone.write(id, user: user, to: &json)
                write(changes, to: &json)
            }
        case .failure(let error): json.value(WebZone.entry(error, id, user: user, uuid: uuid))
        }
    }

    func recordsChanges(_ json: inout JSONWriter) async throws {
        guard let id = try zone(in: request) else {
            throw WebError.badRequest("'zoneID' is missing")
        }
        guard id.zoneName != Names.defaultZone else {
            throw WebError.badRequest("cannot get changes in default zone")
        }
        let options = try WebRecordOptions(request)
        let wish = ZoneWish(id: id, object: request, options: options)
        let changes = try await changes(wish)
        json.object { write(changes, to: &$0) }
    }

    /// What changed in a zone, as far as its wish goes.
    private struct ZoneChanges {
        var wish: ZoneWish
        var records: [Record]
        var columns: [String: [String: FieldType]]
        /// The names of records.
        var deleted: [String]
        var token: Bytes
        var moreComing: Bool
    }

    private func changes(_ wish: ZoneWish) async throws -> ZoneChanges {
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
        let deleted = answer.deleted.filter { deletion in
            wanted?.contains { Bytes($0.utf8) == deletion.type } ?? true
        }
        return ZoneChanges(
            wish: wish,
            records: records,
            columns: try await columns(of: records),
            deleted: deleted.map(\.id.id.recordName),
            token: answer.token,
            moreComing: answer.moreComing
        )
    }

    /// Writes the members that tell what changed.
    private func write(_ changes: ZoneChanges, to json: inout JSONWriter) {
        let writer = writer(changes.wish.options)
        json.key("records")
        json.array { json in
            for record in changes.records {
                let columns = changes.columns[record.recordType] ?? [:]
                writer.write(record, columns: columns, to: &json)
            }
            for name in changes.deleted {
                writer.writeTombstone(name, in: changes.wish.id, to: &json)
            }
        }
        json.member("syncToken", .string(Base64.encode(changes.token)))
        json.member("moreComing", .bool(changes.moreComing))
    }
}
