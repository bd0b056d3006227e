// The one error that a client sees: CloudKit's error number, a reason for machines, and a sentence
// that says what to do.
//
// Made by operations and the node, carried by STATUS frames and item results, thrown by the client.

/// An error of a call, or of one item of a call.
public struct ServiceError: Error, Sendable {
    /// CloudKit's error numbers (`CKError.Code`).
    public enum Code: UInt32, CaseIterable, Sendable {
        case internalError = 1
        case partialFailure = 2
        case networkUnavailable = 3
        case networkFailure = 4
        case badContainer = 5
        case serviceUnavailable = 6
        case requestRateLimited = 7
        case missingEntitlement = 8
        case notAuthenticated = 9
        case permissionFailure = 10
        case unknownItem = 11
        case invalidArguments = 12
        case serverRecordChanged = 14
        case serverRejectedRequest = 15
        case assetFileNotFound = 16
        case assetFileModified = 17
        case incompatibleVersion = 18
        case constraintViolation = 19
        case operationCancelled = 20
        case changeTokenExpired = 21
        case batchRequestFailed = 22
        case zoneBusy = 23
        case badDatabase = 24
        case quotaExceeded = 25
        case zoneNotFound = 26
        case limitExceeded = 27
        case userDeletedZone = 28
        case tooManyParticipants = 29
        case alreadyShared = 30
        case referenceViolation = 31
        case managedAccountRestricted = 32
        case participantMayNeedVerification = 33
        case serverResponseLost = 34
        case assetNotAvailable = 35
        case accountTemporarilyUnavailable = 36
        case participantAlreadyInvited = 37
    }

    /// Why, where one code has several causes.
    ///
    /// Numbers as in `connection.proto`.
    public enum Reason: UInt32, CaseIterable, Sendable {
        case none = 0
        case protocolError = 1
        case deadline = 2
        case draining = 3
        case nodeBehind = 4
        case overloaded = 5
        case diskFull = 6
        case corrupt = 7
        case requestIDExpired = 8
        case requestIDReused = 9
        case atomicFailure = 10
        case recordExists = 11
        case changeTagMismatch = 12
        case invalidName = 13
        case invalidValue = 14
        case wrongType = 15
        case tooLarge = 16
        case tooManyItems = 17
        case tooManyOwners = 18
        /// A node's log doesn't reach back to where a peer wants to read on.
        case logTruncated = 19
        /// A change is made, and not known to be on as many other nodes as its caller wanted.
        case notReplicated = 20
        /// A node's clock is too far from the others'.
        case clockWrong = 21
    }

    /// CloudKit's error number.
    public var code: Code
    /// The cause, where the code alone does not say it.
    public var reason: Reason
    /// What happened and what to do about it.
    public var message: String
    /// How long to wait before trying again, in milliseconds; nil where the server has no advice.
    public var retryAfterMilliseconds: UInt32?
    /// With `serverRecordChanged`: the record as the server holds it.
    public var serverRecord: Record?

    /// An error with a cause that machines can tell.
    public init(_ code: Code, _ reason: Reason, _ message: String) {
        self.code = code
        self.reason = reason
        self.message = message
    }

    /// An error whose code says it all.
    public init(_ code: Code, _ message: String) {
        self.init(code, .none, message)
    }
}

extension ServiceError: CustomStringConvertible {
    /// The message with code and reason, as logs and command lines show it.
    public var description: String {
        let cause = reason == .none ? "" : ", \(reason)"
        return "\(message) (\(code) \(code.rawValue)\(cause))"
    }
}
