// The values that fields take and give, and how a record's fields are read and set.
//
// `CKRecord` and its encrypted fields conform to `CKRecordKeyValueSetting`.

public import CumulusFoundation
public import Foundation

/// A value that a field can hold.
///
/// A field that is read gives an object, such as `NSNumber` or `NSString`, which casts to the
/// types of Swift. One that is set takes either.
public protocol CKRecordValueProtocol {}

/// The name that apps cast values to.
public typealias CKRecordValue = CKRecordValueProtocol
/// The name that Swift gives to the protocol of Objective-C.
public typealias __CKRecordObjCValue = CKRecordValueProtocol

extension String: CKRecordValueProtocol {}
extension Int: CKRecordValueProtocol {}
extension Int8: CKRecordValueProtocol {}
extension Int16: CKRecordValueProtocol {}
extension Int32: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension UInt: CKRecordValueProtocol {}
extension UInt8: CKRecordValueProtocol {}
extension UInt16: CKRecordValueProtocol {}
extension UInt32: CKRecordValueProtocol {}
extension UInt64: CKRecordValueProtocol {}
extension Bool: CKRecordValueProtocol {}
extension Float: CKRecordValueProtocol {}
extension Double: CKRecordValueProtocol {}
extension Date: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}
extension Array: CKRecordValueProtocol where Element: CKRecordValueProtocol {}
extension NSString: CKRecordValueProtocol {}
extension NSNumber: CKRecordValueProtocol {}
extension NSDate: CKRecordValueProtocol {}
extension NSData: CKRecordValueProtocol {}
extension NSArray: CKRecordValueProtocol {}
extension CLLocation: CKRecordValueProtocol {}
extension CKReference: CKRecordValueProtocol {}
extension CKAsset: CKRecordValueProtocol {}

/// Fields that are read and set by name.
public protocol CKRecordKeyValueSetting: AnyObject {
    /// The value of a field; nil if it has no value.
    ///
    /// Setting nil removes the field with the next save.
    subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? { get set }

    /// Names of the fields that have a value, sorted.
    func allKeys() -> [CKRecord.FieldKey]

    /// Names of the fields that were set since the record was fetched or saved, sorted.
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value of a field as a type of Swift; nil if it has no value or one of another type.
    public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
        get { object(forKey: key) as? Value }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field; nil if it has no value.
    public func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        let value: (any CKRecordValueProtocol)? = self[key]
        return value
    }

    /// Sets a field; nil removes it with the next save.
    public func setObject(
        _ object: (any CKRecordValueProtocol)?,
        forKey key: CKRecord.FieldKey
    ) {
        self[key] = object
    }
}

/// The fields of a record, one after the other.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private let fields: any CKRecordKeyValueSetting
    private var keys: ArraySlice<CKRecord.FieldKey>

    init(_ fields: any CKRecordKeyValueSetting) {
        self.fields = fields
        keys = fields.allKeys()[...]
    }

    /// The next field that still has a value.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? {
        while let key = keys.popFirst() {
            if let value = fields.object(forKey: key) { return (key, value) }
        }
        return nil
    }
}
