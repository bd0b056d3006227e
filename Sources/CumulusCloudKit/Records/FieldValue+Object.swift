// From the values of fields to the objects that apps get.
//
// Called by `CKRecord` and by notifications; `FieldValue(foundation:)` goes the other way.

internal import CumulusFoundation
internal import CumulusModel
internal import Foundation

extension FieldValue {
    /// The object for the value of a field, whose record is in that zone.
    ///
    /// An object of Foundation, because only these cast to each type of Swift that can hold
    /// their value: an `Int` in an `Any` casts neither to `Int64` nor to `Double`.
    func object(in zone: RecordZone.ID) -> any CKRecordValueProtocol {
        switch self {
        case .string(let text): NSString(string: text)
        case .int64(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .timestamp(let moment): Date(moment) as NSDate
        case .bytes(let bytes): Data(bytes) as NSData
        case .location(let place): CLLocation(place)
        case .reference(let reference): CKReference(reference, in: zone)
        case .asset(let asset): CKAsset(asset)
        case .list(let elements): NSArray(array: elements.map { $0.object(in: zone) })
        }
    }
}
