// The subscriptions that a feed tells of. Lists with equal content are equal, even of two users, so
// that their rows are read once.
//
// Made by `FetchFeed`, and kept with a feed until one of the subscriptions changes.

import CumulusModel
package import CumulusStorage

package final class FeedWatches: Hashable, Sendable {
    struct Watch: Sendable {
        let stored: StoredSubscription
        let topic: Topic
        /// Changes up to this position are older than the subscription, and not told.
        var since: UInt64 = 0
        /// That position as a vector, for zones as a whole; short, see `Runs`.
        var seen: VersionVector?
    }

    let list: [Watch]
    /// Whether all of them are about records of a type, so that few rows say what is new.
    let isOfRecords: Bool
    private let hash: Int

    init(_ list: [Watch]) {
        self.list = list
        isOfRecords = list.allSatisfy { $0.topic.recordType != nil }
        var hasher = Hasher()
        for watch in list {
            hasher.combine(watch.topic.id)
            hasher.combine(watch.stored.subscription.id)
        }
        hash = hasher.finalize()
    }

    package var topics: [Topic.ID] { list.map(\.topic.id) }

    /// Whether any of them is of the shared database, where news may come from any zone.
    package var isOfOthers: Bool { list.contains { $0.topic.database.kind == .shared } }

    /// The topics that have topic events: all topics except zones as a whole.
    var topicsOfRecords: Set<Topic.ID> {
        Set(list.lazy.map(\.topic).filter { $0.recordType != nil }.map(\.id))
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    package static func == (one: FeedWatches, other: FeedWatches) -> Bool {
        if one === other { return true }
        return one.hash == other.hash
            && one.list.elementsEqual(other.list) {
                $0.stored.database == $1.stored.database
                    && $0.stored.subscription == $1.stored.subscription
                    && $0.stored.fired == $1.stored.fired
                    && $0.since == $1.since && $0.seen == $1.seen
            }
    }
}

extension Subscription {
    /// Whether the subscription tells of such a change.
    func fires(on reason: FeedNotification.Reason) -> Bool {
        guard case .query = kind else { return true }
        return switch reason {
        case .created: options.contains(.firesOnRecordCreation)
        case .updated: options.contains(.firesOnRecordUpdate)
        case .deleted: options.contains(.firesOnRecordDeletion)
        }
    }
}
