// Applies the budget of a caller to its calls on one connection.
//
// Called by `OpenCalls` when a call begins, changes or ends, and by uploads. A caller's uploads are
// not refused in their midst: they get credit no faster than their bytes may come. hot: twice per
// call.

import CumulusModel
import CumulusWire

extension OpenCalls {
    /// Why the caller's budget has no room for a call now; nil means it has paid.
    func budgetRefusal(ofBytes byteCount: Int, now: Instant) -> ServiceError? {
        budget?.begin(byteCount: byteCount, now: now)
    }

    /// The call is over, or goes on as a stream that is followed: then streams are what is bounded,
    /// by half of `streamsPerConnection` on each connection.
    func leaveBudget(_ call: OpenCall) {
        guard call.isInBudget else { return }
        call.isInBudget = false
        budget?.end()
    }

    /// The connection has ended.
    func closeBudget() {
        guard let budget else { return }
        budget.end(inOrder { $0.isInBudget }.count)
        CallerBudgets.leave(budget)
        self.budget = nil
        withheldCredit = [:]
    }

    /// How much the caller's saves may add to an environment's schema; nil means up to the schema's
    /// own limits.
    func schemaAllowance(in scope: ScopeID) -> CallerAllowance? {
        budget.map { CallerAllowance(budget: $0, scope: scope, now: node.environment.now) }
    }

    // MARK: Uploads

    /// Lets a caller send that many more bytes, once the bytes it has sent are within its budget.
    func sendCredit(_ byteCount: Int, on stream: UInt32) {
        guard debt > 0 else { return frames.sendCredit(byteCount, on: stream) }
        withheldCredit[stream, default: 0] += byteCount
    }

    /// The time at which withheld credit is looked at again.
    var creditTime: Instant {
        withheldCredit.isEmpty ? .distant : node.environment.now() + max(1, debt)
    }

    /// Sends the credit that was withheld, if the bytes are within the budget by now.
    func sendWithheldCredit() {
        guard !withheldCredit.isEmpty, debt == 0 else { return }
        for (stream, byteCount) in withheldCredit.sorted(by: { $0.key < $1.key })
        where self[stream] != nil {
            frames.sendCredit(byteCount, on: stream)
        }
        withheldCredit = [:]
    }

    /// Milliseconds until the caller's bytes are within its budget.
    private var debt: Int64 { budget?.debt(now: node.environment.now()) ?? 0 }
}
