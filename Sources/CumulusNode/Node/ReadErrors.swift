// Turns a failed read into the caller's error; damage is also logged.
//
// Called by everything that reads the store for a call, from any thread.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Logging

extension Node {
    /// The error that a caller gets for what a read threw.
    func serviceError(_ error: any Error) -> ServiceError {
        switch error {
        case let error as ServiceError: return error
        case ReadFailure.service(let error): return error
        case ReadFailure.engine(let error): return serviceError(error)
        case EngineError.corrupt(let what):
            reportDamage(what)
            return .damagedRow
        case EngineError.unavailable(let what):
            environment.logger.warning("the store can't be read now", metadata: ["why": "\(what)"])
            return .storeAway
        default:
            environment.logger.error("a read failed", metadata: ["error": "\(error)"])
            return ServiceError(.internalError, "the node could not read its store")
        }
    }

    /// Counts a damaged row and logs it.
    func reportDamage(_ what: String) {
        meter.damagedRows.add(1)
        environment.logger.error("a damaged row was found", metadata: ["row": "\(what)"])
    }
}
