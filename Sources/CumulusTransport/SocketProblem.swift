// Why a connection or a listener could not be made, in the system's own words.
//
// Thrown by the dialer and the listener; people see it in one line.

import CumulusSystem
import NIOCore

package struct SocketProblem: Error, CustomStringConvertible {
    package let description: String

    package init(_ error: any Error) {
        if let error = error as? IOError {
            description = String(cString: strerror(error.errnoCode))
        } else {
            description = "\(error)"
        }
    }
}
