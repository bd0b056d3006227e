// The dictionary of a notification, as a push service would deliver it, and what it says.
//
// `CKNotification` reads it, `CKNotificationReceiver` writes it. The keys are the ones that were
// seen in CloudKit's own pushes.

internal import CumulusFoundation
internal import CumulusModel
internal import Foundation

struct NotificationPayload: Sendable {
    struct QueryNews: Sendable {
        /// `CKQueryNotification.Reason`.
        var reason = 2
        /// Nil: not known which.
        var recordID: CKRecordID?
        var fields: [String: FieldValue] = [:]
    }

    enum News: Sendable {
        case query(QueryNews)
        case zone(CKRecordZoneID)
        case database
    }

    var news: News
    var scope: CKDatabase.Scope
    var subscriptionID: CKSubscription.ID?
    var id: String?
    var container: String?
    var user: String?
    var isPruned = false
    var isRead = false
    var info = Subscription.NotificationInfo()
    var badge: Int?

    init(_ news: News, in scope: CKDatabase.Scope, of subscriptionID: CKSubscription.ID?) {
        self.news = news
        self.scope = scope
        self.subscriptionID = subscriptionID
    }

    // MARK: - Reading

    /// Nil if the dictionary is not one of CloudKit's.
    init?(dictionary: [AnyHashable: Any]) {
        guard let cloud = dictionary["ck"] as? [AnyHashable: Any] else { return nil }
        let parts: [AnyHashable: Any]
        if let query = cloud["qry"] as? [AnyHashable: Any] {
            parts = query
            news = .query(QueryNews(query))
        } else if let fetch = cloud["fet"] as? [AnyHashable: Any] {
            parts = fetch
            guard let zone = CKRecordZoneID(payload: fetch) else { return nil }
            news = .zone(zone)
        } else if let meta = cloud["met"] as? [AnyHashable: Any] {
            parts = meta
            news = .database
        } else {
            return nil
        }
        scope = (parts["dbs"] as? Int).flatMap(CKDatabase.Scope.init(rawValue:)) ?? .private
        subscriptionID = parts["sid"] as? String
        id = cloud["nid"] as? String
        container = cloud["cid"] as? String
        user = cloud["ckuserid"] as? String
        isPruned = (cloud["p"] as? Int ?? 0) != 0
        isRead = (cloud["read"] as? Int ?? 0) != 0
        read(dictionary["aps"] as? [AnyHashable: Any] ?? [:])
    }

    private mutating func read(_ aps: [AnyHashable: Any]) {
        if let body = aps["alert"] as? String { info.alertBody = body }
        let alert = aps["alert"] as? [AnyHashable: Any] ?? [:]
        for (key, path) in Self.texts { info[keyPath: path] = alert[key] as? String }
        if let body = aps["alert"] as? String { info.alertBody = body }
        for (key, path) in Self.lists { info[keyPath: path] = alert[key] as? [String] ?? [] }
        info.soundName = aps["sound"] as? String
        info.category = aps["category"] as? String
        info.shouldSendContentAvailable = (aps["content-available"] as? Int ?? 0) != 0
        info.shouldSendMutableContent = (aps["mutable-content"] as? Int ?? 0) != 0
        badge = aps["badge"] as? Int
    }

    private typealias Info = Subscription.NotificationInfo

    private static var texts: [(String, WritableKeyPath<Info, String?>)] {
        [
            ("body", \.alertBody), ("loc-key", \.alertLocalizationKey), ("title", \.title),
            ("title-loc-key", \.titleLocalizationKey), ("subtitle", \.subtitle),
            ("subtitle-loc-key", \.subtitleLocalizationKey),
            ("action-loc-key", \.alertActionLocalizationKey),
            ("launch-image", \.alertLaunchImage),
        ]
    }

    private static var lists: [(String, WritableKeyPath<Info, [String]>)] {
        [
            ("loc-args", \.alertLocalizationArgs), ("title-loc-args", \.titleLocalizationArgs),
            ("subtitle-loc-args", \.subtitleLocalizationArgs),
        ]
    }

