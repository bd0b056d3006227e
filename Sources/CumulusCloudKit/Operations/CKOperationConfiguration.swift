// How operations are carried out, alone and in groups.
//
// Set by apps, read by `CallSettings`.

public import Foundation

/// How an operation is carried out: `CKOperation.Configuration`.
public final class CKOperationConfiguration: NSObject, NSCopying, @unchecked Sendable {
    /// The container whose private database is used by an operation without a database.
    @_Guarded public var container: CKContainer? = nil
    /// How urgent the operation is.
    @_Guarded public var qualityOfService = QualityOfService.default
    /// Has no effect on this system.
    @_Guarded public var allowsCellularAccess = true
    /// Whether the operation can be found again by its id while it runs.
    @_Guarded public var isLongLived = false
    /// Seconds that a call may take; more than 60 count as 60.
    @_Guarded public var timeoutIntervalForRequest: TimeInterval = 60
    /// Seconds that the operation may take; more than 60 count as 60 for each of its calls.
    @_Guarded public var timeoutIntervalForResource: TimeInterval = 604_800

    /// The standard configuration.
    public override init() {}

    /// Another configuration with the same content.
    public func copy(with zone: NSZone? = nil) -> Any { completed(by: nil) }

    /// A copy in which what is at its default comes from another configuration.
    func completed(by other: CKOperationConfiguration?) -> CKOperationConfiguration {
        let standard = CKOperationConfiguration()
        let other = other ?? standard
        func choose<Value: Equatable>(
            _ path: KeyPath<CKOperationConfiguration, Value>
        ) -> Value {
            self[keyPath: path] == standard[keyPath: path]
                ? other[keyPath: path] : self[keyPath: path]
        }
        let copy = CKOperationConfiguration()
        copy.container = container ?? other.container
        copy.qualityOfService = choose(\.qualityOfService)
        copy.allowsCellularAccess = choose(\.allowsCellularAccess)
        copy.isLongLived = choose(\.isLongLived)
        copy.timeoutIntervalForRequest = choose(\.timeoutIntervalForRequest)
        copy.timeoutIntervalForResource = choose(\.timeoutIntervalForResource)
        return copy
    }
}

/// Operations that do one thing together for the user.
///
/// Its default configuration fills what operations leave at their default; its other properties
/// have no effect here.
public final class CKOperationGroup: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// Roughly how many bytes a group moves.
    public enum TransferSize: Int, Sendable {
        /// The size is not known.
        case unknown = 0
        /// Below a megabyte.
        case kilobytes = 1
        /// Below ten megabytes.
        case megabytes = 2
        /// Below a hundred megabytes.
        case tensOfMegabytes = 3
        /// Below a gigabyte.
        case hundredsOfMegabytes = 4
        /// Below ten gigabytes.
        case gigabytes = 5
        /// Below a hundred gigabytes.
        case tensOfGigabytes = 6
        /// More.
        case hundredsOfGigabytes = 7
    }

    /// Names the group.
    public let operationGroupID: String
    @_Guarded private var ownConfiguration = CKOperation.Configuration()
    /// The purpose of the group, for people.
    @_Guarded public var name: String? = nil
    /// How many items the group moves.
    @_Guarded public var quantity = 0
    /// Roughly how many bytes the group sends.
    @_Guarded public var expectedSendSize = TransferSize.unknown
    /// Roughly how many bytes the group receives.
    @_Guarded public var expectedReceiveSize = TransferSize.unknown

    /// A group without operations.
    public override init() {
        operationGroupID = UUID().uuidString
    }

    private init(id: String) {
        operationGroupID = id
    }

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Fills what the operations' configurations leave at their default.
    ///
    /// The group keeps a copy of what is set; nil sets the standard configuration.
    public var defaultConfiguration: CKOperation.Configuration! {
        get { ownConfiguration }
        set { ownConfiguration = newValue?.completed(by: nil) ?? CKOperation.Configuration() }
    }

    /// The same group with a content of its own.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = CKOperationGroup(id: operationGroupID)
        copy.name = name
        copy.quantity = quantity
        copy.expectedSendSize = expectedSendSize
        copy.expectedReceiveSize = expectedReceiveSize
        copy.defaultConfiguration = defaultConfiguration
        return copy
    }

    // MARK: - Archives

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the group; its configuration is archived without a container.
    public func encode(with coder: NSCoder) {
        coder.encode(operationGroupID as NSString, forKey: "operationGroupID")
        if let name { coder.encode(name as NSString, forKey: "name") }
        coder.encode(Int64(quantity), forKey: "quantity")
        coder.encode(Int64(expectedSendSize.rawValue), forKey: "expectedSendSize")
        coder.encode(Int64(expectedReceiveSize.rawValue), forKey: "expectedReceiveSize")
        ownConfiguration.encode(with: coder)
    }

    /// A group from an archive; nil if the archive holds none.
    public convenience init?(coder: NSCoder) {
        guard let id = coder.decodeText(forKey: "operationGroupID") else { return nil }
        func number(_ key: String) -> Int {
            Int(truncatingIfNeeded: coder.decodeInt64(forKey: key))
        }
        self.init(id: id)
        name = coder.decodeText(forKey: "name")
        quantity = number("quantity")
        expectedSendSize = TransferSize(rawValue: number("expectedSendSize")) ?? .unknown
        expectedReceiveSize = TransferSize(rawValue: number("expectedReceiveSize")) ?? .unknown
        ownConfiguration.decode(from: coder)
    }
}

extension CKOperationConfiguration {
    /// Writes what an archive of a group keeps.
    fileprivate func encode(with coder: NSCoder) {
        coder.encode(Int64(qualityOfService.rawValue), forKey: "qualityOfService")
        coder.encode(allowsCellularAccess, forKey: "allowsCellularAccess")
        coder.encode(isLongLived, forKey: "isLongLived")
        coder.encode(timeoutIntervalForRequest, forKey: "timeoutIntervalForRequest")
        coder.encode(timeoutIntervalForResource, forKey: "timeoutIntervalForResource")
    }

    /// Takes over what an archive of a group keeps.
    fileprivate func decode(from coder: NSCoder) {
        let quality = Int(truncatingIfNeeded: coder.decodeInt64(forKey: "qualityOfService"))
        qualityOfService = QualityOfService(rawValue: quality) ?? .default
        allowsCellularAccess = coder.decodeBool(forKey: "allowsCellularAccess")
        isLongLived = coder.decodeBool(forKey: "isLongLived")
        timeoutIntervalForRequest = coder.decodeDouble(forKey: "timeoutIntervalForRequest")
        timeoutIntervalForResource = coder.decodeDouble(forKey: "timeoutIntervalForResource")
    }
}
