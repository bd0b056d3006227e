// The calls on feeds: what a user's subscriptions tell, page by page, and what the user has read.
//
// `feeds.proto`. The node encodes a notification once, and joins it to the pages of all feeds that
// tell it. The client decodes pages. hot: once per notification on the node, once per page of each
// feed.

import CCumulusWire
package import CumulusModel

// MARK: - Follow

package struct FollowFeedRequest: Hashable, Sendable {
    /// Empty: from now on.
    package var token: Bytes
    /// The answer ends with the page that says the device is up to date.
    package var untilCheckpoint: Bool
    /// Without a token: from the oldest change that the node keeps.
    package var isHistory: Bool

    package init(token: Bytes, untilCheckpoint: Bool = false, isHistory: Bool = false) {
        self.token = token
        self.untilCheckpoint = untilCheckpoint
        self.isHistory = isHistory
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: token)
        writer.field(2, varint: untilCheckpoint ? 1 : 0)
        writer.field(3, varint: isHistory ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__follow_feed_request__unpack)
        token = message.raw.token.swiftBytes
        untilCheckpoint = message.raw.until_checkpoint != 0
        isHistory = message.raw.history != 0
    }
}

// MARK: - Pages

/// A page of a feed, `FeedPage`.
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
        WireFeedPage.encoded(
            notifications: notifications.map(WireFeedPage.encoded),
            token: token,
            isCheckpoint: isCheckpoint,
            reset: reset
        )
    }

    /// A page of notifications that are encoded already.
    ///
    /// - Parameter notifications: Each the bytes of a `Notification`.
    package static func encoded(
        notifications: [Bytes],
        token: Bytes,
        isCheckpoint: Bool,
        reset: FeedReset?
    ) -> Bytes {
        let room = notifications.reduce(64 + token.count) { $0 + $1.count + 8 }
        var writer = CanonicalWriter(reserving: room)
        for notification in notifications { writer.present(1, bytes: notification) }
        writer.field(2, bytes: token)
        writer.field(3, varint: isCheckpoint ? 1 : 0)
        if let reset { writer.message(4) { reset.encode(to: &$0) } }
        return writer.bytes
    }

    /// The bytes of a `Notification`.
    package static func encoded(_ notification: FeedNotification) -> Bytes {
        var writer = CanonicalWriter(reserving: 256)
        notification.encode(to: &writer)
        return writer.bytes
    }

    /// The bytes of an unread `Notification`, of one that is read: fields may stand in any order.
    package static func marked(_ notification: Bytes) -> Bytes {
        var writer = CanonicalWriter(reserving: notification.count + 2)
        writer.raw(notification)
        writer.field(11, varint: 1)
        return writer.bytes
    }

    /// What a later release tells and this one can't read becomes a reset of its subscription: the
    /// device asks for it anew.
    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__feed_page__unpack)
        let raw = message.raw
        token = raw.token.swiftBytes
        isCheckpoint = raw.checkpoint != 0
        reset = try raw.reset.map { raw throws(MalformedMessage) in
            try FeedReset(wire: raw.pointee)
        }
        notifications = []
        var unread: [SubscriptionName] = []
        for raw in elements(raw.n_notifications, raw.notifications) {
            let name = try SubscriptionName(raw.database, raw.subscription_id)
            if let notification = try FeedNotification(wire: raw, of: name) {
                notifications.append(notification)
            } else if !unread.contains(name) {
                unread.append(name)
            }
        }
        if !unread.isEmpty { reset = reset?.joined(with: unread) ?? .subscriptions(unread) }
    }
}

// MARK: - Resets

extension FeedReset {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        switch self {
        case .all: writer.field(1, varint: 1)
        case .subscriptions(let names):
            for name in names {
                writer.message(2) { writer in
                    writer.field(1, varint: UInt64(name.databaseScope.rawValue))
                    writer.field(2, text: name.subscriptionID)
                }
            }
        }
    }

    fileprivate init(wire raw: Cumulus__V1__FeedReset) throws(MalformedMessage) {
        guard raw.all == 0 else {
            self = .all
            return
        }
        var names: [SubscriptionName] = []
        for name in elements(raw.n_subscriptions, raw.subscriptions) {
            names.append(try SubscriptionName(name.database, name.id))
        }
        self = .subscriptions(names)
    }
}

extension SubscriptionName {
    fileprivate init(
        _ database: Cumulus__V1__Database,
        _ id: ProtobufCBinaryData
    ) throws(MalformedMessage) {
        guard let scope = UInt8(exactly: database.rawValue).flatMap(DatabaseScope.init(rawValue:))
        else { throw MalformedMessage(message: "a notification is of no database") }
        self.init(databaseScope: scope, subscriptionID: id.swiftText)
    }
}

