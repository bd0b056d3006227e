// Counts the work of a query, and says when to stop: the caller is gone, or other queries' turn has
// come.
//
// Everything that evaluates a query counts: records, comparisons, elements of lists, bytes of
// texts. One record can hold a list of a million elements, so a check between records is not
// enough.

package import CumulusModel

package struct QueryEffort: Sendable {
    /// Steps since the last check whether the caller still waits.
    private var steps = 0
    private var total = 0
    private var turn = 0
    private let limit: Int
    private let turnSteps: Int
    /// Steps between two checks.
    private let stride: Int
    private let refusal: @Sendable () -> ServiceError?
    /// Steps of a few milliseconds.
    private static let longestStride = 20_000
    /// Steps of some ten milliseconds.
    package static let turnSteps = 60_000

    /// - Parameters:
    ///   - limit: Steps that the query may take.
    ///   - turnSteps: Steps of a turn on a reader thread.
    ///   - refusal: Returns the reason to stop; nil to continue.
    package init(
        limit: Int = .max,
        turnSteps: Int = QueryEffort.turnSteps,
        refusal: @escaping @Sendable () -> ServiceError?
    ) {
        self.limit = limit
        self.turnSteps = turnSteps
        stride = max(1, min(QueryEffort.longestStride, turnSteps, limit))
        self.refusal = refusal
    }

    /// Throws if the caller is gone, or if the query takes too many steps.
    package mutating func spend(_ count: Int) throws(ServiceError) {
        steps += count
        guard steps >= stride else { return }
        total += steps
        turn += steps
        steps = 0
        if total > limit { throw QueryEffort.tooMuch }
        if let refusal = refusal() { throw refusal }
    }

    /// Throws if the query would take too many steps.
    package func check(_ count: Int, times steps: Int) throws(ServiceError) {
        let (product, isOver) = count.multipliedReportingOverflow(by: steps)
        if isOver || product > limit { throw QueryEffort.tooMuch }
    }

    /// Steps that were taken.
    package var spent: Int { total + steps }

    package mutating func beginTurn() { turn = 0 }

    /// Whether the turn is over, so that others waiting for the thread come first.
    package var isTurnOver: Bool { turn >= turnSteps }

    private static let tooMuch = ServiceError(
        .limitExceeded,
        """
        the query would compare too much: records that it looks at, times comparisons of its \
        predicate; compare less, or let an index lead to fewer records
        """
    )
}
