// The content of a subscription's notifications.
//
// Set by apps; saved with subscriptions.

internal import CumulusModel
public import Foundation

/// The content of a subscription's notifications: `CKSubscription.NotificationInfo`.
///
/// Arguments are names of fields; the app puts their values into its localised text.
public final class CKNotificationInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The text of the alert.
    @_Guarded public var alertBody: String? = nil
    /// Key of the alert's text in the app's strings.
    @_Guarded public var alertLocalizationKey: String? = nil
    /// Fields whose values stand in that text.
    @_Guarded public var alertLocalizationArgs: [CKRecord.FieldKey]? = nil
    /// The title of the alert.
    @_Guarded public var title: String? = nil
    /// Key of the title in the app's strings.
    @_Guarded public var titleLocalizationKey: String? = nil
    /// Fields whose values stand in that title.
    @_Guarded public var titleLocalizationArgs: [CKRecord.FieldKey]? = nil
    /// The line below the title.
    @_Guarded public var subtitle: String? = nil
    /// Key of that line in the app's strings.
    @_Guarded public var subtitleLocalizationKey: String? = nil
    /// Fields whose values stand in that line.
    @_Guarded public var subtitleLocalizationArgs: [CKRecord.FieldKey]? = nil
    /// Key of the title of the alert's button in the app's strings.
    @_Guarded public var alertActionLocalizationKey: String? = nil
    /// The image that the app shows while it starts.
    @_Guarded public var alertLaunchImage: String? = nil
    /// The sound that is played.
    @_Guarded public var soundName: String? = nil
    /// Fields that a notification of a query subscription carries, at most 3.
    @_Guarded public var desiredKeys: [CKRecord.FieldKey]? = nil
    /// The number on the app's icon grows by one.
    @_Guarded public var shouldBadge = false
    /// The app is woken to fetch what changed; with nothing to show, silently.
    @_Guarded public var shouldSendContentAvailable = false
    /// The app may change the notification before it is shown.
    @_Guarded public var shouldSendMutableContent = false
    /// Names the actions that the app offers with it.
    @_Guarded public var category: String? = nil
    /// A later notification with the same one takes the place of an earlier one.
    @_Guarded public var collapseIDKey: String? = nil
    /// CloudKit has no such property; it is kept for subscriptions that are fetched, changed and
    /// saved.
    @_Guarded var webhook: String? = nil

    /// Nothing is shown and nothing is carried.
    public override init() {}

    /// Sets the named properties; the others are as in `init()`.
    public convenience init(
        alertBody: String? = nil,
        alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil,
        titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil,
        soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false,
        category: String? = nil,
        collapseIDKey: String? = nil
    ) {
        self.init()
        self.alertBody = alertBody
        self.alertLocalizationKey = alertLocalizationKey
        self.alertLocalizationArgs = alertLocalizationArgs
        self.title = title
        self.titleLocalizationKey = titleLocalizationKey
        self.titleLocalizationArgs = titleLocalizationArgs
        self.subtitle = subtitle
        self.subtitleLocalizationKey = subtitleLocalizationKey
        self.subtitleLocalizationArgs = subtitleLocalizationArgs
        self.alertActionLocalizationKey = alertActionLocalizationKey
        self.alertLaunchImage = alertLaunchImage
        self.soundName = soundName
        self.desiredKeys = desiredKeys
        self.shouldBadge = shouldBadge
        self.shouldSendContentAvailable = shouldSendContentAvailable
        self.shouldSendMutableContent = shouldSendMutableContent
        self.category = category
        self.collapseIDKey = collapseIDKey
    }

    /// Another one with the same content.
    public func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(model) }

    /// True: it archives only bytes.
    public static var supportsSecureCoding: Bool { true }

    /// Archives what notifications show and carry.
    public func encode(with coder: NSCoder) {
        coder.encode(Data(model.encoded()) as NSData, forKey: "parts")
    }

    /// One from an archive; nil if the archive holds none.
    public convenience init?(coder: NSCoder) {
        guard let data = coder.decodeBytes(forKey: "parts"),
            let info = try? Subscription.NotificationInfo(strict: [UInt8](data))
        else { return nil }
        self.init(info)
    }

    // MARK: - The client library's form

    private typealias Text = ReferenceWritableKeyPath<CKNotificationInfo, String?>
    private typealias Names = ReferenceWritableKeyPath<CKNotificationInfo, [CKRecord.FieldKey]?>
    private typealias Flag = ReferenceWritableKeyPath<CKNotificationInfo, Bool>

    /// In the order of `Subscription.NotificationInfo.texts`.
    private static var texts: [Text] {
        [
            \.alertBody, \.alertLocalizationKey, \.title, \.titleLocalizationKey, \.subtitle,
            \.subtitleLocalizationKey, \.alertActionLocalizationKey, \.alertLaunchImage,
            \.soundName, \.category, \.collapseIDKey, \.webhook,
        ]
    }

    /// In the order of `Subscription.NotificationInfo.lists`.
    private static var lists: [Names] {
        [
            \.alertLocalizationArgs, \.titleLocalizationArgs, \.subtitleLocalizationArgs,
            \.desiredKeys,
        ]
    }

    /// In the order of `Subscription.NotificationInfo.flags`.
    private static var flags: [Flag] {
        [\.shouldBadge, \.shouldSendContentAvailable, \.shouldSendMutableContent]
    }

    convenience init(_ info: Subscription.NotificationInfo) {
        self.init()
        for (path, part) in zip(Self.texts, Subscription.NotificationInfo.texts) {
            self[keyPath: path] = info[keyPath: part.path]
        }
        for (path, part) in zip(Self.lists, Subscription.NotificationInfo.lists) {
            let names = info[keyPath: part.path]
            self[keyPath: path] = names.isEmpty ? nil : names
        }
        for (path, part) in zip(Self.flags, Subscription.NotificationInfo.flags) {
            self[keyPath: path] = info[keyPath: part.path]
        }
    }

    var model: Subscription.NotificationInfo {
        var info = Subscription.NotificationInfo()
        for (path, part) in zip(Self.texts, Subscription.NotificationInfo.texts) {
            info[keyPath: part.path] = self[keyPath: path]
        }
        for (path, part) in zip(Self.lists, Subscription.NotificationInfo.lists) {
            info[keyPath: part.path] = self[keyPath: path] ?? []
        }
        for (path, part) in zip(Self.flags, Subscription.NotificationInfo.flags) {
            info[keyPath: part.path] = self[keyPath: path]
        }
        return info
    }
}
