// How much a query has done, whether anybody still waits for it, and whether others' turn has come.
//
// Counted by all that evaluates a query: records, comparisons, elements of lists, bytes of texts.
// One record can hold a list of a million elements, so it is not enough to ask between records.

package import CumulusModel

package struct QueryEffort: Sendable {
    /// Since the caller was asked about last.
    private var steps = 0
    private var total = 0
    private var turn = 0
    private let limit: Int
    private let turnSteps: Int
    /// Steps between two looks at all that may end a turn.
    private let stride: Int
    private let refusal: @Sendable () -> ServiceError?
    /// A few milliseconds of steps.
    private static let longestStride = 20_000
    /// Some ten milliseconds of steps.
    package static let turnSteps = 60_000

    /// - Parameters:
    ///   - limit: Steps that the query may take.
    ///   - turnSteps: Steps of a turn on a reader thread.
    ///   - refusal: Why to stop; nil means go on.
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

    /// Throws if nobody waits any more, or the query takes too many steps.
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

    /// Others that wait for the thread come first.
    package var isTurnOver: Bool { turn >= turnSteps }

    private static let tooMuch = ServiceError(
        .limitExceeded,
        """
        the query would compare too much: records that it looks at, times comparisons of its \
        predicate; compare less, or let an index lead to fewer records
        """
    )
}
