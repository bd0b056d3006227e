// The tokens that requests with `getCurrentSyncToken=true` are answered with.
//
// records/query, records/modify, records/lookup and zones/list call it before they do anything
// else. So a fetch of changes from the token tells everything that happened since. It may repeat
// what the answer shows, but it leaves out no change.

import CumulusModel
import CumulusWire

extension WebContext {
    /// The token of a zone's changes up to now, in base64; nil if the request wants none.
    ///
    /// nil also for several zones, for a zone that keeps no changes, and for one that does not
    /// exist: what the request asks for says what is wrong with that zone.
    ///
    /// - Parameter zones: The zones that the request reads or changes.
    func zoneToken(of zones: [RecordZone.ID]) async throws -> String? {
        let wanted = Set(zones)
        guard route.wantsSyncToken, database != .public, wanted.count == 1,
            let zone = wanted.first, zone.zoneName != Names.defaultZone
        else { return nil }
        var call = FetchZoneChangesRequest(
            database: database,
            zone: WireZoneID(zone),
            token: [],
            limit: 0
        )
        call.onlyToken = true
        do {
            let messages = try await calls.read(.changesZone, call.encoded())
            guard let message = messages.first else { throw WebContext.resultMissing }
            return Base64.encode(try FetchZoneChangesResponse(wire: message).token)
        } catch let error as ServiceError where error.code == .zoneNotFound {
            return nil
        }
    }

    /// The token of a database's zones up to now, in base64; nil if the request wants none.
    ///
    /// nil also for the public database, which keeps no changes.
    func databaseToken() async throws -> String? {
        guard route.wantsSyncToken, database != .public else { return nil }
        var call = FetchDatabaseChangesRequest(database: database, token: [], limit: 0)
        call.onlyToken = true
        let messages = try await calls.read(.changesDatabase, call.encoded())
        guard let message = messages.first else { throw WebContext.resultMissing }
        return Base64.encode(try FetchDatabaseChangesResponse(wire: message).token)
    }

    /// The member of an answer for a token; empty without one, and if the request wants none.
    func syncToken(_ token: String?) -> [JSON.Member] {
        guard route.wantsSyncToken, let token else { return [] }
        return [JSON.Member("syncToken", .string(token))]
    }

    /// Writes that member.
    func write(syncToken token: String?, to json: inout JSONWriter) {
        for member in syncToken(token) { json.member(member.key, member.value) }
    }
}
