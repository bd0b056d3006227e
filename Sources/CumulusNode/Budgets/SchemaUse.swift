// How many types and fields the saves of one caller may still add to each environment's schema on
// this node.
//
// A value without a clock, part of `CallerUse`. Each schema has buckets of its own, since a full
// one takes room from the users of its own environment only. `CallerAllowance` shows it to the
// writer, which asks when a save brings a type or a field that the schema doesn't know.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

struct SchemaUse: Sendable {
    /// Why a caller may not add something.
    struct Refusal: Equatable, Sendable {
        /// The most types or fields at once.
        var most: Int
        var isTypes: Bool
        /// Milliseconds until it may.
        var wait: Int64
    }

    /// A type or a field costs so many tokens, so that a bucket gives some per minute.
    private static let tokens = 60
    /// In so many minutes an empty bucket is full again.
    private static let minutesUntilFull = 100

    private let limits: CallerGrowth
    private var types: TokenBucket
    private var fields: TokenBucket

    init(_ limits: CallerGrowth, now: Instant) {
        self.limits = limits
        types = SchemaUse.bucket(limits.types, now: now)
        fields = SchemaUse.bucket(limits.fields, now: now)
    }

    private static func bucket(_ most: Int, now: Instant) -> TokenBucket {
        let perMinute = most == 0 ? 0 : max(1, most / minutesUntilFull)
        return TokenBucket(rate: perMinute, burst: most * tokens, now: now)
    }

    /// Why so much may not be added now; nil if it may.
    mutating func refusal(of growth: SchemaSize, now: Instant) -> Refusal? {
        SchemaUse.refusal(growth.types, of: limits.types, isTypes: true, &types, now)
            ?? SchemaUse.refusal(growth.fields, of: limits.fields, isTypes: false, &fields, now)
    }

    private static func refusal(
        _ count: Int,
        of most: Int,
        isTypes: Bool,
        _ bucket: inout TokenBucket,
        _ now: Instant
    ) -> Refusal? {
        if count == 0 || most == 0 { return nil }
        let wait = bucket.wait(for: count * tokens, now: now)
        // More than a full bucket holds comes in several requests.
        if count > most { return Refusal(most: most, isTypes: isTypes, wait: max(wait, 60_000)) }
        return wait > 0 ? Refusal(most: most, isTypes: isTypes, wait: wait) : nil
    }

    mutating func spend(_ growth: SchemaSize) {
        types.spend(growth.types * SchemaUse.tokens)
        fields.spend(growth.fields * SchemaUse.tokens)
    }

    mutating func isFull(now: Instant) -> Bool {
        let areTypesFull = types.isFull(now: now)
        return fields.isFull(now: now) && areTypesFull
    }
}

/// How much the saves of one caller added to the schemas of all environments.
///
/// Only operators make containers, so there are few; an entry whose bucket is full again is
/// dropped.
struct SchemaUses: Sendable {
    private let limits: CallerGrowth
    private var uses: [ScopeID: SchemaUse] = [:]

    init(_ limits: CallerGrowth) { self.limits = limits }

    mutating func refusal(
        of growth: SchemaSize,
        in scope: ScopeID,
        now: Instant
    ) -> SchemaUse.Refusal? {
        uses[scope, default: SchemaUse(limits, now: now)].refusal(of: growth, now: now)
    }

    mutating func spend(_ growth: SchemaSize, in scope: ScopeID, now: Instant) {
        forgetFull(now: now)
        uses[scope, default: SchemaUse(limits, now: now)].spend(growth)
    }

    mutating func areFull(now: Instant) -> Bool {
        forgetFull(now: now)
        return uses.isEmpty
    }

    private mutating func forgetFull(now: Instant) {
        for (scope, use) in uses {
            var use = use
            if use.isFull(now: now) { uses[scope] = nil }
        }
    }
}

/// The budget of a caller for one environment's schema, as the writer asks it.
struct CallerAllowance: SchemaAllowance {
    let budget: CallerBudget
    let scope: ScopeID
    let now: @Sendable () -> Instant

    func refusal(of growth: SchemaSize) -> ServiceError? {
        guard let refusal = budget.refusal(of: growth, in: scope, now: now()) else { return nil }
        let seconds = (refusal.wait + 999) / 1_000
        var error = ServiceError(
            .requestRateLimited,
            """
            you may add at most \(refusal.most) \(refusal.isTypes ? "record types" : "fields") to \
            this schema by saves at once, and a hundredth of that per minute; try again in \
            \(seconds) seconds, or ask an operator to import the schema
            """
        )
        error.retryAfterMilliseconds = UInt32(clamping: refusal.wait)
        return error
    }

    func spend(_ growth: SchemaSize) {
        if growth != SchemaSize() { budget.spend(growth, in: scope, now: now()) }
    }
}
