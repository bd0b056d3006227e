// A subscription: a user wants to be told of the records of a type that satisfy a predicate, of a
// zone, or of a database.
//
// Part of the client's surface. A user's subscriptions of one database are saved, listed and
// deleted by `Database`; nodes keep them as registers.
//
// Folder: what a user wants to be told of, and what devices are told. Read `Subscription` and
// `Subscription+NotificationInfo`, then `FeedNotification` and `WebhookSubscriber`.

/// A user's wish to be told of certain changes.
///
///     let large = try Query.Predicate(format: "population > 1000000")
///     let subscription = Subscription(
///         id: "large-cities",
///         kind: .query(recordType: "City", predicate: large),
///         options: [.firesOnRecordCreation]
///     )
///     try await container.publicCloudDatabase.save(subscription)
public struct Subscription: Hashable, Sendable {
    /// The id of a subscription, unique for its user and database.
    public typealias ID = String

    /// 1 to 255 printable ASCII characters.
    public let id: ID
    /// The watched records, zone or database.
    public var kind: Kind
    /// The changes on which a query subscription fires; other kinds fire on all changes and ignore
    /// it.
    public var options: Options
    /// Allows the predicate what CloudKit has not: `OR`, and tests for nil.
    public var allowsExtensions = false
    /// What a notification shows and carries; nil means only what fired.
    public var notificationInfo: NotificationInfo?

    /// A subscription to be saved.
    public init(
        id: ID,
        kind: Kind,
        options: Options = .standard,
        notificationInfo: NotificationInfo? = nil
    ) {
        self.id = id
        self.kind = kind
        self.options = options
        self.notificationInfo = notificationInfo
    }

    /// The watched records, zone or database.
    public enum Kind: Hashable, Sendable {
        /// The records of a type that satisfy a predicate, of one zone or, without one, of all.
        ///
        /// It is for public and private databases.
        case query(recordType: String, predicate: Query.Predicate, zone: RecordZone.ID? = nil)
        /// A custom zone, or its records of one type.
        ///
        /// It is for private databases.
        case zone(RecordZone.ID, recordType: String? = nil)
        /// All custom zones, or their records of one type.
        ///
        /// It is for private databases.
        case database(recordType: String? = nil)
    }

    /// The changes on which a query subscription fires.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits as they travel.
        public let rawValue: UInt32
        /// Options from their bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// A new record satisfies the predicate.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// A record changed that satisfied the predicate before, or does now.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// A record is gone that satisfied the predicate.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// The subscription is deleted when it has fired.
        public static let firesOnce = Options(rawValue: 1 << 3)

        /// Every change, each time.
        public static let standard: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    }
}
