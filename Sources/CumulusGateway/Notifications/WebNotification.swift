// A notification as web services write it, `aps` and `ck`.
//
// Made by `WebNews` of what a feed tells.

import Crypto
package import CumulusModel

package struct WebNotification: Hashable, Sendable {
    /// The same on every node, for each change that it tells.
    package var id: String
    /// One JSON object.
    package var text: String

    package init(id: String, text: String) {
        self.id = id
        self.text = text
    }

    /// The notifications that web services make from one of a feed: one for each zone that changed.
    ///
    /// - Parameters:
    ///   - container: The notification's container.
    ///   - user: The user record name of the feed's user.
    ///   - isWide: Its subscription is one to a whole database.
    package static func all(
        _ notification: FeedNotification,
        in container: String,
        user: String,
        isWide: Bool
    ) -> [WebNotification] {
        var shown: [JSON.Member] = []
        if let info = notification.notificationInfo, info.isShown {
            shown = [JSON.Member("aps", aps(info))]
        }
        return parts(notification, in: container, user: user, isWide: isWide).map { id, ck in
            WebNotification(id: id, text: JSON.object(shown + [JSON.Member("ck", ck)]).text)
        }
    }

    typealias Part = (id: String, ck: JSON)

    /// What names the changes of a notification: a part for each zone that changed.
    static func parts(
        _ notification: FeedNotification,
        in container: String,
        user: String,
        isWide: Bool
    ) -> [Part] {
        func make(_ key: String, _ members: [JSON.Member], _ suffix: String = "") -> Part {
            let id = notification.id.description + suffix
            let name = JSON.Member("sid", .string(notification.subscriptionID))
            var ck = [
                JSON.Member("nid", .string(id)), JSON.Member("cid", .string(container)),
                JSON.Member(key, .object([name] + members)),
            ]
            if notification.isPruned { ck.append(JSON.Member("p", .integer(1))) }
            return (id, .object(ck))
        }
        let database = JSON.Member("dbs", .integer(number(notification.databaseScope)))
        func zone(_ id: RecordZone.ID) -> [JSON.Member] {
            [
                JSON.Member("zid", .string(id.zoneName)),
                JSON.Member("zoid", .string(WebZone.owner(id.ownerName, user))),
            ]
        }
        switch notification.news {
        case .record(let news):
            var members = [JSON.Member("rid", .string(news.recordID.recordName))]
            members += zone(news.recordID.zoneID)
            members += [JSON.Member("fo", .integer(Int64(news.reason.rawValue))), database]
            if !news.fields.isEmpty {
                let writer = WebFieldWriter(user: user)
                let fields = news.fields.sorted { $0.key < $1.key }.map { key, value in
                    JSON.Member(key, JSON { writer.bare(value, in: news.recordID.zoneID, to: &$0) })
                }
                members.append(JSON.Member("af", .object(fields)))
            }
            return [make("qry", members)]
        case .zoneDeleted(let id):
            let deleted = JSON.Member("fo", .integer(3))
            return [make("qry", zone(id) + [deleted, database])]
        case .zones(let zones, _):
            if isWide { return [make("met", [database])] }
            return zones.enumerated().map { index, id in
                make("fet", zone(id) + [database], index == 0 ? "" : "-\(index)")
            }
        }
    }

    /// Says that the feed can't tell all that happened; not one of CloudKit's.
    ///
    /// - Parameter token: The token of the page that reports the reset.
    package static func reset(
        _ reset: FeedReset,
        _ token: Bytes,
        in container: String
    ) -> WebNotification {
        let id = id(ofReset: token)
        let ck = ck(reset, token, in: container)
        return WebNotification(id: id, text: JSON.object([JSON.Member("ck", ck)]).text)
    }

    static func id(ofReset token: Bytes) -> String {
        Bytes(SHA256.hash(data: token).prefix(FeedNotification.ID.byteCount)).hex
    }

    /// What a reset says.
    static func ck(_ reset: FeedReset, _ token: Bytes, in container: String) -> JSON {
        var members: [JSON.Member] = []
        if case .subscriptions(let names) = reset {
            let list = names.map { name -> JSON in
                [
                    "sid": .string(name.subscriptionID),
                    "dbs": .integer(number(name.databaseScope)),
                ]
            }
            members.append(JSON.Member("subscriptions", .array(list)))
        }
        return [
            "nid": .string(id(ofReset: token)), "cid": .string(container),
            "reset": .object(members),
        ]
    }

    /// The text for a webhook: the notification, and the user whom it concerns.
    package func text(for subscriber: WebhookSubscriber) -> String {
        let whose: JSON = [
            "user": .string(subscriber.user),
            "environment": .string(subscriber.scope.environment.name),
        ]
        return whose.text.dropLast() + ", " + text.dropFirst()
    }

    private static func number(_ database: DatabaseScope) -> Int64 {
        switch database {
        case .public: 0
        case .private: 1
        case .shared: 2
        }
    }

    /// The part that the device shows.
    ///
    /// - Parameter badge: The number that goes with `shouldBadge`.
    static func aps(_ info: Subscription.NotificationInfo, badge: Int64 = 1) -> JSON {
        func texts(_ parts: [(key: String, text: String?)]) -> [JSON.Member] {
            parts.compactMap { key, text in text.map { JSON.Member(key, .string($0)) } }
        }
        func lists(_ parts: [(key: String, texts: [String])]) -> [JSON.Member] {
            parts.filter { !$0.texts.isEmpty }.map { key, texts in
                JSON.Member(key, .array(texts.map { .string($0) }))
            }
        }
        func flags(_ parts: [(key: String, isSet: Bool, number: Int64)]) -> [JSON.Member] {
            parts.filter(\.isSet).map { JSON.Member($0.key, .integer($0.number)) }
        }
        let alert =
            texts([
                ("title", info.title), ("subtitle", info.subtitle), ("body", info.alertBody),
                ("loc-key", info.alertLocalizationKey),
                ("title-loc-key", info.titleLocalizationKey),
                ("subtitle-loc-key", info.subtitleLocalizationKey),
                ("action-loc-key", info.alertActionLocalizationKey),
                ("launch-image", info.alertLaunchImage),
            ])
            + lists([
                ("loc-args", info.alertLocalizationArgs),
                ("title-loc-args", info.titleLocalizationArgs),
                ("subtitle-loc-args", info.subtitleLocalizationArgs),
            ])
        let rest =
            texts([("sound", info.soundName), ("category", info.category)])
            + flags([
                ("badge", info.shouldBadge, badge),
                ("content-available", info.shouldSendContentAvailable, 1),
                ("mutable-content", info.shouldSendMutableContent, 1),
            ])
        return .object((alert.isEmpty ? [] : [JSON.Member("alert", .object(alert))]) + rest)
    }
}

extension Subscription.NotificationInfo {
    /// Whether apps are told something by it: it has more than the name of a webhook.
    fileprivate var isShown: Bool {
        if webhook == nil { return true }
        var rest = self
        rest.webhook = nil
        return rest != Subscription.NotificationInfo()
    }
}
