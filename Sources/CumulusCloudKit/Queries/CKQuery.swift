// A question about the records of one type.
//
// Folder: queries and where they go on. Read `CKQuery`, then `CKQueryCursor`.

public import CumulusFoundation
internal import CumulusModel
public import Foundation
internal import Synchronization

/// A question about the records of one type.
///
/// A predicate or a sort descriptor that is not supported fails the query with
/// `invalidArguments` when it runs; the message says what to use instead.
public final class CKQuery: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// The type whose records are searched.
    public let recordType: CKRecord.RecordType
    /// The predicate that records must satisfy.
    public let predicate: NSPredicate
    private let order: Mutex<Order>

    /// Sort descriptors never change; only Foundation doesn't say so.
    private struct Order: @unchecked Sendable {
        var descriptors: [NSSortDescriptor]?
    }

    /// A question about the records of a type that satisfy a predicate.
    public init(recordType: CKRecord.RecordType, predicate: NSPredicate) {
        self.recordType = recordType
        self.predicate = predicate
        order = Mutex(Order())
    }

    /// The wanted order, the most important key first; nil leaves the order to the server.
    public var sortDescriptors: [NSSortDescriptor]? {
        get { order.withLock { $0 }.descriptors }
        set {
            let next = Order(descriptors: newValue)
            order.withLock { $0 = next }
        }
    }

    /// The query as the client library takes it.
    func model() throws(ServiceError) -> Query {
        Query(
            recordType: recordType,
            predicate: try predicate.queryPredicate(),
            sortDescriptors: try (sortDescriptors ?? []).map { key throws(ServiceError) in
                try key.querySortDescriptor()
            }
        )
    }

    /// Type and predicate, for people.
    public override var description: String {
        "<CKQuery: recordType=\(recordType), predicate=\(predicate.archivableFormat)>"
    }

    /// Another query with the same content.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKQuery(recordType: recordType, predicate: predicate)
        copy.sortDescriptors = sortDescriptors
        return copy
    }

    // MARK: - Archives

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives type, predicate and order; places in the order are left out.
    public func encode(with coder: NSCoder) {
        coder.encode(recordType as NSString, forKey: "recordType")
        coder.encode(predicate.archivableFormat as NSString, forKey: "predicate")
        let keys = (sortDescriptors ?? []).compactMap(\.key)
        coder.encode(NSArray(array: keys), forKey: "keys")
        let directions = (sortDescriptors ?? []).map { NSNumber(value: $0.ascending) }
        coder.encode(NSArray(array: directions), forKey: "ascending")
    }

    /// A query from an archive; nil if a part is missing.
    public convenience init?(coder: NSCoder) {
        guard let recordType = coder.decodeText(forKey: "recordType"),
            let format = coder.decodeText(forKey: "predicate")
        else { return nil }
        self.init(recordType: recordType, predicate: NSPredicate(format: format))
        let keys = coder.decode([NSArray.self, NSString.self], forKey: "keys")
        let directions = coder.decode(
            [NSArray.self, NSNumber.self],
            forKey: "ascending"
        )
        guard let keys = keys as? [String], let directions = directions as? [Bool],
            !keys.isEmpty
        else { return }
        sortDescriptors = zip(keys, directions).map { NSSortDescriptor(key: $0, ascending: $1) }
    }
}

/// Sort by the distance of a LOCATION field from a place, the nearest first.
public final class CKLocationSortDescriptor: KeySortDescriptor {
    /// The place from which distances are measured.
    public let relativeLocation: CLLocation

    /// Sort by the distance of a field from a place.
    public init(key: String, relativeLocation: CLLocation) {
        self.relativeLocation = relativeLocation
        super.init(key: key, origin: relativeLocation)
    }

    /// Sort descriptors are not archived on Linux.
    public required init?(coder: NSCoder) { nil }
}
