// How much a query has done, and whether anybody still waits for it.
//
// Counted by all that evaluates a query: records, comparisons, elements of lists, bytes of texts.
// One record can hold a list of a million elements, so it is not enough to ask between records.

package import CumulusModel

package struct QueryEffort {
    private var steps = 0
    private let refusal: @Sendable () -> ServiceError?
    /// A few milliseconds of steps.
    private static let stride = 20_000

    /// - Parameter refusal: Why to stop; nil means go on.
    package init(refusal: @escaping @Sendable () -> ServiceError?) {
        self.refusal = refusal
    }

    /// Throws if nobody waits any more.
    package mutating func spend(_ count: Int) throws(ServiceError) {
        steps += count
        guard steps >= QueryEffort.stride else { return }
        steps = 0
        if let refusal = refusal() { throw refusal }
    }
}
