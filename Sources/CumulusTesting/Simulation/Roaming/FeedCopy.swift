// The records that match a device's subscriptions, as its feed told it: an application's copy.
//
// Held by the devices of simulations (`RoamingFeed`) and by devices that follow real nodes. It
// takes each piece of news. A notification that comes twice is a fault, and so is a record that
// leaves a subscription where it was not.

package import CumulusModel

/// The matching records by subscription; `Change` names the last change that a notification tells.
package struct FeedCopy<Change: Hashable & Sendable>: Sendable {
    private struct Told: Hashable {
        let subscription: String
        let record: String
        let change: Change
    }

    private let owner: String
    /// The matching records as zone and name, by subscription; nil until the device has asked.
    package private(set) var held: [String: Set<String>] = [:]
    /// Subscriptions that were asked before the feed was up to date: they may be ahead of it.
    private var ahead: Set<String> = []
    private var told: Set<Told> = []
    /// Changes that uncertain notifications name since the feed was up to date: in the middle of
    /// several pages another node may tell them for sure.
    private var hinted: Set<Told> = []
    /// Broken promises, in words.
    package var faults: [String] = []
    /// How often each kind of event happened.
    package var counts: [String: Int] = [:]

    /// - Parameter owner: Names the device in faults.
    package init(of owner: String) {
        self.owner = owner
    }

    // MARK: What the device asks

    /// Takes what a query found for a subscription.
    ///
    /// - Parameter isAhead: Whether the query may have seen changes that the feed tells later.
    package mutating func hold(_ records: Set<String>, of subscription: String, isAhead: Bool) {
        held[subscription] = records
        if isAhead { ahead.insert(subscription) }
    }

    /// Drops the records of a subscription, until the device asks again.
    package mutating func forget(_ subscription: String) {
        held[subscription] = nil
        ahead.remove(subscription)
    }

    /// Notes that the feed is up to date: it has told everything that a query may have seen.
    package mutating func settle() {
        told.formUnion(hinted)
        (ahead, hinted) = ([], [])
    }

    /// Compares the records of a subscription with what a query finds after the last page.
    package mutating func compare(_ wanted: Set<String>, of subscription: String) {
        if held[subscription] == wanted { return }
        let kept = held[subscription].map { "\($0.sorted())" } ?? "nothing"
        faults.append(
            "\(owner) holds \(kept) of \(subscription), the node has \(wanted.sorted())"
        )
    }

    // MARK: What the feed tells

    /// Takes a notification of a record.
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
        if isUncertain {
            hinted.insert(news)
        } else if !told.insert(news).inserted {
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

    /// Takes a notification that a feed tells again after it began again.
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

    /// Takes the notification that a zone is gone, with all its records.
    package mutating func note(deletedZone zone: String, _ subscription: String) {
        counts["feeds: notifications", default: 0] += 1
        held[subscription] = held[subscription]?.filter { !$0.hasPrefix(zone + "/") }
    }
}
