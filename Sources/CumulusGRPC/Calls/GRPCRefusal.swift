// Errors as gRPC has them: its own status by a table, and ours, with code and reason, in a trailer.
//
// Made by `GRPCDoor` when a call fails as a whole. `proto/grpc.md` has the same table, and a test
// compares them.

import CumulusModel
import CumulusWire
import GRPCCore

enum GRPCRefusal {
    /// gRPC's code for an error.
    static func code(of error: ServiceError) -> RPCError.Code {
        code(ofReason: error.reason) ?? code(of: error.code)
    }

    /// The reasons that say more than their code.
    static func code(ofReason reason: ServiceError.Reason) -> RPCError.Code? {
        switch reason {
        case .deadline, .notReplicated: .deadlineExceeded
        case .corrupt: .dataLoss
        case .recordExists: .alreadyExists
        case .assetIncomplete: .unavailable
        case .assetNotPrepared: .failedPrecondition
        case .none, .protocolError, .draining, .nodeBehind, .overloaded, .diskFull,
            .requestIDExpired, .requestIDReused, .atomicFailure, .changeTagMismatch, .invalidName,
            .invalidValue, .wrongType, .tooLarge, .tooManyItems, .tooManyOwners, .logTruncated,
            .clockWrong, .nodeIDInUse:
            nil
        }
    }

    static func code(of code: ServiceError.Code) -> RPCError.Code {
        switch code {
        case .internalError: .internalError
        case .serviceUnavailable, .zoneBusy, .networkUnavailable, .networkFailure,
            .accountTemporarilyUnavailable:
            .unavailable
        case .requestRateLimited, .quotaExceeded: .resourceExhausted
        case .notAuthenticated: .unauthenticated
        case .permissionFailure, .missingEntitlement, .managedAccountRestricted,
            .participantMayNeedVerification:
            .permissionDenied
        case .badContainer, .unknownItem, .zoneNotFound, .userDeletedZone, .assetNotAvailable,
            .assetFileNotFound:
            .notFound
        case .invalidArguments, .badDatabase, .limitExceeded, .tooManyParticipants:
            .invalidArgument
        case .serverRecordChanged, .batchRequestFailed, .assetFileModified: .aborted
        case .serverRejectedRequest, .incompatibleVersion, .constraintViolation,
            .referenceViolation:
            .failedPrecondition
        case .alreadyShared, .participantAlreadyInvited: .alreadyExists
        case .operationCancelled: .cancelled
        // As of a log that doesn't reach back as far any more.
        case .changeTokenExpired: .outOfRange
        case .partialFailure, .serverResponseLost: .unknown
        }
    }

    /// What a caller gets.
    ///
    /// - Parameter trailers: What else the trailers say.
    static func error(_ error: ServiceError, _ trailers: Metadata = [:]) -> RPCError {
        var trailers = trailers
        trailers.addBinary(error.encoded(), forKey: GRPCHead.Key.status)
        if let pause = error.retryAfterMilliseconds {
            trailers.addString("\(pause)", forKey: GRPCHead.Key.pushback)
        }
        return RPCError(code: code(of: error), message: error.message, metadata: trailers)
    }
}
