// What is counted of a call when it ends.
//
// Called by `OpenCalls`. hot: once per call.

import CumulusModel
import CumulusWire

extension OpenCalls {
    /// Counts a call that ends.
    ///
    /// - Parameter code: nil means that the call was answered.
    func count(_ call: OpenCall, _ code: ServiceError.Code?) {
        if call.isFollowed { node.meter.followers.add(-1) }
        // The caller decides how long a stream without an end goes on.
        let time = call.isEndless ? nil : node.environment.nanoseconds() - call.start
        node.meter.endedCalls.note(call.method, code, nanoseconds: time)
    }
}
