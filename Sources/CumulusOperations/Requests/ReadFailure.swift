// Why a read has no answer.
//
// Thrown by all operations that read. The session answers its caller with the error, or repeats the
// read on another thread if the data was only not in memory.

package import CumulusModel
package import CumulusStorage

package enum ReadFailure: Error {
    case service(ServiceError)
    case engine(EngineError)

    package init(_ error: any Error) {
        switch error {
        case let error as ServiceError: self = .service(error)
        case let error as EngineError: self = .engine(error)
        default: self = .engine(.failed("\(error)"))
        }
    }
}
