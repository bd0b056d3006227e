// Makes the notification of a piece of news: with fields of the record as it is now, cut to the
// size limit.
//
// Called by the node for each piece of news of a page, in the snapshot of that page.

package import CumulusModel
package import CumulusStorage

extension FeedNews {
    /// The most characters of a text that a notification carries.
    private static let mostCharacters = 100
    /// The most zones that a notification names.
    private static let mostZones = 100

    /// The notification of this news, unread: users share it.
    ///
    /// - Parameter byteLimit: A larger notification loses parts, see `FeedNotification.prune`.
    package func notification(
        _ id: FeedNotification.ID,
        in scope: ScopeNumber,
        byteLimit: Int,
        _ reader: ReadTransaction
    ) throws(EngineError) -> FeedNotification {
        let fields = try fields(in: scope, reader)
        var notification = FeedNotification(
            id: id,
            subscriptionID: subscription.id,
            databaseScope: database.kind,
            news: publicNews(fields),
            notificationInfo: subscription.notificationInfo?.filled(fields),
            changedBy: user.isEmpty ? nil : Record.ID(recordName: user),
            changedAt: Timestamp(millisecondsSince1970: stamp.time.milliseconds)
        )
        notification.prune(to: byteLimit)
        return notification
    }

    private func publicNews(_ fields: [String: FieldValue]) -> FeedNotification.News {
        switch change {
        case .zoneDeleted(let zone): return .zoneDeleted(RecordZone.ID(zoneName: zone))
        case .zones(let zones):
            let ids = zones.prefix(FeedNews.mostZones).map { zone in
                let owner = zone.owner.isEmpty ? RecordZone.ID.currentUserName : zone.owner
                return RecordZone.ID(zoneName: zone.name, ownerName: owner)
            }
            return .zones(ids, more: zones.count > ids.count)
        case .record(let zone, let name, let reason, let transition):
            let id = Record.ID(recordName: name, zoneID: RecordZone.ID(zoneName: zone))
            let desired = Set(subscription.notificationInfo?.desiredKeys ?? [])
            return .record(
                FeedNotification.RecordNews(
                    recordID: id,
                    recordType: subscription.recordType ?? "",
                    reason: reason,
                    transition: transition,
                    fields: fields.filter { desired.contains($0.key) }
                )
            )
        }
    }

    /// The fields that the subscription names, as they are now; empty if the record is gone.
    private func fields(
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [String: FieldValue] {
        let keys = subscription.notificationInfo?.namedFields ?? []
        guard !keys.isEmpty, case .record(let zoneName, let name, _, _) = change,
            let database = try reader.database(scope, database),
            let zone = try reader.zone(database, zoneName), zone.exists,
            let row = try reader.record(zone.number, name), !row.isDead
        else { return [:] }
        let lens = try RecordLens(of: scope, in: reader)
        // A record of another type has the name now: the user's right to read it was not checked.
        if lens.hides(row.type) || StoredName.shown(row.type) != subscription.recordType {
            return [:]
        }
        let body = lens.showing(row.body, of: row.type)
        return try reader.decoding(RowKey.record(zone.number, name).bytes) {
            () throws(MalformedBytes) in
            var fields: [String: FieldValue] = [:]
            for key in keys {
                guard let entry = body.entry(named: key) else { continue }
                fields[key] = try body.value(entry)?.cut(to: FeedNews.mostCharacters)
            }
            return fields
        }
    }
}

extension Subscription {
    /// The type of the records that the subscription watches; nil means all types.
    fileprivate var recordType: String? {
        switch kind {
        case .query(let type, _, _): type
        case .zone(_, let type), .database(let type): type
        }
    }
}

extension Subscription.NotificationInfo {
    /// The fields whose values a notification holds.
    fileprivate var namedFields: Set<String> {
        Set(Self.lists.flatMap { self[keyPath: $0.path] })
    }

    /// This value with the values of fields in place of their names, and without desired keys.
    fileprivate func filled(_ fields: [String: FieldValue]) -> Self {
        var info = self
        for list in Self.lists {
            info[keyPath: list.path] = self[keyPath: list.path].map { fields[$0]?.shown ?? "" }
        }
        info.desiredKeys = []
        return info
    }
}

extension FieldValue {
    fileprivate func cut(to count: Int) -> FieldValue {
        if case .string(let text) = self { .string(String(text.prefix(count))) } else { self }
    }

    /// The value as text of an alert.
    fileprivate var shown: String {
        switch self {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .timestamp(let time): time.description
        case .location(let place): "\(place.latitude), \(place.longitude)"
        case .reference(let reference): reference.recordName
        case .bytes, .asset, .list: ""
        }
    }
}

// MARK: - Pruning

extension FeedNotification {
    /// Leaves out one part after the other until the rest is small enough.
    mutating func prune(to byteLimit: Int) {
        prune { $0.byteCount > byteLimit }
    }

    /// The approximate size of its parts.
    private var byteCount: Int {
        let shown = notificationInfo?.encoded().count ?? 0
        return shown + subscriptionID.utf8.count + news.byteCount + 64
    }
}

extension FeedNotification.News {
    fileprivate var byteCount: Int {
        switch self {
        case .zoneDeleted(let id): id.zoneName.utf8.count
        case .zones(let ids, _):
            ids.reduce(0) { $0 + $1.zoneName.utf8.count + $1.ownerName.utf8.count + 8 }
        case .record(let record):
            record.fields.reduce(
                record.recordID.recordName.utf8.count + record.recordType.utf8.count
                    + record.recordID.zoneID.zoneName.utf8.count
            ) { $0 + $1.key.utf8.count + $1.value.byteCount + 8 }
        }
    }
}

extension FieldValue {
    fileprivate var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .reference(let reference): reference.recordName.utf8.count + 16
        default: 16
        }
    }
}
