// Converts errors of the client library to CloudKit's errors.
//
// Called wherever an error leaves the client library.

internal import CumulusModel
internal import Foundation

extension CKError {
    /// - Parameter record: The record that was to be saved.
    init(_ error: ServiceError, saving record: CKRecord? = nil) {
        var info: [String: Any] = [NSLocalizedDescriptionKey: error.message]
        // An object of Foundation casts to each type in which apps ask for the seconds.
        info[CKErrorRetryAfterKey] = error.retryAfterMilliseconds.map {
            NSNumber(value: Double($0) / 1_000)
        }
        if error.code == .serverRecordChanged {
            info[CKRecordChangedErrorServerRecordKey] = error.serverRecord.map(CKRecord.object)
            info[CKRecordChangedErrorClientRecordKey] = record
            info[CKRecordChangedErrorAncestorRecordKey] = record?.ancestor.map(CKRecord.object)
        }
        self.init(Code(rawValue: Int(error.code.rawValue)) ?? .internalError, userInfo: info)
    }

    /// The error itself, or one that stands for an error of another type.
    ///
    /// - Parameter record: The record that was to be saved.
    init(any error: any Error, saving record: CKRecord? = nil) {
        switch error {
        case let error as CKError: self = error
        case let error as ServiceError: self.init(error, saving: record)
        case is CancellationError:
            self.init(ServiceError(.operationCancelled, "the call was cancelled"))
        default: self.init(ServiceError(.internalError, "\(error)"))
        }
    }

    /// The error of a call some of whose items failed; nil if none did.
    static func partial(_ errors: [AnyHashable: any Error]) -> CKError? {
        guard !errors.isEmpty else { return nil }
        let message = errors.count == 1 ? "an item failed" : "\(errors.count) items failed"
        return CKError(
            .partialFailure,
            userInfo: [
                NSLocalizedDescriptionKey: message, CKPartialErrorsByItemIDKey: errors,
            ]
        )
    }
}

/// The failures among results, by the names of their items.
func failures<ID: Hashable, Value>(
    _ results: [ID: Result<Value, any Error>]
) -> [AnyHashable: any Error] {
    var errors: [AnyHashable: any Error] = [:]
    for case (let id, .failure(let error)) in results { errors[id] = error }
    return errors
}

extension Result {
    var isSuccess: Bool { if case .success = self { true } else { false } }
}
