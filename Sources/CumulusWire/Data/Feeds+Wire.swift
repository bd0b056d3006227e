// The calls on feeds: what a user's subscriptions tell, page by page, and what the user has read.
//
// `feeds.proto`. The node writes a notification once, and joins it to the pages of all feeds that
// tell it. The client reads pages. hot: once per notification on the node, once per page of each
// feed.

package import CumulusModel

// MARK: - Follow

package struct FollowFeedRequest: Coded, Hashable {
    /// Empty: from now on.
    package var token: Bytes = []
    /// The answer ends with the page that says the device is up to date.
    package var untilCheckpoint = false
    /// Without a token: from the oldest change that the node keeps.
    package var isHistory = false

    package init() {}

    package init(token: Bytes, untilCheckpoint: Bool = false, isHistory: Bool = false) {
        self.token = token
        self.untilCheckpoint = untilCheckpoint
        self.isHistory = isHistory
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &token)
        try coder.flag(2, &untilCheckpoint)
        try coder.flag(3, &isHistory)
    }
}

// MARK: - Pages

/// `FeedPage`.
package struct FeedPage: WireMessage {
    package var notifications: [Embedded<WireNotification>] = []
    /// To go on behind this page, on any node.
    package var token: Bytes = []
    /// The device is up to date.
    package var isCheckpoint = false
    package var reset: Reset?

    package init() {}

    /// A page of notifications that are encoded already.
    ///
    /// - Parameter notifications: Each the bytes of a `Notification`.
    package init(notifications: [Bytes], token: Bytes, isCheckpoint: Bool, reset: FeedReset?) {
        self.notifications = notifications.map { .encoded($0) }
        self.token = token
        self.isCheckpoint = isCheckpoint
        self.reset = reset.map { Reset($0) }
    }

    package var roughCount: Int {
        notifications.reduce(64 + token.count) { $0 + ($1.exactCount ?? 256) + 8 }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &notifications)
        try coder.bytes(2, &token)
        try coder.flag(3, &isCheckpoint)
        try coder.message(4, &reset)
    }

    /// `FeedReset`.
    package struct Reset: Coded {
        var isAll = false
        var subscriptions: [Name] = []

        package init() {}

        init(_ reset: FeedReset) {
            switch reset {
            case .all: isAll = true
            case .subscriptions(let names): subscriptions = names.map { Name($0) }
            }
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.flag(1, &isAll)
            try coder.list(2, &subscriptions)
        }
    }

    /// `SubscriptionName`.
    struct Name: Coded {
        var database: UInt32 = 0
        var id = ""

        init() {}

        init(_ name: SubscriptionName) {
            database = UInt32(name.databaseScope.rawValue)
            id = name.subscriptionID
        }

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.number(1, &database)
            try coder.text(2, &id)
        }
    }
}

/// A page of a feed, for the client.
package struct WireFeedPage: Hashable, Sendable {
    package var notifications: [FeedNotification]
    /// To go on behind this page, on any node.
    package var token: Bytes
    /// The device is up to date.
    package var isCheckpoint: Bool
    package var reset: FeedReset?

    package init(
        notifications: [FeedNotification],
        token: Bytes,
        isCheckpoint: Bool,
        reset: FeedReset? = nil
    ) {
        self.notifications = notifications
        self.token = token
        self.isCheckpoint = isCheckpoint
        self.reset = reset
    }

    package func encoded() -> Bytes {
        FeedPage(
            notifications: notifications.map { WireNotification($0).encoded() },
            token: token,
            isCheckpoint: isCheckpoint,
            reset: reset
        ).encoded()
    }

    /// What a later release tells and this one can't read becomes a reset of its subscription: the
    /// device asks for it anew.
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let page = try FeedPage(wire: bytes)
        token = page.token
        isCheckpoint = page.isCheckpoint
        reset = try page.reset.map { reset throws(MalformedMessage) in try FeedReset(reset) }
        notifications = []
        var unread: [SubscriptionName] = []
        for wire in page.notifications.compactMap(\.message) {
            let name = try SubscriptionName(wire.database, wire.subscriptionID)
            if let notification = FeedNotification(wire, of: name) {
                notifications.append(notification)
            } else if !unread.contains(name) {
                unread.append(name)
            }
        }
        if !unread.isEmpty { reset = reset?.joined(with: unread) ?? .subscriptions(unread) }
    }
}

extension FeedReset {
    fileprivate init(_ wire: FeedPage.Reset) throws(MalformedMessage) {
        guard !wire.isAll else {
            self = .all
            return
        }
        self = .subscriptions(
            try wire.subscriptions.map { name throws(MalformedMessage) in
                try SubscriptionName(name.database, name.id)
            }
        )
    }
}

extension SubscriptionName {
    fileprivate init(_ database: UInt32, _ id: String) throws(MalformedMessage) {
        guard let scope = UInt8(exactly: database).flatMap(DatabaseScope.init(rawValue:)) else {
            throw MalformedMessage(message: "a notification is of no database")
        }
        self.init(databaseScope: scope, subscriptionID: id)
    }
}

// MARK: - Notifications

