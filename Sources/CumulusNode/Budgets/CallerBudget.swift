// The budget that one caller has left on this node, over all its connections.
//
// `CallerUse` is the rule, a value without a clock. `CallerBudget` shares one between the
// connections of a caller; `CallerBudgets` hands it out and `OpenCalls` asks it for each call.
// hot: twice per call. Its lock is held for a few additions, and only a caller's own connections
// meet at it.

import CumulusModel
import CumulusStorage
import CumulusWire
import Synchronization

struct CallerUse: Sendable {
    /// Why a call may not begin.
    enum Refusal: Equatable, Sendable {
        /// Too many of the caller's calls are in progress.
        case atOnce
        /// The next call may begin after so many milliseconds.
        case calls(wait: Int64)
        /// The bytes of this call are there after so many milliseconds.
        case bytes(wait: Int64)
    }

    private let limits: CallerLimits
    private var calls: TokenBucket
    private var bytes: TokenBucket
    private(set) var callsInProgress = 0
    var connections = 0
    /// What saves added to schemas.
    var schemas: SchemaUses

    init(_ limits: CallerLimits, _ growth: CallerGrowth = .none, now: Instant) {
        self.limits = limits
        schemas = SchemaUses(growth)
        calls = TokenBucket(rate: limits.callsPerSecond, burst: limits.callsBurst, now: now)
        bytes = TokenBucket(rate: limits.bytesPerSecond, burst: limits.bytesBurst, now: now)
    }

    /// Begins a call, and pays for it; a call that is refused costs nothing.
    mutating func begin(byteCount: Int, now: Instant) -> Refusal? {
        if limits.callsAtOnce > 0, callsInProgress >= limits.callsAtOnce { return .atOnce }
        let forCall = calls.wait(for: 1, now: now)
        let forBytes = bytes.wait(for: byteCount, now: now)
        if forCall > 0, forCall >= forBytes { return .calls(wait: forCall) }
        if forBytes > 0 { return .bytes(wait: forBytes) }
        calls.spend(1)
        bytes.spend(byteCount)
        callsInProgress += 1
        return nil
    }

    /// Calls are over, or are followed from now on.
    mutating func end(_ count: Int) { callsInProgress -= count }

    /// Takes received bytes off the bucket, which may go below zero.
    mutating func spend(byteCount: Int) { bytes.spend(byteCount) }

    /// Milliseconds until the bytes that were sent are within the rate; 0 if they are now.
    mutating func debt(now: Instant) -> Int64 { bytes.wait(for: 0, now: now) }

    /// Whether a new caller has the same: nothing is lost when it is forgotten.
    mutating func isUnused(now: Instant) -> Bool {
        connections == 0 && callsInProgress == 0 && calls.isFull(now: now)
            && bytes.isFull(now: now) && schemas.areFull(now: now)
    }
}

final class CallerBudget: Sendable {
    private let limits: CallerLimits
    private let use: Mutex<CallerUse>

    init(_ limits: CallerLimits, _ growth: CallerGrowth = .none, now: Instant) {
        self.limits = limits
        use = Mutex(CallerUse(limits, growth, now: now))
    }

    /// Begins a call; nil means it may go on.
    func begin(byteCount: Int, now: Instant) -> ServiceError? {
        use.withLock { $0.begin(byteCount: byteCount, now: now) }.map(error)
    }

    func end(_ count: Int = 1) { use.withLock { $0.end(count) } }

    func spend(byteCount: Int) { use.withLock { $0.spend(byteCount: byteCount) } }

    func debt(now: Instant) -> Int64 { use.withLock { $0.debt(now: now) } }

    /// Why saves may not add so much to an environment's schema now; nil if they may.
    func refusal(of growth: SchemaSize, in scope: ScopeID, now: Instant) -> SchemaUse.Refusal? {
        use.withLock { $0.schemas.refusal(of: growth, in: scope, now: now) }
    }

    func spend(_ growth: SchemaSize, in scope: ScopeID, now: Instant) {
        use.withLock { $0.schemas.spend(growth, in: scope, now: now) }
    }

    func isUnused(now: Instant) -> Bool { use.withLock { $0.isUnused(now: now) } }

    func addConnections(_ count: Int) { use.withLock { $0.connections += count } }

    private func error(_ refusal: CallerUse.Refusal) -> ServiceError {
        switch refusal {
        case .atOnce:
            .overloaded("more than \(limits.callsAtOnce) calls of this caller at once")
        case .calls(let wait):
            .overloaded("more than \(limits.callsPerSecond) calls per second", retryAfter: wait)
        case .bytes(let wait):
            .overloaded(
                "more than \(limits.bytesPerSecond) bytes of requests per second",
                retryAfter: wait
            )
        }
    }
}
