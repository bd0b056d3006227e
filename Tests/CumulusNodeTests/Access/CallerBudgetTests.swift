// What one caller may do, and how budgets are handed out and dropped, with made time.

import CumulusModel
import CumulusOperations
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct CallerBudgetTests {
    private static let start = Instant(milliseconds: 1_000_000)

    // MARK: One caller

    private func use(_ limits: CallerLimits) -> CallerUse { CallerUse(limits, now: Self.start) }

    @Test func callsAtOnceAreBoundedAndEndedOnesMakeRoom() {
        var use = use(CallerLimits(callsAtOnce: 2))
        let refusals = (0..<3).map { _ in use.begin(byteCount: 10, now: Self.start) }
        #expect(refusals == [nil, nil, .atOnce])
        use.end(1)
        #expect(use.begin(byteCount: 10, now: Self.start) == nil)
        #expect(use.callsInProgress == 2)
    }

    @Test func bytesCountBesideCalls() {
        let limits = CallerLimits(callsPerSecond: 1_000, callsBurst: 5, bytesPerSecond: 100)
        var use = use(limits)
        #expect(use.begin(byteCount: 500, now: Self.start) == nil)
        #expect(use.begin(byteCount: 50, now: Self.start) == .bytes(wait: 500))
        #expect(use.begin(byteCount: 50, now: Self.start + 500) == nil)
    }

    /// The longer wait is named, so that a second try has both.
    @Test func whoLacksBothIsToldTheLongerWait() {
        let limits = CallerLimits(callsPerSecond: 1, callsBurst: 1, bytesPerSecond: 100)
        var use = use(limits)
        #expect(use.begin(byteCount: 520, now: Self.start) == nil)
        #expect(use.begin(byteCount: 10, now: Self.start) == .calls(wait: 1_000))
        #expect(use.begin(byteCount: 200, now: Self.start) == .bytes(wait: 2_200))
    }

    /// Else a flood would keep its caller out for ever.
    @Test func aRefusedCallCostsNothing() {
        let limits = CallerLimits(callsPerSecond: 1, callsBurst: 1, callsAtOnce: 1)
        var use = use(limits)
        #expect(use.begin(byteCount: 10, now: Self.start) == nil)
        for _ in 0..<100 { #expect(use.begin(byteCount: 10, now: Self.start + 1_000) == .atOnce) }
        use.end(1)
        #expect(use.begin(byteCount: 10, now: Self.start + 1_000) == nil)
        use.end(1)
        for _ in 0..<100 {
            #expect(use.begin(byteCount: 10, now: Self.start + 1_500) == .calls(wait: 500))
        }
        #expect(use.begin(byteCount: 10, now: Self.start + 2_000) == nil)
    }

    @Test func uploadsLeaveADebt() {
        var use = use(CallerLimits(bytesPerSecond: 100))
        #expect(use.debt(now: Self.start) == 0)
        use.spend(byteCount: 600)
        #expect(use.debt(now: Self.start) == 1_000)
        #expect(use.debt(now: Self.start + 1_000) == 0)
    }

    // MARK: All callers

    private static let limits = CallerLimits(callsPerSecond: 10, callsBurst: 10, callsAtOnce: 5)

    private func user(_ id: UInt8, named name: String = "_x") -> Identity {
        var identity = Identity()
        identity.caller = Caller(role: .user(name))
        identity.account = [id]
        return identity
    }

    private func budgets(
        _ limits: CallerLimits = Self.limits,
        capacity: Int = CallerBudgets.capacity
    ) -> CallerBudgets {
        CallerBudgets(limits, capacity: capacity, now: Self.start)
    }

    @Test func aUserHasOneBudgetFromAnywhereAndInAllContainers() {
        let budgets = budgets()
        let here = budgets.enter(user(1), from: [10, 0, 0, 1], now: Self.start)
        let there = budgets.enter(user(1, named: "_y"), from: [10, 0, 0, 2], now: Self.start)
        let other = budgets.enter(user(2), from: [10, 0, 0, 1], now: Self.start)
        #expect(here != nil && here === there && here !== other)
    }

    @Test func strangersShareTheBudgetOfTheirAddress() {
        let budgets = budgets()
        func enter(_ address: Bytes) -> CallerBudget? {
            budgets.enter(Identity(), from: address, now: Self.start)
        }
        #expect(enter([10, 0, 0, 1]) === enter([10, 0, 0, 1]))
        #expect(enter([10, 0, 0, 1]) !== enter([10, 0, 0, 2]))
        let network: Bytes = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 1]
        let other: Bytes = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 2]
        let host = Bytes(repeating: 7, count: 8)
        #expect(enter(network + host) === enter(network + host.map { $0 + 1 }))
        #expect(enter(network + host) !== enter(other + host))
    }

    @Test func operatorsPeersAndNodesWithoutLimitsHaveNone() {
        var admin = Identity()
        admin.caller = Caller(role: .operator)
        var peer = Identity()
        peer.peer = Bytes(repeating: 1, count: 16)
        let budgets = budgets()
        #expect(budgets.enter(admin, from: [10, 0, 0, 1], now: Self.start) == nil)
        #expect(budgets.enter(peer, from: [10, 0, 0, 1], now: Self.start) == nil)
        let free = self.budgets(.none)
        #expect(free.enter(user(1), from: [], now: Self.start) == nil)
    }

    /// A new connection must not bring a new burst.
    @Test func aBudgetOutlivesItsConnections() throws {
        let budgets = budgets()
        let first = try #require(budgets.enter(user(1), from: [], now: Self.start))
        for _ in 0..<5 { #expect(first.begin(byteCount: 1, now: Self.start) == nil) }
        first.end(5)
        for _ in 0..<5 { #expect(first.begin(byteCount: 1, now: Self.start) == nil) }
        first.end(5)
        CallerBudgets.leave(first)
        let second = try #require(budgets.enter(user(1), from: [], now: Self.start))
        let refusal = try #require(second.begin(byteCount: 1, now: Self.start))
        #expect(refusal.code == .requestRateLimited && refusal.reason == .overloaded)
        #expect(refusal.retryAfterMilliseconds == 100)
    }

    @Test func unusedBudgetsAreDroppedAndOthersStay() throws {
        let budgets = budgets()
        let connected = budgets.enter(user(0), from: [], now: Self.start)
        let spent = try #require(budgets.enter(user(1), from: [], now: Self.start))
        _ = spent.begin(byteCount: 1, now: Self.start + 5_000)
        spent.end()
        CallerBudgets.leave(spent)
        for id in 2..<64 as Range<UInt8> {
            let budget = try #require(budgets.enter(user(id), from: [], now: Self.start))
            CallerBudgets.leave(budget)
        }
        #expect(budgets.count == 64)
        _ = budgets.enter(user(64), from: [], now: Self.start + 5_000)
        #expect(budgets.count == 3)
        #expect(budgets.enter(user(0), from: [], now: Self.start + 5_000) === connected)
        #expect(budgets.enter(user(1), from: [], now: Self.start + 5_000) === spent)
    }

    @Test func callersBeyondTheCapacityShareOneBudget() throws {
        let budgets = budgets(capacity: 2)
        let known = try (0..<2 as Range<UInt8>).map {
            try #require(budgets.enter(user($0), from: [], now: Self.start))
        }
        let third = budgets.enter(user(2), from: [], now: Self.start)
        let fourth = budgets.enter(user(3), from: [], now: Self.start)
        #expect(third === fourth && known.allSatisfy { $0 !== third })
        #expect(budgets.enter(user(0), from: [], now: Self.start) === known[0])
        // Addresses take no room from users.
        #expect(budgets.enter(Identity(), from: [10, 0, 0, 1], now: Self.start) !== third)
        #expect(budgets.count == 3)
        // There is room again when a caller has gone, a second later at the latest.
        CallerBudgets.leave(known[1])
        let later = budgets.enter(user(4), from: [], now: Self.start + 1_000)
        #expect(later !== third && budgets.count == 3)
    }
}