// MARK: - Notifications

extension FeedNotification {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        writer.field(1, bytes: id.bytes)
        writer.field(2, text: subscriptionID)
        writer.field(3, varint: UInt64(databaseScope.rawValue))
        switch news {
        case .record(let news): writer.message(4) { news.encode(to: &$0) }
        case .zoneDeleted(let zone): WireZoneID(zone).encode(5, to: &writer)
        case .zones(let zones, let more):
            writer.message(6) { writer in
                for zone in zones { WireZoneID(zone).encode(1, to: &writer) }
                writer.field(2, varint: more ? 1 : 0)
            }
        }
        if let notificationInfo { writer.message(7) { notificationInfo.encode(to: &$0) } }
        writer.field(8, varint: isPruned ? 1 : 0)
        writer.field(9, text: changedBy?.recordName ?? "")
        writer.field(10, signed: changedAt.millisecondsSince1970)
        writer.field(11, varint: isRead ? 1 : 0)
    }

    /// nil if this release can't read what it tells.
    fileprivate init?(
        wire raw: Cumulus__V1__Notification,
        of name: SubscriptionName
    ) throws(MalformedMessage) {
        guard let news = News(wire: raw) else { return nil }
        let user = raw.changed_by.swiftText
        self.init(
            id: ID(bytes: raw.id.swiftBytes),
            subscriptionID: name.subscriptionID,
            databaseScope: name.databaseScope,
            news: news,
            notificationInfo: try raw.info.map { raw throws(MalformedMessage) in
                try Subscription.NotificationInfo(wire: raw.pointee)
            },
            isPruned: raw.is_pruned != 0,
            changedBy: user.isEmpty ? nil : Record.ID(recordName: user),
            changedAt: Timestamp(millisecondsSince1970: raw.changed_at),
            isRead: raw.is_read != 0
        )
    }
}

extension FeedNotification.News {
    fileprivate init?(wire raw: Cumulus__V1__Notification) {
        switch raw.news_case {
        case CUMULUS__V1__NOTIFICATION__NEWS_RECORD:
            guard let news = FeedNotification.RecordNews(wire: raw.record.pointee) else {
                return nil
            }
            self = .record(news)
        case CUMULUS__V1__NOTIFICATION__NEWS_DELETED_ZONE:
            self = .zoneDeleted(WireZoneID(wire: raw.deleted_zone.pointee).id)
        case CUMULUS__V1__NOTIFICATION__NEWS_ZONES:
            let news = raw.zones.pointee
            let zones = elements(news.n_zones, news.zones).map { WireZoneID(wire: $0).id }
            self = .zones(zones, more: news.more != 0)
        default: return nil
        }
    }
}

extension FeedNotification.RecordNews {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        WireRecordID(recordID).encode(1, to: &writer)
        writer.field(2, text: recordType)
        writer.field(3, varint: UInt64(reason.rawValue))
        writer.field(4, varint: UInt64(transition.rawValue))
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            writer.message(5) { writer in
                writer.field(1, text: name)
                value.encode(to: &writer)
            }
        }
    }

    /// nil without a record, and for a change of which this release does not know what it is.
    fileprivate init?(wire raw: Cumulus__V1__RecordNews) {
        guard let id = raw.id,
            let reason = FeedNotification.Reason(rawValue: UInt32(raw.reason.rawValue)),
            let transition = FeedNotification.Transition(
                rawValue: UInt32(raw.transition.rawValue)
            )
        else { return nil }
        self.init(
            recordID: WireRecordID(wire: id.pointee).id,
            recordType: raw.record_type.swiftText,
            reason: reason,
            transition: transition
        )
        for field in elements(raw.n_fields, raw.fields) {
            fields[field.name.swiftText] = FieldValue(wire: field)
        }
    }
}

// MARK: - Mark as read

package struct MarkReadRequest: Hashable, Sendable {
    /// Of notifications, as they came.
    package var ids: [Bytes]
    /// Everything up to it is read; empty: only the ids.
    package var token: Bytes

    package init(ids: [Bytes], token: Bytes = []) {
        self.ids = ids
        self.token = token
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 16 + ids.count * 18 + token.count)
        for id in ids { writer.present(1, bytes: id) }
        writer.field(2, bytes: token)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__mark_read_request__unpack)
        ids = elements(message.raw.n_ids, message.raw.ids).map(\.swiftBytes)
        token = message.raw.token.swiftBytes
    }
}