/// `Notification`.
package struct WireNotification: Coded {
    enum News: Sendable {
        case record(RecordNews)
        case deletedZone(WireZoneID)
        case zones(ZoneNews)
    }

    /// `RecordNews`.
    struct RecordNews: Coded {
        var id: WireRecordID?
        var recordType = ""
        var reason: UInt32 = 0
        var transition: UInt32 = 0
        var fields: [WireRecordField] = []

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.message(1, &id)
            try coder.text(2, &recordType)
            try coder.number(3, &reason)
            try coder.number(4, &transition)
            try coder.list(5, &fields)
        }
    }

    /// `ZoneNews`.
    struct ZoneNews: Coded {
        var zones: [WireZoneID] = []
        var more = false

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.list(1, &zones)
            try coder.flag(2, &more)
        }
    }

    var id: Bytes = []
    var subscriptionID = ""
    var database: UInt32 = 0
    /// nil for what this release doesn't know.
    var news: News?
    var info: Subscription.NotificationInfo?
    var isPruned = false
    /// Empty: several users, or a node.
    var changedBy = ""
    /// Milliseconds since 1970 UTC.
    var changedAt: Int64 = 0
    var isRead = false

    package init() {}

    package var roughCount: Int { 256 }

    private var number: Int? {
        switch news {
        case .record: 4
        case .deletedZone: 5
        case .zones: 6
        case nil: nil
        }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &id)
        try coder.text(2, &subscriptionID)
        try coder.number(3, &database)
        try codeNews(&coder)
        try coder.message(7, &info)
        try coder.flag(8, &isPruned)
        try coder.text(9, &changedBy)
        try coder.signed(10, &changedAt)
        try coder.flag(11, &isRead)
    }

    private mutating func codeNews(_ coder: inout some Coder) throws(MalformedBytes) {
        switch try coder.choice(4...6, number) {
        case 4:
            var record = if case .record(let record) = news { record } else { RecordNews() }
            try coder.member(4, &record)
            news = .record(record)
        case 5:
            var zone = if case .deletedZone(let zone) = news { zone } else { WireZoneID() }
            try coder.member(5, &zone)
            news = .deletedZone(zone)
        case 6:
            var zones = if case .zones(let zones) = news { zones } else { ZoneNews() }
            try coder.member(6, &zones)
            news = .zones(zones)
        default: break
        }
    }

    /// The bytes of an unread `Notification`, of one that is read: fields may stand in any order.
    package static func marked(_ notification: Bytes) -> Bytes {
        var mark = WireNotification()
        mark.isRead = true
        return notification + mark.encoded()
    }
}

extension WireNotification {
    package init(_ notification: FeedNotification) {
        id = notification.id.bytes
        subscriptionID = notification.subscriptionID
        database = UInt32(notification.databaseScope.rawValue)
        news = News(notification.news)
        info = notification.notificationInfo
        isPruned = notification.isPruned
        changedBy = notification.changedBy?.recordName ?? ""
        changedAt = notification.changedAt.millisecondsSince1970
        isRead = notification.isRead
    }
}

extension WireNotification.News {
    fileprivate init(_ news: FeedNotification.News) {
        switch news {
        case .record(let news):
            var record = WireNotification.RecordNews()
            record.id = WireRecordID(news.recordID)
            record.recordType = news.recordType
            record.reason = news.reason.rawValue
            record.transition = news.transition.rawValue
            record.fields = news.fields.sorted { $0.key < $1.key }
                .map { WireRecordField($0.key, $0.value) }
            self = .record(record)
        case .zoneDeleted(let zone): self = .deletedZone(WireZoneID(zone))
        case .zones(let zones, let more):
            var news = WireNotification.ZoneNews()
            news.zones = zones.map { WireZoneID($0) }
            news.more = more
            self = .zones(news)
        }
    }
}

extension FeedNotification {
    /// nil if this release can't read what it tells.
    fileprivate init?(_ wire: WireNotification, of name: SubscriptionName) {
        guard let news = wire.news.flatMap({ News($0) }) else { return nil }
        self.init(
            id: ID(bytes: wire.id),
            subscriptionID: name.subscriptionID,
            databaseScope: name.databaseScope,
            news: news,
            notificationInfo: wire.info,
            isPruned: wire.isPruned,
            changedBy: wire.changedBy.isEmpty ? nil : Record.ID(recordName: wire.changedBy),
            changedAt: Timestamp(millisecondsSince1970: wire.changedAt),
            isRead: wire.isRead
        )
    }
}

extension FeedNotification.News {
    fileprivate init?(_ wire: WireNotification.News) {
        switch wire {
        case .record(let wire):
            guard let news = FeedNotification.RecordNews(wire) else { return nil }
            self = .record(news)
        case .deletedZone(let zone): self = .zoneDeleted(zone.id)
        case .zones(let news): self = .zones(news.zones.map(\.id), more: news.more)
        }
    }
}

extension FeedNotification.RecordNews {
    /// nil without a record, and for a change of which this release does not know what it is.
    fileprivate init?(_ wire: WireNotification.RecordNews) {
        guard let id = wire.id,
            let reason = FeedNotification.Reason(rawValue: wire.reason),
            let transition = FeedNotification.Transition(rawValue: wire.transition)
        else { return nil }
        self.init(
            recordID: id.id,
            recordType: wire.recordType,
            reason: reason,
            transition: transition
        )
        for field in wire.fields { fields[field.name] = field.value }
    }
}

// MARK: - Mark as read

package struct MarkReadRequest: Coded, Hashable {
    /// The ids of notifications, as they came.
    package var ids: [Bytes] = []
    /// Everything up to it is read; empty: only the ids.
    package var token: Bytes = []

    package init() {}

    package init(ids: [Bytes], token: Bytes = []) {
        self.ids = ids
        self.token = token
    }

    package var roughCount: Int { 16 + ids.count * 18 + token.count }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &ids)
        try coder.bytes(2, &token)
    }
}
