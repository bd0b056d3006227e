// From what operations return to the messages of an answer, closed whenever one has grown large
// enough.
//
// Called by the handlers of calls. Results stand in the order of the request. hot: once per call.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

/// Gathers an answer's messages.
struct AnswerWriter {
    private let limit: Int
    private var current = CanonicalWriter(reserving: 256)
    private(set) var messages: [Bytes] = []

    /// A message is closed when it holds `limit` bytes or more.
    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a message that holds one item: it is joined to those before it.
    mutating func add(_ message: some Coded) {
        message.write(to: &current)
        if current.bytes.count >= limit {
            messages.append(current.bytes)
            current = CanonicalWriter()
        }
    }

    /// All messages: at least one, which may be empty.
    consuming func finish() -> [Bytes] {
        if messages.isEmpty || !current.bytes.isEmpty { messages.append(current.bytes) }
        return messages
    }
}

enum Answers {
    static func fetched(
        _ results: [Result<RecordView, ServiceError>],
        for ids: ArraySlice<Result<RecordAddress, ServiceError>>,
        _ urls: ShareURLs
    ) -> Bytes {
        let found = zip(results, ids).map { result, id -> WireRecordResult in
            switch result {
            case .success(let record):
                let id = wireID(record.name, (try? id.get())?.zone)
                return .encoded(record.encoded(as: id, url: urls.url(of: record)))
            case .failure(let error): return .error(WireStatus(error))
            }
        }
        return FetchRecordsResponse(found).encoded()
    }

    static func modified(
        _ outcome: ModifyOutcome,
        _ request: ModifyRecords,
        _ urls: ShareURLs,
        limit: Int
    ) -> [Bytes] {
        var answer = AnswerWriter(limit: limit)
        for (item, save) in zip(outcome.saves, request.saves) {
            let id = wireID(save.address.name, save.address.zone)
            let result: WireRecordResult
            switch item {
            case .success(let saved): result = .encoded(view(saved, of: save).encoded(as: id))
            case .failure(let failure):
                let record = failure.serverRecord.map {
                    $0.encoded(as: id, url: urls.url(of: $0))
                }
                result = .error(WireStatus(failure.error, serverRecord: record))
            }
            answer.add(ModifyRecordsResponse(saves: [result]))
        }
        for item in outcome.deletes {
            answer.add(ModifyRecordsResponse(deletes: [WireOutcome(failure(item))]))
        }
        return answer.finish()
    }

    static func modified(_ outcome: ModifyOutcome, _ request: ModifyZones) -> Bytes {
        let saves = zip(outcome.saves, request.saves).compactMap { item, save -> WireZoneResult? in
            if let error = failure(item) { return .error(WireStatus(error)) }
            return (try? save.get()).map { address in
                let capabilities =
                    address.name == Names.defaultZone ? [] : RecordZone.Capabilities.custom
                return .value(WireZone(wireID(address), capabilities: capabilities.rawValue))
            }
        }
        let deletes = outcome.deletes.map { WireOutcome(failure($0)) }
        return ModifyZonesResponse(saves: saves, deletes: deletes).encoded()
    }

    static func listed(
        _ records: [RecordView],
        of zone: ZoneAddress,
        _ urls: ShareURLs
    ) -> Bytes {
        ListRecordsResponse(
            encoded: records.map {
                $0.encoded(as: wireID($0.name, zone), url: urls.url(of: $0))
            }
        ).encoded()
    }

    static func zones(_ zones: [LocatedZone]) -> Bytes {
        ListZonesResponse(zones.map(wireZone)).encoded()
    }

    static func fetched(_ results: [Result<LocatedZone, ServiceError>]) -> Bytes {
        FetchZonesResponse(results.map { WireResult($0.map(wireZone)) }).encoded()
    }

    private static func wireZone(_ zone: LocatedZone) -> WireZone {
        WireZone(zone.wireID, capabilities: zone.capabilities.rawValue)
    }

    static func zoneStatus(_ zones: [ZoneDigest]) -> Bytes {
        ZoneStatusResponse(
            zones.map {
                WireZoneStatus(
                    database: UInt32($0.database.kind.rawValue),
                    owner: $0.database.owner,
                    zone: $0.zone,
                    records: $0.records,
                    bytes: $0.bytes,
                    digest: $0.digest,
                    horizon: $0.horizon,
                    assetBytes: $0.assetBytes
                )
            }
        ).encoded()
    }

