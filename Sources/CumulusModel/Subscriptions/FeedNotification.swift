// A notification that tells a device of a change: the subscription, the change, and what to show.
//
// Part of the client's surface, and what nodes encode. A feed is a stream of them, see
// `Container.notifications`.

/// Tells that something changed that a subscription asks for.
///
/// It is the same on every node, and a feed tells it once.
public struct FeedNotification: Hashable, Sendable, Identifiable {
    /// Names a notification; the same on every node.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
        /// 16 bytes.
        package let bytes: [UInt8]

        package static let byteCount = 16
        /// Ids that a user's marks hold, those marked last; also the most of one request.
        package static let mostMarked = 400

        package init(bytes: [UInt8]) { self.bytes = bytes }

        /// An id that was written as ``description``; nil if it isn't one.
        public init?(_ description: String) {
            guard let bytes = [UInt8](hex: description), bytes.count == ID.byteCount else {
                return nil
            }
            self.bytes = bytes
        }

        /// 32 hexadecimal digits.
        public var description: String { bytes.hex }
    }

    /// The change.
    public enum News: Hashable, Sendable {
        /// A record that satisfied the subscription's predicate before, or does now.
        case record(RecordNews)
        /// A zone is gone, with all its records that satisfied the predicate.
        case zoneDeleted(RecordZone.ID)
        /// Something in these zones, of a subscription to zones as a whole: fetch their changes.
        /// `more` says that there are further ones.
        case zones([RecordZone.ID], more: Bool)
    }

    /// How a record changed.
    public struct RecordNews: Hashable, Sendable {
        /// The record.
        public var recordID: Record.ID
        /// Its type.
        public var recordType: String
        /// What happened to the record.
        public var reason: Reason
        /// How it stands to the subscription's predicate.
        public var transition: Transition
        /// The fields that the subscription asks for in `desiredKeys`, as they are now.
        ///
        /// Texts are cut to 100 characters.
        public var fields: [String: FieldValue]

        /// A record's change.
        public init(
            recordID: Record.ID,
            recordType: String,
            reason: Reason,
            transition: Transition,
            fields: [String: FieldValue] = [:]
        ) {
            self.recordID = recordID
            self.recordType = recordType
            self.reason = reason
            self.transition = transition
            self.fields = fields
        }
    }

    /// What happened to a record.
    ///
    /// Numbers are CloudKit's.
    public enum Reason: UInt32, Hashable, Sendable {
        /// It was not there before.
        case created = 1
        /// It was there before, and is.
        case updated = 2
        /// It is gone.
        case deleted = 3
    }

    /// How a record stands to a subscription's predicate.
    public enum Transition: UInt32, Hashable, Sendable {
        /// It satisfies it now, and did not before.
        case entered = 1
        /// It did before, and does now.
        case stayed = 2
        /// It did before, and does not now.
        case left = 3
        /// It does now, whatever it did before: changes met on different nodes, or the device is
        /// told of very much, in several pages.
        case uncertainMatch = 4
        /// It may not match any more: a device that has it drops it.
        case uncertainMiss = 5

        /// The record satisfies the predicate now.
        public var matches: Bool { self == .entered || self == .stayed || self == .uncertainMatch }

        /// The device may know the record either way.
        package var isUncertain: Bool { self == .uncertainMatch || self == .uncertainMiss }
    }

    /// Names the notification.
    public var id: ID
    /// The subscription that it is of.
    public var subscriptionID: Subscription.ID
    /// The database of that subscription.
    public var databaseScope: DatabaseScope
    /// The change.
    public var news: News
    /// What to show, as the subscription asks for; nil if it asks for nothing.
    ///
    /// Arguments hold the values of the fields that they name, as text. `desiredKeys` is empty.
    public var notificationInfo: Subscription.NotificationInfo?
    /// Parts were left out since the notification would have been too large.
    public var isPruned = false
    /// The user who made the change; nil means several users, or a node itself.
    public var changedBy: Record.ID?
    /// When it was made.
    public var changedAt: Timestamp
    /// The user marked it as read, on whichever device, before this page was made.
    public var isRead = false

    /// A notification.
    package init(
        id: ID,
        subscriptionID: Subscription.ID,
        databaseScope: DatabaseScope,
        news: News,
        notificationInfo: Subscription.NotificationInfo? = nil,
        isPruned: Bool = false,
        changedBy: Record.ID? = nil,
        changedAt: Timestamp,
        isRead: Bool = false
    ) {
        self.id = id
        self.subscriptionID = subscriptionID
        self.databaseScope = databaseScope
        self.news = news
        self.notificationInfo = notificationInfo
        self.isPruned = isPruned
        self.changedBy = changedBy
        self.changedAt = changedAt
        self.isRead = isRead
    }
}

/// Names a subscription of a user in a container.
public struct SubscriptionName: Hashable, Sendable {
    /// The database in which it was saved.
    public var databaseScope: DatabaseScope
    /// Its id there.
    public var subscriptionID: Subscription.ID

    /// A subscription of a database.
    public init(databaseScope: DatabaseScope, subscriptionID: Subscription.ID) {
        self.databaseScope = databaseScope
        self.subscriptionID = subscriptionID
    }
}

extension FeedNotification {
    /// The subscription that tells it.
    package var subscriptionName: SubscriptionName {
        SubscriptionName(databaseScope: databaseScope, subscriptionID: subscriptionID)
    }
}

/// A change that a feed can't describe: query or fetch changes anew.
public enum FeedReset: Hashable, Sendable {
    /// The feed goes on, but nothing of it is known from where it was: ask for everything.
    case all
    /// The same for these subscriptions; the others go on.
    case subscriptions([SubscriptionName])

    /// The same and these subscriptions.
    package func joined(with more: [SubscriptionName]) -> FeedReset {
        switch self {
        case .all: .all
        case .subscriptions(let names): .subscriptions(names + more.filter { !names.contains($0) })
        }
    }
}
