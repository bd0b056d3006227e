// A piece of news: a change that one subscription tells of.
//
// Made by `FeedTelling` from the rows of a window. `FeedNews+Notification` adds what is shown.

package import CumulusModel
package import CumulusStorage

package struct FeedNews: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        case record(
            zone: String,
            name: String,
            FeedNotification.Reason,
            FeedNotification.Transition
        )
        /// A zone is gone, with all its records that matched.
        case zoneDeleted(String)
        /// Something changed in these zones, in the order of their owners and names.
        ///
        /// Only subscriptions to zones as a whole tell this. The owner is empty except in the
        /// shared database.
        case zones([ZoneAddress])
    }

    package var subscription: Subscription
    package var database: DatabaseID
    package var change: Change
    /// The highest stamp of its commits.
    package var stamp: Stamp
    /// All commits that it tells of.
    package var dots: [Dot]
    /// The position of the last of these commits on this node.
    package var position: UInt64
    /// The user who made the change; empty for changes of several users, or of a node.
    package var user: String
    /// The key of the life that the commit with `stamp` created for a request; nil if it did not.
    package var key: LifeKey?
    /// The users who may be told of it, of all who asked for it.
    package var readers = Grants.Readers.everybody

    /// The bytes from which its notification's id is made: the same on every node.
    package var identity: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.dot(key?.dot ?? stamp.dot)
        writer.varint(UInt64(database.kind.rawValue))
        writer.delimited(database.owner.utf8)
        writer.delimited(subscription.id.utf8)
        writer.delimited(place.utf8)
        return writer.bytes
    }

    /// The record or zone of the change; orders the news of one commit.
    var place: String {
        switch change {
        case .record(let zone, let name, _, _): "\(zone)\0\(name)"
        case .zoneDeleted(let zone): zone
        case .zones: ""
        }
    }
}