    static func conflicts(_ items: [ListConflicts.Item]) -> Bytes {
        let conflicts = items.map { item in
            let conflict = item.conflict
            let name = conflict.recordName
            let lost = RecordView(
                name: name,
                type: "",
                changeTag: [],
                created: 0,
                createdBy: "",
                modified: 0,
                modifiedBy: "",
                fields: conflict.lost
            )
            var wire = WireConflict()
            wire.id = item.id
            wire.database = UInt32(conflict.zone.database.kind.rawValue)
            wire.owner = conflict.zone.database.owner
            let id = wireID(name, ZoneAddress(name: conflict.zone.name))
            wire.lost = .encoded(lost.encoded(as: id))
            wire.field = conflict.field
            wire.winner = change(conflict.winner)
            wire.loser = change(conflict.loser)
            wire.isWithheld = item.isWithheld
            return wire
        }
        return ListConflictsResponse(conflicts).encoded()
    }

    private static func change(_ stamp: Stamp) -> WireConflict.Change {
        WireConflict.Change(
            time: stamp.time.milliseconds,
            incarnation: stamp.dot.incarnation.value,
            seq: stamp.dot.seq
        )
    }

    static func changes(_ page: FetchDatabaseChanges.Page, token: Bytes) -> Bytes {
        FetchDatabaseChangesResponse(
            changed: page.changed.map(wireID),
            deleted: page.deletions.map { deletion in
                FetchDatabaseChangesResponse.Deletion(
                    id: wireID(deletion.zone),
                    cause: UInt32(deletion.reason)
                )
            },
            token: token,
            moreComing: page.moreComing
        ).encoded()
    }

    static func changes(
        _ page: FetchZoneChanges.Page,
        of zone: ZoneAddress,
        token: Bytes,
        _ urls: ShareURLs
    ) -> Bytes {
        FetchZoneChangesResponse(
            changed: page.records.map {
                $0.encoded(as: wireID($0.name, zone), url: urls.url(of: $0))
            },
            deleted: page.deletions.map { deletion in
                FetchZoneChangesResponse.Deletion(
                    id: wireID(deletion.name, zone),
                    type: Bytes(deletion.type.utf8)
                )
            },
            token: token,
            moreComing: page.moreComing
        ).encoded()
    }

    static func found(
        _ page: QueryRecords.Page,
        cursor: Bytes,
        explains: Bool,
        _ urls: ShareURLs
    ) -> Bytes {
        QueryRecordsResponse(
            records: page.records.map { found in
                let record = found.record
                let id = wireID(record.name, found.zone)
                return record.encoded(as: id, url: urls.url(of: record))
            },
            cursor: cursor,
            count: page.count,
            work: explains ? work(of: page) : nil
        ).encoded()
    }

    static func work(of page: QueryRecords.Page) -> QueryRecordsResponse.Work {
        let isTold = page.tellsWork
        return QueryRecordsResponse.Work(
            plan: Bytes((isTold ? page.work.plan : hiddenPlan).utf8),
            rowsRead: isTold ? page.work.rowsRead : 0,
            rowsKept: isTold ? page.work.rowsKept : 0,
            microseconds: page.work.microseconds
        )
    }

    private static let hiddenPlan =
        "not told, with the rows: the search may look at records that you may not read"

    // MARK: Parts

    static func wireID(_ address: ZoneAddress) -> WireZoneID {
        WireZoneID(name: Bytes(address.name.utf8), owner: Bytes(address.owner.utf8))
    }

    static func wireID(_ name: String, _ zone: ZoneAddress?) -> WireRecordID {
        let isDefault = zone.map { $0 == ZoneAddress() } ?? true
        return WireRecordID(
            name: Bytes(name.utf8),
            zone: isDefault ? nil : zone.map { wireID($0) }
        )
    }

    private static func failure(_ item: ModifyOutcome.Item) -> ServiceError? {
        if case .failure(let failure) = item { failure.error } else { nil }
    }

    static func view(_ saved: ModifyOutcome.Saved, of save: SaveItem) -> RecordView {
        var type = ""
        if case .success(let content) = save.content { type = content.type }
        return RecordView(
            name: save.address.name,
            type: type,
            changeTag: saved.changeTag,
            created: saved.created,
            createdBy: saved.createdBy,
            modified: saved.modified,
            modifiedBy: saved.modifiedBy,
            fields: saved.fields
        )
    }
}
