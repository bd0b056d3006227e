// Counts and logs a call when it ends.
//
// Called by `OpenCalls`. A call whose caller named a trace gets a line however it ends, others only
// if they are refused. hot: once per call.

import CumulusModel
import CumulusWire
import Logging

extension OpenCalls {
    /// Counts a call that ends.
    ///
    /// - Parameter code: nil means that the call was answered.
    func count(_ call: OpenCall, _ code: ServiceError.Code?) {
        if call.isFollowed { node.meter.followers.add(-1) }
        // The caller decides how long a stream without an end goes on.
        let time = call.isEndless ? nil : node.environment.nanoseconds() - call.start
        node.meter.endedCalls.note(call.method, code, nanoseconds: time)
        guard code == nil, call.trace != nil, node.environment.logger.logLevel <= .debug else {
            return
        }
        var metadata = metadata(of: call)
        if let time { metadata["microseconds"] = "\(time / 1_000)" }
        node.environment.logger.debug("a call is answered", metadata: metadata)
    }

    /// Says that a call is refused.
    func log(_ call: OpenCall, _ error: ServiceError) {
        let logger = node.environment.logger
        guard logger.logLevel <= .debug else { return }
        var metadata = metadata(of: call)
        metadata["code"] = "\(error.code)"
        metadata["reason"] = "\(error.reason)"
        logger.debug("a call is refused", metadata: metadata)
    }

    private func metadata(of call: OpenCall) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "method": "\(call.method.map { "\($0)" } ?? "unknown")",
            "request": "\(call.requestID.hex)",
        ]
        if let trace = call.trace { metadata["trace-id"] = "\(trace.traceID)" }
        return metadata
    }
}
