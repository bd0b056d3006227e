// Which records match a device's subscriptions, as its feed told it: what an application keeps.
//
// Held by the devices of simulations (`RoamingFeed`) and by those that follow real nodes. It is
// told each piece of news, and keeps what a feed must not do as a fault: a notification that comes
// twice, a record that leaves where it was not.

package import CumulusModel

/// Which records match, by subscriptions; `Change` names the last change that a notification tells.
package struct FeedCopy<Change: Hashable & Sendable>: Sendable {
    private struct Told: Hashable {
        let subscription: String
        let record: String
        let change: Change
    }

    private let owner: String
    /// What matches, as zone and name, by the ids of subscriptions; none until the device asked.
    package private(set) var held: [String: Set<String>] = [:]
    /// What was asked while changes went on: the answer may be ahead of the feed.
    private var ahead: Set<String> = []
    private var told: Set<Told> = []
    /// What was not as promised.
    package var faults: [String] = []
    /// How often what happened.
    package var counts: [String: Int] = [:]

    /// - Parameter owner: Names the device in faults.
    package init(of owner: String) {
        self.owner = owner
    }

    // MARK: What the device asks

    /// What a query found.
    ///
    /// - Parameter isAhead: The query may have seen changes that the feed tells later.
    package mutating func hold(_ records: Set<String>, of subscription: String, isAhead: Bool) {
        held[subscription] = records
        if isAhead { ahead.insert(subscription) }
    }

    /// Nothing is known of a subscription any more.
    package mutating func forget(_ subscription: String) {
        held[subscription] = nil
        ahead.remove(subscription)
    }

    /// Everything was told that happened before now.
    package mutating func settle() { ahead = [] }

    /// Compares with what a query finds in the state up to which the feed has told.
    package mutating func compare(_ wanted: Set<String>, of subscription: String) {
        if held[subscription] == wanted { return }
        let kept = held[subscription].map { "\($0.sorted())" } ?? "nothing"
        faults.append(
            "\(owner) holds \(kept) of \(subscription), the node has \(wanted.sorted())"
        )
    }

    // MARK: What the feed tells

    package mutating func note(
        _ transition: FeedNotification.Transition,
        of record: String,
        _ subscription: String,
        _ change: Change
    ) {
        counts["feeds: notifications", default: 0] += 1
        let isUncertain = transition.isUncertain
        if isUncertain { counts["feeds: uncertain", default: 0] += 1 }
        let news = Told(subscription: subscription, record: record, change: change)
        if !told.insert(news).inserted, !isUncertain {
            faults.append("\(owner) was told twice of '\(record)' by \(subscription)")
        }
        let wasHeld = held[subscription]?.contains(record) == true
        apply(transition, of: record, subscription)
        if !transition.matches, !wasHeld, !isUncertain, !ahead.contains(subscription) {
            faults.append(
                "\(owner) was told that '\(record)' left \(subscription), where it was not"
            )
        }
    }

    /// What was told before, and is told again by a feed that began again.
    package mutating func apply(
        _ transition: FeedNotification.Transition,
        of record: String,
        _ subscription: String
    ) {
        if transition.matches {
            held[subscription]?.insert(record)
        } else {
            held[subscription]?.remove(record)
        }
    }

    /// A zone is gone, with all its records.
    package mutating func note(deletedZone zone: String, _ subscription: String) {
        counts["feeds: notifications", default: 0] += 1
        held[subscription] = held[subscription]?.filter { !$0.hasPrefix(zone + "/") }
    }
}
