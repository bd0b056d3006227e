// zones/list, zones/lookup and zones/modify.

import CumulusModel
import CumulusWire

extension WebContext {
    func listZones() async throws -> [JSON.Member] {
        let token = try await databaseToken()
        let message = ListZonesRequest(database: database).encoded()
        let messages = try await calls.read(.zonesList, message)
        let zones = try messages.flatMap { try ListZonesResponse(wire: $0).zones }
        let listed = JSON.Member("zones", .array(zones.map { WebZone.json($0, user: user) }))
        guard route.wantsSyncToken else { return [listed] }
        let moreComing = JSON.Member("moreComing", .bool(false))
        return [listed] + syncToken(token) + [moreComing]
    }

    func lookUpZones() async throws -> [JSON.Member] {
        var ids: [RecordZone.ID] = []
        for item in try request.items("zones") { ids.append(try WebZone.id(item, for: user)) }
        return [JSON.Member("zones", .array(try await zoneEntries(of: ids)))]
    }

    private func zoneEntries(of ids: [RecordZone.ID]) async throws -> [JSON] {
        if ids.isEmpty { return [] }
        let message = FetchZonesRequest(database: database, ids: ids.map { WireZoneID($0) })
        let messages = try await calls.read(.zonesFetch, message.encoded())
        let results = try messages.flatMap { try FetchZonesResponse(wire: $0).results }
        guard results.count == ids.count else { throw WebContext.resultMissing }
        return zip(ids, results).map { entry($1, $0) }
    }

    private func entry(_ result: ZoneResult, _ id: RecordZone.ID) -> JSON {
        switch result {
        case .success(let zone): WebZone.json(zone, user: user)
        case .failure(let error): WebZone.entry(WebError(error), id, user: user, uuid: uuid)
        }
    }

    func modifyZones() async throws -> [JSON.Member] {
        var operations: [(id: RecordZone.ID, isDelete: Bool)] = []
        for item in try request.items("operations") {
            guard let id = try item.object("zone")?.object("zoneID") else {
                throw WebError.badRequest("'\(item.place("zone.zoneID"))' is missing")
            }
            switch try item.needed("operationType") {
            case "create": operations.append((try WebZone.id(id, for: user), false))
            case "delete": operations.append((try WebZone.id(id, for: user), true))
            case let text:
                throw WebError.badRequest(
                    "'\(item.place("operationType"))' must be create or delete, not '\(text)'"
                )
            }
        }
        return [JSON.Member("zones", .array(try await modifyZones(operations)))]
    }

    /// Each operation on its own: they are not atomic, and the order counts.
    private func modifyZones(
        _ operations: [(id: RecordZone.ID, isDelete: Bool)]
    ) async throws -> [JSON] {
        var entries: [JSON] = []
        for (id, isDelete) in operations {
            do {
                entries.append(isDelete ? try await deleteZone(id) : try await makeZone(id))
            } catch let error as ServiceError {
                entries.append(WebZone.entry(WebError(error), id, user: user, uuid: uuid))
            } catch let error as WebError {
                entries.append(WebZone.entry(error, id, user: user, uuid: uuid))
            }
        }
        return entries
    }

    private func makeZone(_ id: RecordZone.ID) async throws -> JSON {
        guard id.zoneName != Names.defaultZone else {
            throw WebError.badRequest("the default zone is there always and can't be made")
        }
        let answer = try await change(saves: [WireZoneID(id)], deletes: [])
        guard let result = answer.saves.first else { throw WebContext.resultMissing }
        return WebZone.json(try result.get(), user: user)
    }

    private func deleteZone(_ id: RecordZone.ID) async throws -> JSON {
        guard id.zoneName != Names.defaultZone else {
            throw WebError.badRequest("the default zone can't be deleted")
        }
        let answer = try await change(saves: [], deletes: [WireZoneID(id)])
        if let error = answer.deletes.first ?? nil { throw error }
        return ["zoneID": WebZone.json(id, user: user), "deleted": .bool(true)]
    }

    private func change(
        saves: [WireZoneID],
        deletes: [WireZoneID]
    ) async throws -> ModifyZonesResponse {
        let message = ModifyZonesRequest(database: database, saves: saves, deletes: deletes)
        let messages = try await calls.change(.zonesModify, message.encoded())
        guard let first = messages.first else { throw WebContext.resultMissing }
        return try ModifyZonesResponse(wire: first)
    }
}
