// records/lookup and records/query.

import CumulusModel
import CumulusNode
import CumulusWire

extension WebContext {
    func lookUpRecords(_ json: inout JSONWriter) async throws {
        let base = try WebRecordOptions(request)
        let zone = try self.zone(in: request) ?? .default
        var wishes: [(id: Record.ID, options: WebRecordOptions)] = []
        for item in try request.items("records") {
            let name = try item.needed("recordName")
            let id = Record.ID(recordName: name, zoneID: try self.zone(in: item) ?? zone)
            wishes.append((id, try WebRecordOptions(item, over: base)))
        }
        let token = try await zoneToken(of: wishes.map(\.id.zoneID))
        let keys = WebContext.wireKeys(wishes.map(\.options))
        let results = try await fetch(wishes.map(\.id), keys: keys)
        let columns = try await columns(of: results.compactMap { try? $0.get() })
        json.object { json in
            json.key("records")
            json.array(of: zip(wishes, results)) { pair, json in
                let (wish, result) = pair
                write(result, wish.id, columns, wish.options, to: &json)
            }
            write(syncToken: token, to: &json)
        }
    }

    /// One entry of an answer's records.
    private func write(
        _ result: RecordResult,
        _ id: Record.ID,
        _ columns: [String: [String: FieldType]],
        _ options: WebRecordOptions,
        to json: inout JSONWriter
    ) {
        switch result {
        case .success(let record):
            let columns = columns[record.recordType] ?? [:]
            writer(options).write(record, columns: columns, to: &json)
        case .failure(let error):
            json.value(WebRecordWriter.entry(WebError(error), id.recordName, uuid: uuid))
        }
    }

    // MARK: Queries

    func queryRecords(_ json: inout JSONWriter) async throws {
        guard let object = try request.object("query") else {
            throw WebError.badRequest("'query' is missing")
        }
        let marker = try QueryMarker(token(request, "continuationMarker"))
        var options = try WebRecordOptions(request)
        // Clients don't repeat them.
        if !request.names("desiredKeys") { options.keys = marker.keys }
        let type = try WebQuery.recordType(object)
        let columns = try await calls.columns(of: [type])
        let zone = try queriedZone()
        let reader = WebFieldReader(zone: zone ?? .default, user: user)
        let query = try WebQuery(columns: columns[type] ?? [:], reader).query(object)
        var call = QueryRecordsRequest(
            query,
            database: database,
            zone: zone.map { WireZoneID($0) }
        )
        call.limit = UInt32(try limit(request))
        call.keys = options.keys?.map { Bytes($0.utf8) }
        call.cursor = marker.cursor
        // A fetch from it also tells what changes while later pages are read.
        let token: String? =
            if marker.cursor.isEmpty {
                try await zoneToken(of: zone.map { [$0] } ?? [])
            } else {
                marker.syncToken
            }
        let answer = try await calls.query(call)
        let writer = writer(options)
        json.object { json in
            json.key("records")
            json.array(of: answer.records) { record, json in
                writer.write(record, columns: columns[type] ?? [:], to: &json)
            }
            write(syncToken: token, to: &json)
            guard !answer.cursor.isEmpty else { return }
            let next = QueryMarker(cursor: answer.cursor, keys: options.keys, syncToken: token)
            json.member("continuationMarker", .string(Base64.encode(next.content)))
        }
    }

    /// nil means all zones.
    private func queriedZone() throws -> RecordZone.ID? {
        if let zone = try self.zone(in: request) { return zone }
        let isWide = try request.flag("zoneWide") ?? false
        // A public database has one zone.
        return isWide && database != .public ? nil : .default
    }
}
