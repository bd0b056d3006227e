// The budgets of all callers of this node, by user or by address.
//
// Asked by `CallerConnection` once per connection, when it knows who calls. Memory is bounded: a
// budget that is as good as a new one is dropped, and callers beyond `capacity` share one.
//
// Folder: how much callers may ask of this node. Read `TokenBucket`, then `CallerBudget`,
// `SchemaUse` and `CallerBudgets`.

import CumulusModel
import CumulusOperations
import CumulusWire
import Synchronization

final class CallerBudgets: Sendable {
    /// Users, and as many addresses, that have a budget of their own; about 300 bytes each.
    static let capacity = 10_000

    private let areNone: Bool
    // Apart, so that strangers with many addresses take no room from users.
    private let users: Mutex<Table>
    private let addresses: Mutex<Table>

    init(
        _ limits: CallerLimits,
        _ growth: CallerGrowth = .none,
        capacity: Int = CallerBudgets.capacity,
        now: Instant
    ) {
        areNone = limits.areNone && growth.isUnlimited
        users = Mutex(Table(limits, growth, capacity: capacity, now: now))
        addresses = Mutex(Table(limits, growth, capacity: capacity, now: now))
    }

    /// The budget of a caller's new connection, which gives it back with `leave`; nil means there
    /// is no limit.
    ///
    /// - Parameter address: The link's address: 4 or 16 bytes, or empty.
    func enter(_ identity: Identity, from address: Bytes, now: Instant) -> CallerBudget? {
        if areNone { return nil }
        if identity.isPeer { return nil }
        switch identity.caller.role {
        case .operator: return nil
        case .user(let name), .server(let name):
            let key = identity.account ?? Bytes(name.utf8)
            return users.withLock { $0.enter(key, now: now) }
        case .anonymous:
            let key = CallerNetwork.of(address)
            return addresses.withLock { $0.enter(key, now: now) }
        }
    }

    /// A connection has ended.
    static func leave(_ budget: CallerBudget) { budget.addConnections(-1) }

    /// Budgets that are kept, for tests.
    var count: Int { users.withLock { $0.count } + addresses.withLock { $0.count } }

    private struct Table {
        private let limits: CallerLimits
        private let growth: CallerGrowth
        private let capacity: Int
        private var budgets: [Bytes: CallerBudget] = [:]
        /// One budget that all callers beyond the bound share.
        private let shared: CallerBudget
        /// How many budgets there are when unused ones are looked for next, and when at the
        /// earliest: both so that looking costs little per connection.
        private var nextCount: Int
        private var nextTime: Instant
        private static let fewest = 64
        private static let pause: Int64 = 1_000

        init(_ limits: CallerLimits, _ growth: CallerGrowth, capacity: Int, now: Instant) {
            self.limits = limits
            self.growth = growth
            self.capacity = capacity
            shared = CallerBudget(limits, growth, now: now)
            nextCount = min(capacity, Table.fewest)
            nextTime = now
        }

        var count: Int { budgets.count }

        mutating func enter(_ key: Bytes, now: Instant) -> CallerBudget {
            let budget = budgets[key] ?? make(key, now: now)
            budget.addConnections(1)
            return budget
        }

        private mutating func make(_ key: Bytes, now: Instant) -> CallerBudget {
            if budgets.count >= nextCount, now >= nextTime { dropUnused(now: now) }
            guard budgets.count < capacity else { return shared }
            let budget = CallerBudget(limits, growth, now: now)
            budgets[key] = budget
            return budget
        }

        private mutating func dropUnused(now: Instant) {
            budgets = budgets.filter { !$0.value.isUnused(now: now) }
            nextCount = min(capacity, max(Table.fewest, 2 * budgets.count))
            nextTime = now + Table.pause
        }
    }
}
