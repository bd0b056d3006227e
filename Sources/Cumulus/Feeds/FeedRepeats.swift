// Leaves out notifications that a feed tells again. If a stream is lost before the device is up to
// date, the next one begins again, and the caller should not be told twice.
//
// `FeedSequence.Iterator` holds it, and so do devices of the simulation. Another node may divide
// the same changes into other pages. So once a stream has told something new of a record, all later
// notifications of that record are delivered, and the last one counts.

package import CumulusModel

package struct FeedRepeats: Sendable {
    private struct Zone: Hashable {
        let subscription: SubscriptionName
        let id: RecordZone.ID
    }

    /// The records and zones with news in this stream.
    private struct Changes {
        var records: [Zone: Set<String>] = [:]
        var deletedZones: Set<Zone> = []
    }

    /// The notifications since the device was last up to date.
    private var told: Set<FeedNotification.ID> = []
    private var changes = Changes()

    package init() {}

    /// Notes that a stream begins.
    package mutating func begin() { changes = Changes() }

    /// Notes a notification; returns false if it is to be left out.
    package mutating func isNews(_ notification: FeedNotification) -> Bool {
        let isNew = told.insert(notification.id).inserted
        let name = SubscriptionName(
            databaseScope: notification.databaseScope,
            subscriptionID: notification.subscriptionID
        )
        switch notification.news {
        case .record(let news):
            let zone = Zone(subscription: name, id: news.recordID.zoneID)
            let isChanged =
                changes.deletedZones.contains(zone)
                || changes.records[zone]?.contains(news.recordID.recordName) == true
            guard isNew || isChanged || news.transition.isUncertain else { return false }
            changes.records[zone, default: []].insert(news.recordID.recordName)
            return true
        case .zoneDeleted(let id):
            // On another node, the zone may have taken a record along that was saved concurrently.
            changes.deletedZones.insert(Zone(subscription: name, id: id))
            return true
        case .zones: return isNew
        }
    }
}
