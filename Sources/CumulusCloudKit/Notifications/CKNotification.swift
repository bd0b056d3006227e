// A notification of a subscription, which tells a device of a change.
//
// Made from the dictionaries that a push service delivers on Apple's systems, and
// `CKNotificationReceiver` here.
//
// Folder: notifications, and the feed in place of a push service. Read `CKNotification`, then
// `NotificationPayload`, `FeedNotification+Payload` and `CKNotificationReceiver`.

internal import Cumulus
internal import CumulusModel
public import Foundation

/// Names a notification: `CKNotification.ID`.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// 32 hexadecimal digits.
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Whether both name the same notification.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text == text
    }

    /// Equal for equal names.
    public override var hash: Int { text.hashValue }

    /// The name itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the name.
    public func encode(with coder: NSCoder) { coder.encode(text as NSString, forKey: "id") }

    /// A name from an archive; nil if the archive holds no name.
    public init?(coder: NSCoder) {
        guard let text = coder.decodeText(forKey: "id") else { return nil }
        self.text = text
    }
}

/// Notifications that are made from dictionaries: `CKNotification`.
///
/// The initialiser stands in an extension of this protocol, where it may return a subclass.
public protocol CKNotificationDictionary {}

extension CKNotificationDictionary where Self: CKNotification {
    /// The notification that a dictionary holds: a `CKQueryNotification`,
    /// `CKDatabaseNotification` or `CKRecordZoneNotification`.
    ///
    /// Nil if the dictionary is not one of CloudKit's, or holds a notification of another
    /// class.
    public init?(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let payload = NotificationPayload(dictionary: notificationDictionary),
            let notification = CKNotification.notification(payload) as? Self
        else { return nil }
        self = notification
    }
}

/// Tells that something changed that a subscription asks for.
open class CKNotification: NSObject, CKNotificationDictionary, @unchecked Sendable {
    /// Names a notification.
    public typealias ID = CKNotificationID

    /// The kind of a notification.
    public enum NotificationType: Int, Sendable {
        /// A record that a query subscription watches.
        case query = 1
        /// A zone.
        case recordZone = 2
        /// The user marked the notification as read, on whichever device.
        case readNotification = 3
        /// Zones of a database.
        case database = 4
    }

    let payload: NotificationPayload

    init(_ payload: NotificationPayload) {
        self.payload = payload
    }

    static func notification(_ payload: NotificationPayload) -> CKNotification {
        switch payload.news {
        case .query: CKQueryNotification(payload)
        case .zone: CKRecordZoneNotification(payload)
        case .database: CKDatabaseNotification(payload)
        }
    }

    /// The kind of the notification.
    public var notificationType: NotificationType {
        if payload.isRead { return .readNotification }
        return switch payload.news {
        case .query: .query
        case .zone: .recordZone
        case .database: .database
        }
    }

    /// Names the notification; nil if that was left out.
    public var notificationID: ID? { payload.id.map { ID($0) } }
    /// The container of the subscription; nil if that was left out.
    public var containerIdentifier: String? { payload.container }
    /// The user whose subscription it is; nil if that was left out.
    public var subscriptionOwnerUserRecordID: CKRecord.ID? {
        payload.user.map { CKRecord.ID(recordName: $0) }
    }
    /// The subscription; nil if that was left out.
    public var subscriptionID: CKSubscription.ID? { payload.subscriptionID }
    /// Parts were left out since the notification would have been too large.
    public var isPruned: Bool { payload.isPruned }

    /// The text of the alert.
    public var alertBody: String? { payload.info.alertBody }
    /// Key of the alert's text in the app's strings.
    public var alertLocalizationKey: String? { payload.info.alertLocalizationKey }
    /// The arguments of that text.
    public var alertLocalizationArgs: [String]? { payload.info.alertLocalizationArgs }
    /// The title of the alert.
    public var title: String? { payload.info.title }
    /// Key of the title in the app's strings.
    public var titleLocalizationKey: String? { payload.info.titleLocalizationKey }
    /// The arguments of that title.
    public var titleLocalizationArgs: [String]? { payload.info.titleLocalizationArgs }
    /// The line below the title.
    public var subtitle: String? { payload.info.subtitle }
    /// Key of that line in the app's strings.
    public var subtitleLocalizationKey: String? { payload.info.subtitleLocalizationKey }
    /// The arguments of that line.
    public var subtitleLocalizationArgs: [String]? { payload.info.subtitleLocalizationArgs }
    /// Key of the title of the alert's button in the app's strings.
    public var alertActionLocalizationKey: String? { payload.info.alertActionLocalizationKey }
    /// The image that the app shows while it starts.
    public var alertLaunchImage: String? { payload.info.alertLaunchImage }
    /// The sound that is played.
    public var soundName: String? { payload.info.soundName }
    /// Names the actions that the app offers with it.
    public var category: String? { payload.info.category }
    /// The number on the app's icon; nil means it stays.
    public var badge: NSNumber? { payload.badge.map { NSNumber(value: $0) } }
}

/// Tells of a record that a query subscription watches.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// The change of a record.
    public enum Reason: Int, Sendable {
        /// It was not there before.
        case recordCreated = 1
        /// It was there before, and is.
        case recordUpdated = 2
        /// It is gone.
        case recordDeleted = 3
    }

    private var query: NotificationPayload.QueryNews {
        guard case .query(let news) = payload.news else {
            return NotificationPayload.QueryNews()
        }
        return news
    }

    /// The change of the record.
    public var queryNotificationReason: Reason {
        Reason(rawValue: query.reason) ?? .recordUpdated
    }

    /// The fields that the subscription asks for, as they were; nil if it asks for none.
    public var recordFields: [String: Any]? {
        guard !query.fields.isEmpty else { return nil }
        let zone = query.recordID?.zoneID.model ?? .default
        return query.fields.mapValues { $0.object(in: zone) }
    }

    /// The record; nil if the server can't tell which: ask the query anew.
    public var recordID: CKRecord.ID? { query.recordID }

    /// The database of the subscription.
    public var databaseScope: CKDatabase.Scope { payload.scope }

    /// Whether the subscription is in the public database.
    public var isPublicDatabase: Bool { payload.scope == .public }
}

/// Tells that something changed in a zone: fetch its changes.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone.
    public var recordZoneID: CKRecordZone.ID? {
        if case .zone(let zone) = payload.news { zone } else { nil }
    }

    /// The database of the subscription.
    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// Tells that zones of a database changed: fetch which.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The database of the subscription.
    public var databaseScope: CKDatabase.Scope { payload.scope }
}
