// Sort descriptors by the name of a field, which Foundation lacks on Linux.
//
// Made by apps written for CloudKit; read by the CloudKit layer when a query is sent.

package import CumulusModel
public import Foundation

/// A sort descriptor that can be made from a key: `NSSortDescriptor`.
public protocol KeyedSortDescriptor {}

extension NSSortDescriptor: KeyedSortDescriptor {}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
    /// Sort by the values of a field, or of a system field such as `creationDate`.
    public init(key: String?, ascending: Bool) {
        guard let result = KeySortDescriptor(key: key, ascending: ascending) as? Self else {
            preconditionFailure("\(Self.self) can't be made from a key and a direction")
        }
        self = result
    }

    /// The name of the field; nil if the descriptor was made from a key path of Swift.
    ///
    /// It is a member of the protocol, not of the class. Foundation has a `key` of the class,
    /// and Swift 6.3 can't optimise a file that uses a subclass of ours beside two of them:
    /// "cross-reference to NSSortDescriptor.key is ambiguous".
    public var key: String? { (self as? KeySortDescriptor)?.name }
}

extension NSSortDescriptor {
    /// The descriptor as a query carries it.
    ///
    /// - Throws: `invalidArguments`, with a sentence on what isn't supported.
    package func querySortDescriptor() throws(ServiceError) -> Query.SortDescriptor {
        guard let descriptor = self as? KeySortDescriptor, let key = descriptor.name else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a query is sorted by a field's name; use NSSortDescriptor(key:ascending:)"
            )
        }
        guard Query.Predicate.isKey(key) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                '\(key)' in a sort descriptor is no field's name, which is a letter, then \
                letters, digits and _
                """
            )
        }
        var result = Query.SortDescriptor(key: key, ascending: ascending)
        result.relativeLocation = descriptor.origin?.location
        return result
    }
}

/// The class of the results of `NSSortDescriptor(key:ascending:)`.
open class KeySortDescriptor: NSSortDescriptor {
    fileprivate let name: String?
    /// Where distances are measured from; nil if the values themselves are compared.
    package let origin: CLLocation?

    /// Sort by the values of a field.
    public init(key: String?, ascending: Bool) {
        name = key
        origin = nil
        super.init(keyPath: \NSObject.description, ascending: ascending)
    }

    /// Sort by the distance of a LOCATION field from a place.
    package init(key: String, ascending: Bool = true, origin: CLLocation) {
        name = key
        self.origin = origin
        super.init(keyPath: \NSObject.description, ascending: ascending)
    }

    /// Traps: objects on Linux have no values by name.
    open override func compare(_ object1: Any, to object2: Any) -> ComparisonResult {
        fatalError(
            "NSSortDescriptor(key:ascending:) can't compare on Linux; sort with a closure"
        )
    }

    /// The same key in the other direction.
    open override var reversedSortDescriptor: Any {
        guard let name, let origin else {
            return KeySortDescriptor(key: name, ascending: !ascending)
        }
        return KeySortDescriptor(key: name, ascending: !ascending, origin: origin)
    }

    /// The key and the direction.
    open override var description: String {
        "(\(name ?? "nil"), \(ascending ? "ascending" : "descending"))"
    }

    /// Whether the other sorts by the same field, in the same direction, from the same place.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? KeySortDescriptor else { return false }
        return name == other.name && ascending == other.ascending
            && origin?.location == other.origin?.location
    }

    /// Equal for equal descriptors.
    open override var hash: Int { name.hashValue }
}
