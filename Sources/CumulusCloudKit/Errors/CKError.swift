// The error that everything of CloudKit's surface throws and hands over.
//
// Made of the client library's `ServiceError`s by `CKError+Service`.
//
// Folder: errors. Read `CKError`, then `CKErrorCode` and `CKError+Service`.
//
// swift-format-ignore-file: AlwaysUseLowerCamelCase

internal import CumulusModel
public import Foundation

/// The domain of `CKError` as an `NSError`.
public let CKErrorDomain = "CKErrorDomain"
/// Key of the errors of single items, by their names.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// Key of the record as it was fetched, of `serverRecordChanged`.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// Key of the record as the server holds it, of `serverRecordChanged`.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// Key of the record that was to be saved, of `serverRecordChanged`.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// Key of the seconds to wait before trying again.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// Key that says, of `zoneNotFound`, that the user's keys were reset.
public let CKErrorUserDidResetEncryptedDataKey = "CKErrorUserDidResetEncryptedDataKey"

/// An error of a call, or of one item of a call.
///
/// It is an `NSError` of the domain `CKErrorDomain` wherever one is asked for.
public struct CKError: _BridgedStoredNSError {
    /// The error as an object.
    public let _nsError: NSError

    /// An error of that object.
    public init(_nsError error: NSError) {
        _nsError = error
    }

    /// The domain of these errors.
    public static var errorDomain: String { CKErrorDomain }
    /// The domain of these errors.
    public static var _nsErrorDomain: String { CKErrorDomain }

    /// The errors of single items, of a `partialFailure`: by record ID, zone ID or subscription
    /// ID.
    ///
    /// Items that succeeded are not in it.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Seconds to wait before trying again; nil if the server gave no advice.
    public var retryAfterSeconds: Double? { userInfo[CKErrorRetryAfterKey] as? Double }

    /// The record as it was fetched; nil if the app made it.
    public var ancestorRecord: CKRecord? {
        userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord
    }

    /// The record that was to be saved, of `serverRecordChanged`.
    public var clientRecord: CKRecord? {
        userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord
    }

    /// The record as the server holds it, of `serverRecordChanged`: merge into it and save it.
    ///
    /// Its assets are not downloaded.
    public var serverRecord: CKRecord? {
        userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
    }
}