    // MARK: - Writing

    /// The payload as Foundation's objects, like a push service's dictionaries: apps cast them to
    /// `[String: NSObject]`.
    var dictionary: [AnyHashable: Any] {
        ["aps": NSDictionary(payload: aps), "ck": NSDictionary(payload: cloud)]
    }

    private var cloud: [AnyHashable: Any] {
        var cloud: [AnyHashable: Any] = ["ce": 2]
        cloud["cid"] = container
        cloud["ckuserid"] = user
        cloud["nid"] = id
        if isPruned { cloud["p"] = 1 }
        if isRead { cloud["read"] = 1 }
        var parts: [AnyHashable: Any] = ["dbs": scope.rawValue]
        parts["sid"] = subscriptionID
        switch news {
        case .query(let query):
            query.write(to: &parts)
            cloud["qry"] = parts
        case .zone(let zone):
            zone.write(to: &parts)
            cloud["fet"] = parts
        case .database: cloud["met"] = parts
        }
        return cloud
    }

    private var aps: [AnyHashable: Any] {
        var alert: [AnyHashable: Any] = [:]
        for (key, path) in Self.texts { alert[key] = info[keyPath: path] }
        for (key, path) in Self.lists where !info[keyPath: path].isEmpty {
            alert[key] = info[keyPath: path]
        }
        var aps: [AnyHashable: Any] = [:]
        if !alert.isEmpty { aps["alert"] = alert }
        aps["sound"] = info.soundName
        aps["category"] = info.category
        aps["badge"] = badge
        // A notification that shows nothing wakes the app, or nothing would happen.
        if info.shouldSendContentAvailable || aps.isEmpty { aps["content-available"] = 1 }
        if info.shouldSendMutableContent { aps["mutable-content"] = 1 }
        return aps
    }
}

extension NotificationPayload.QueryNews {
    fileprivate init(_ parts: [AnyHashable: Any]) {
        reason = parts["fo"] as? Int ?? 2
        if let name = parts["rid"] as? String {
            recordID = CKRecordID(
                recordName: name,
                zoneID: CKRecordZoneID(payload: parts) ?? .default
            )
        }
        let values = parts["af"] as? [String: Any] ?? [:]
        fields = values.compactMapValues { FieldValue(foundation: $0) }
    }

    fileprivate func write(to parts: inout [AnyHashable: Any]) {
        parts["fo"] = reason
        guard let recordID else { return }
        parts["rid"] = recordID.recordName
        recordID.zoneID.write(to: &parts)
        guard !fields.isEmpty else { return }
        let zone = recordID.zoneID.model
        parts["af"] = fields.mapValues { $0.object(in: zone) as Any }
    }
}

extension CKRecordZoneID {
    fileprivate convenience init?(payload parts: [AnyHashable: Any]) {
        guard let name = parts["zid"] as? String else { return nil }
        self.init(
            zoneName: name,
            ownerName: parts["zoid"] as? String ?? CKCurrentUserDefaultName
        )
    }

    fileprivate func write(to parts: inout [AnyHashable: Any]) {
        parts["zid"] = zoneName
        parts["zoid"] = ownerName
    }
}

extension NSDictionary {
    fileprivate convenience init(payload: [AnyHashable: Any]) {
        let objects = payload.map { key, value in
            (NSString(string: "\(key.base)"), Self.object(value))
        }
        self.init(objects: objects.map(\.1), forKeys: objects.map(\.0))
    }

    private static func object(_ value: Any) -> NSObject {
        switch value {
        case let parts as [AnyHashable: Any]: NSDictionary(payload: parts)
        case let parts as [Any]: NSArray(array: parts.map(object))
        case let text as String: NSString(string: text)
        case let number as Int: NSNumber(value: number)
        case let object as NSObject: object
        default: NSNull()
        }
    }
}
