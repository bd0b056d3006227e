// A user's wish to be told of certain changes, in CloudKit's terms.
//
// Folder: subscriptions. Read `CKSubscription`, then `CKQuerySubscription` and
// `CKNotificationInfo`.

internal import CumulusModel
public import Foundation
internal import Synchronization

/// A user's wish to be told of certain changes: a query, a zone or a database subscription.
open class CKSubscription: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The id of a subscription, unique for its user and database.
    public typealias ID = String
    /// What notifications show and carry.
    public typealias NotificationInfo = CKNotificationInfo

    /// The kind of a subscription: what it watches.
    public enum SubscriptionType: Int, Sendable {
        /// The records of a type that satisfy a predicate.
        case query = 1
        /// A zone.
        case recordZone = 2
        /// All custom zones of a database.
        case database = 3
    }

    /// 1 to 255 printable ASCII characters.
    public let subscriptionID: ID
    /// What notifications show and carry; nil means only what fired.
    @_Guarded public var notificationInfo: NotificationInfo? = nil

    init(id: ID) {
        subscriptionID = id
    }

    /// The kind of the subscription: what it watches.
    public var subscriptionType: SubscriptionType {
        switch self {
        case is CKQuerySubscription: .query
        case is CKRecordZoneSubscription: .recordZone
        default: .database
        }
    }

    // MARK: - The client library's form

    /// The watched records, zone or database, as the client library takes it.
    var kind: Subscription.Kind { get throws(ServiceError) { .database() } }

    /// The changes on which it fires.
    var fires: Subscription.Options { .standard }

    /// The subscription as the client library takes it.
    ///
    /// - Throws: `invalidArguments` for a predicate that is not supported.
    func model() throws(ServiceError) -> Subscription {
        Subscription(
            id: subscriptionID,
            kind: try kind,
            options: fires,
            notificationInfo: notificationInfo?.model
        )
    }

    /// The subscription that the server holds.
    static func subscription(_ model: Subscription) -> CKSubscription {
        let subscription: CKSubscription
        switch model.kind {
        case .query(let recordType, let predicate, let zone):
            let query = CKQuerySubscription(
                recordType: recordType,
                predicate: .predicate(predicate),
                subscriptionID: model.id,
                options: CKQuerySubscription.Options(rawValue: UInt(model.options.rawValue))
            )
            query.zoneID = zone.map { CKRecordZone.ID($0) }
            subscription = query
        case .zone(let zone, let recordType):
            let watch = CKRecordZoneSubscription(
                zoneID: CKRecordZone.ID(zone),
                subscriptionID: model.id
            )
            watch.recordType = recordType
            subscription = watch
        case .database(let recordType):
            let watch = CKDatabaseSubscription(subscriptionID: model.id)
            watch.recordType = recordType
            subscription = watch
        }
        subscription.notificationInfo = model.notificationInfo.map { NotificationInfo($0) }
        return subscription
    }

    // MARK: - Copies and archives

    /// Another subscription with the same content.
    open func copy(with zone: NSZone? = nil) -> Any {
        guard let model = try? model() else { return self }
        return CKSubscription.subscription(model)
    }

    /// True.
    open class var supportsSecureCoding: Bool { true }

    /// Archives the subscription.
    open func encode(with coder: NSCoder) {
        coder.encode(subscriptionID as NSString, forKey: "subscriptionID")
        if let notificationInfo { coder.encode(notificationInfo, forKey: "notificationInfo") }
    }

    /// A subscription from an archive; nil if its id is missing.
    public required init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: "subscriptionID") else { return nil }
        subscriptionID = id
        super.init()
        notificationInfo = coder.decode(NotificationInfo.self, forKey: "notificationInfo")
    }

    /// Kind and id, for people.
    open override var description: String { "<\(type(of: self)): \(subscriptionID)>" }
}

/// A subscription to all custom zones of a private or shared database.
public final class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    /// Only changes of records of this type fire; nil means all changes.
    @_Guarded public var recordType: CKRecord.RecordType? = nil

    /// A subscription with a new random id.
    public convenience init() { self.init(subscriptionID: UUID().uuidString) }

    /// A subscription to be saved.
    public init(subscriptionID: CKSubscription.ID) { super.init(id: subscriptionID) }

    override var kind: Subscription.Kind {
        get throws(ServiceError) { .database(recordType: recordType) }
    }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        if let recordType { coder.encode(recordType as NSString, forKey: "recordType") }
    }

    /// A subscription from an archive; nil if its id is missing.
    public required init?(coder: NSCoder) {
        super.init(coder: coder)
        recordType = coder.decodeText(forKey: "recordType")
    }
}

/// A subscription to a custom zone of a private database.
public final class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    /// The zone.
    public let zoneID: CKRecordZone.ID
    /// Only changes of records of this type fire; nil means all changes.
    @_Guarded public var recordType: CKRecord.RecordType? = nil

    /// A subscription with a new random id.
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    /// A subscription to be saved.
    public init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.zoneID = zoneID
        super.init(id: subscriptionID)
    }

    override var kind: Subscription.Kind {
        get throws(ServiceError) { .zone(zoneID.model, recordType: recordType) }
    }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(zoneID, forKey: "zoneID")
        if let recordType { coder.encode(recordType as NSString, forKey: "recordType") }
    }

    /// A subscription from an archive; nil if its id or its zone is missing.
    public required init?(coder: NSCoder) {
        guard let zoneID = coder.decode(CKRecordZone.ID.self, forKey: "zoneID") else {
            return nil
        }
        self.zoneID = zoneID
        super.init(coder: coder)
        recordType = coder.decodeText(forKey: "recordType")
    }
}
