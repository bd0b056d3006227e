// CloudKit's error numbers.
//
// The numbers of `ServiceError.Code` are the same.

public import Foundation

extension CKError {
    /// The kind of an error.
    public enum Code: Int, CaseIterable, Sendable {
        /// The node failed; its log says why.
        case internalError = 1
        /// Some items failed; `partialErrorsByItemID` has the error of each.
        case partialFailure = 2
        /// There is no network.
        case networkUnavailable = 3
        /// No node could be reached.
        case networkFailure = 4
        /// The node has no such container.
        case badContainer = 5
        /// The node can't do it now: try again after `retryAfterSeconds`.
        case serviceUnavailable = 6
        /// Too much at a time: try again after `retryAfterSeconds`.
        case requestRateLimited = 7
        /// The app does not say which container it uses.
        case missingEntitlement = 8
        /// No user is signed in.
        case notAuthenticated = 9
        /// The user may not do that.
        case permissionFailure = 10
        /// There is no such record.
        case unknownItem = 11
        /// The request can't be carried out as it is.
        case invalidArguments = 12
        /// Never returned.
        case resultsTruncated = 13
        /// The record changed on the server since it was fetched: merge into `serverRecord`.
        case serverRecordChanged = 14
        /// The server refused the request.
        case serverRejectedRequest = 15
        /// The file of an asset that is to be saved can't be read.
        case assetFileNotFound = 16
        /// The file of an asset changed while it was uploaded.
        case assetFileModified = 17
        /// Client and server don't understand each other.
        case incompatibleVersion = 18
        /// CloudKit's; nodes don't send it.
        case constraintViolation = 19
        /// The app cancelled the operation.
        case operationCancelled = 20
        /// The token leads nowhere any more: begin without it.
        case changeTokenExpired = 21
        /// Another item of an atomic batch failed, so this one was not done.
        case batchRequestFailed = 22
        /// The zone is being changed as a whole.
        case zoneBusy = 23
        /// The operation can't be done in this database.
        case badDatabase = 24
        /// The user's assets would take too many bytes.
        case quotaExceeded = 25
        /// There is no such zone.
        case zoneNotFound = 26
        /// Too many items, or too large.
        case limitExceeded = 27
        /// The user removed the app's data.
        case userDeletedZone = 28
        /// A share has too many participants.
        case tooManyParticipants = 29
        /// The record is in another share, or a record of the zone is.
        case alreadyShared = 30
        /// A reference names a record that is not there.
        case referenceViolation = 31
        /// CloudKit's; nodes don't send it.
        case managedAccountRestricted = 32
        /// CloudKit's; nodes don't send it: `permissionFailure` says so, too.
        case participantMayNeedVerification = 33
        /// A change was sent, and its outcome is not known: fetch the records to see.
        case serverResponseLost = 34
        /// The content of an asset is not there.
        case assetNotAvailable = 35
        /// The account can't be used now.
        case accountTemporarilyUnavailable = 36
        /// The participant was invited before.
        case participantAlreadyInvited = 37
    }
}

extension CKError.Code: _ErrorCodeProtocol {
    /// The error of these codes.
    public typealias _ErrorType = CKError
}

// The code under the name of the error itself, as in `catch CKError.unknownItem`.
extension CKError {
    /// See `Code`.
    public static var internalError: Code { .internalError }
    /// See `Code`.
    public static var partialFailure: Code { .partialFailure }
    /// See `Code`.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// See `Code`.
    public static var networkFailure: Code { .networkFailure }
    /// See `Code`.
    public static var badContainer: Code { .badContainer }
    /// See `Code`.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// See `Code`.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// See `Code`.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// See `Code`.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// See `Code`.
    public static var permissionFailure: Code { .permissionFailure }
    /// See `Code`.
    public static var unknownItem: Code { .unknownItem }
    /// See `Code`.
    public static var invalidArguments: Code { .invalidArguments }
    /// See `Code`.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// See `Code`.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// See `Code`.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// See `Code`.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// See `Code`.
    public static var assetFileModified: Code { .assetFileModified }
    /// See `Code`.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// See `Code`.
    public static var constraintViolation: Code { .constraintViolation }
    /// See `Code`.
    public static var operationCancelled: Code { .operationCancelled }
    /// See `Code`.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// See `Code`.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// See `Code`.
    public static var zoneBusy: Code { .zoneBusy }
    /// See `Code`.
    public static var badDatabase: Code { .badDatabase }
    /// See `Code`.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// See `Code`.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// See `Code`.
    public static var limitExceeded: Code { .limitExceeded }
    /// See `Code`.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// See `Code`.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// See `Code`.
    public static var alreadyShared: Code { .alreadyShared }
    /// See `Code`.
    public static var referenceViolation: Code { .referenceViolation }
    /// See `Code`.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// See `Code`.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// See `Code`.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// See `Code`.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// See `Code`.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// See `Code`.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
