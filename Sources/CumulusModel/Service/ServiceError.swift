// The one error that a client sees: CloudKit's error number, a reason for machines, and a sentence
// that says what to do.
//
// Made by operations and the node, carried by STATUS frames and item results, thrown by the client.
//
// Folder: what every part of the server shares: its errors, its limits, its version. Read
// `ServiceError`, then `Limits`.

/// An error of a call, or of one item of a call.
public struct ServiceError: Error, Sendable {
    /// CloudKit's error numbers (`CKError.Code`).
    public enum Code: UInt32, CaseIterable, Sendable {
        /// The node failed; its log says why.
        case internalError = 1
        /// CloudKit's; here each item has a result of its own.
        case partialFailure = 2
        /// CloudKit's; see `networkFailure`.
        case networkUnavailable = 3
        /// No node could be reached, or none could be trusted.
        case networkFailure = 4
        /// The node has no such container.
        case badContainer = 5
        /// The node can't do it now; try again, or another node.
        case serviceUnavailable = 6
        /// Too much at a time: wait, then send it again.
        case requestRateLimited = 7
        /// CloudKit's; nodes don't send it.
        case missingEntitlement = 8
        /// It needs a user, and the caller has no token, or one that is not known.
        case notAuthenticated = 9
        /// The caller may not do that.
        case permissionFailure = 10
        /// There is no such record.
        case unknownItem = 11
        /// The request can't be carried out as it is; the message says what is wrong with it.
        case invalidArguments = 12
        /// The record changed on the server since it was fetched; `serverRecord` is its present
        /// state.
        case serverRecordChanged = 14
        /// An equal subscription has another id; or another node carried the request out without
        /// this item: send it in a new one.
        case serverRejectedRequest = 15
        /// The file of an asset that is to be saved can't be read.
        case assetFileNotFound = 16
        /// The file of an asset changed while it was uploaded; save again.
        case assetFileModified = 17
        /// Client and server, or two nodes, don't understand each other: run releases that do.
        case incompatibleVersion = 18
        /// CloudKit's; nodes don't send it.
        case constraintViolation = 19
        /// The caller cancelled the call, or closed the container.
        case operationCancelled = 20
        /// The token, or cursor, leads nowhere any more: begin without it.
        case changeTokenExpired = 21
        /// Another item of an atomic batch failed, so this one was not done.
        case batchRequestFailed = 22
        /// The zone is being changed as a whole; try again in a moment.
        case zoneBusy = 23
        /// The operation can't be done in this database.
        case badDatabase = 24
        /// The assets of a user would take more bytes than a user has.
        case quotaExceeded = 25
        /// There is no such zone.
        case zoneNotFound = 26
        /// Too many items, or too large: send it in parts.
        case limitExceeded = 27
        /// CloudKit's; nodes don't send it.
        case userDeletedZone = 28
        /// A share would have more participants than the limit.
        case tooManyParticipants = 29
        /// The record, one above or below it, or its zone is shared already; or a record of the
        /// zone.
        case alreadyShared = 30
        /// A reference names a record that is not there.
        case referenceViolation = 31
        /// CloudKit's; nodes don't send it.
        case managedAccountRestricted = 32
        /// CloudKit's; nodes don't send it.
        ///
        /// Whether somebody else is invited by a handle, and who has it, is not told.
        case participantMayNeedVerification = 33
        /// A change was sent, but its outcome is unknown: fetch the records to see.
        case serverResponseLost = 34
        /// The content of an asset is not here, or not all of it.
        case assetNotAvailable = 35
        /// CloudKit's; nodes don't send it.
        case accountTemporarilyUnavailable = 36
        /// The user wants to join a share by its URL alone but is already invited to it.
        case participantAlreadyInvited = 37
    }

    /// Why, where one code has several causes.
    ///
    /// Numbers as in `connection.proto`.
    public enum Reason: UInt32, CaseIterable, Sendable {
        /// The code says it all.
        case none = 0
        /// The other side doesn't speak the protocol as it is fixed.
        case protocolError = 1
        /// The call's time was up.
        case deadline = 2
        /// The node is shutting down.
        case draining = 3
        /// The node hasn't got data yet that the caller saw elsewhere.
        case nodeBehind = 4
        /// The node, or the connection, has too much to do.
        case overloaded = 5
        /// The node's disk is nearly full; with `internalError`, this machine's disk is full.
        case diskFull = 6
        /// Stored data can't be read.
        case corrupt = 7
        /// The request's id is too old, or too far ahead of the node's clock.
        case requestIDExpired = 8
        /// The id was used for another request.
        case requestIDReused = 9
        /// Another item of the zone failed.
        case atomicFailure = 10
        /// A record of that name is there already.
        case recordExists = 11
        /// The record's change tag is not the server's.
        case changeTagMismatch = 12
        /// A name that is too long, or of a form that is not allowed.
        case invalidName = 13
        /// A value that is out of range, or not allowed there.
        case invalidValue = 14
        /// The field, or the record, has another type.
        case wrongType = 15
        /// More bytes than the limit.
        case tooLarge = 16
        /// More items than the limit.
        case tooManyItems = 17
        /// More references to one record that delete along with it than the limit.
        case tooManyOwners = 18
        /// A node's log doesn't reach back to where a peer wants to read on.
        case logTruncated = 19
        /// A change is made, and not known to be on as many other nodes as its caller wanted.
        case notReplicated = 20
        /// A node's clock is too far from the others'.
        case clockWrong = 21
        /// Another process is alive that has the same node id.
        case nodeIDInUse = 22
        /// Chunks of an asset are not here.
        case assetIncomplete = 23
        /// A chunk that no prepared asset of the database contains.
        case assetNotPrepared = 24
    }

    /// CloudKit's error number.
    public var code: Code
    /// The cause, where the code alone does not say it.
    public var reason: Reason
    /// A message that says what happened and what to do about it.
    public var message: String
    /// How long to wait before trying again, in milliseconds; nil where the server has no advice.
    public var retryAfterMilliseconds: UInt32?
    /// For `serverRecordChanged`: the record as the server holds it.
    public var serverRecord: Record? {
        get { boxedRecord?.record }
        set { boxedRecord = newValue.map(Box.init) }
    }

    /// Elsewhere: nearly no error has one, and every result would be as large as a record.
    private var boxedRecord: Box?

    private final class Box: Sendable {
        let record: Record

        init(_ record: Record) {
            self.record = record
        }
    }

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
