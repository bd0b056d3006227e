// What a feed tells again that was told: a stream that is lost before the device is up to date
// begins again, and the caller is told nothing twice.
//
// Held by `FeedSequence.Iterator`, and by devices of the simulation. Another node may cut the same
// changes into other pieces: once it has told something new of a record, nothing more of it is left
// out, so that the last piece counts.

package import CumulusModel

package struct FeedRepeats: Sendable {
    private struct Zone: Hashable {
        let subscription: SubscriptionName
        let id: RecordZone.ID
    }

    /// What was told anew since the stream began again.
    private struct Changes {
        var records: [Zone: Set<String>] = [:]
        var deletedZones: Set<Zone> = []
    }

    /// Since the device was up to date.
    private var told: Set<FeedNotification.ID> = []
    private var changes = Changes()

    package init() {}

    /// A stream begins, maybe again.
    package mutating func begin() { changes = Changes() }

    /// Notes a notification; returns false if it was told, and still counts.
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
            // Of a record that was saved at the same time another node may say that it went along.
            changes.deletedZones.insert(Zone(subscription: name, id: id))
            return true
        case .zones: return isNew
        }
    }
}
