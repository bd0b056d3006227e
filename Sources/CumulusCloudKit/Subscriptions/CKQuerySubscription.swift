// A subscription to the records that a query finds.

internal import CumulusFoundation
internal import CumulusModel
public import Foundation

/// A subscription to the records of a type that satisfy a predicate.
///
/// If no option fires, the save fails with `invalidArguments`.
public final class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// The changes on which a subscription fires.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The bits as they travel.
        public let rawValue: UInt
        /// Options from their bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// A new record satisfies the predicate.
        public static let firesOnRecordCreation = Options(rawValue: 1 << 0)
        /// A record changed that satisfied the predicate before, or does now.
        public static let firesOnRecordUpdate = Options(rawValue: 1 << 1)
        /// A record is gone that satisfied the predicate.
        public static let firesOnRecordDeletion = Options(rawValue: 1 << 2)
        /// The subscription is deleted when it has fired.
        public static let firesOnce = Options(rawValue: 1 << 3)
    }

    /// The type whose records are watched; never nil.
    public var recordType: CKRecord.RecordType? { type }
    private let type: CKRecord.RecordType
    /// The predicate that records must satisfy.
    public let predicate: NSPredicate
    /// The changes on which it fires.
    public let querySubscriptionOptions: Options
    /// The zone that is watched; nil means all.
    @_Guarded public var zoneID: CKRecordZone.ID? = nil

    /// A subscription to be saved; each change fires unless the options say otherwise.
    public init(
        recordType: CKRecord.RecordType,
        predicate: NSPredicate,
        subscriptionID: CKSubscription.ID,
        options: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        type = recordType
        self.predicate = predicate
        querySubscriptionOptions = options
        super.init(id: subscriptionID)
    }

    /// A subscription with a new random id.
    public convenience init(
        recordType: CKRecord.RecordType,
        predicate: NSPredicate,
        options: Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType,
            predicate: predicate,
            subscriptionID: UUID().uuidString,
            options: options
        )
    }

    override var kind: Subscription.Kind {
        get throws(ServiceError) {
            .query(
                recordType: type,
                predicate: try predicate.queryPredicate(),
                zone: zoneID?.model
            )
        }
    }

    override var fires: Subscription.Options {
        Subscription.Options(
            rawValue: UInt32(truncatingIfNeeded: querySubscriptionOptions.rawValue)
        )
    }

    /// Archives the subscription.
    public override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(type as NSString, forKey: "recordType")
        coder.encode(predicate.archivableFormat as NSString, forKey: "predicate")
        coder.encode(Int64(querySubscriptionOptions.rawValue), forKey: "options")
        if let zoneID { coder.encode(zoneID, forKey: "zoneID") }
    }

    /// A subscription from an archive; nil if a part is missing.
    public required init?(coder: NSCoder) {
        guard let type = coder.decodeText(forKey: "recordType"),
            let format = coder.decodeText(forKey: "predicate")
        else { return nil }
        self.type = type
        predicate = NSPredicate(format: format)
        querySubscriptionOptions = Options(
            rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: "options"))
        )
        super.init(coder: coder)
        zoneID = coder.decode(CKRecordZone.ID.self, forKey: "zoneID")
    }
}
