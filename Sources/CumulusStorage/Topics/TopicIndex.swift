// The topics of a scope, by database and record type.
//
// Part of the writer's state. It is built from the registers of subscriptions when a scope is first
// written to, and follows each change of such a register. A group is built when a record of its
// type first changes, and again after a change of the type's schema; a large one takes several
// turns. In a scope without subscriptions a commit costs one look-up that finds nothing. It also
// counts the comparisons that a save takes, see `TopicLoad`. `SubscriptionSet` makes one of its own
// for a user's subscriptions.

import CumulusModel

package struct TopicIndex: Sendable {
    /// A record type of a database.
    struct Place: Hashable, Sendable {
        var database: DatabaseID
        /// The type as callers know it; nil for topics that watch zones as a whole.
        var type: String?

        init(database: DatabaseID, type: String?) {
            (self.database, self.type) = (database, type)
        }

        /// The place of a topic.
        init(of topic: Topic) { self.init(database: topic.database, type: topic.recordType) }
    }

    private struct Watch: Sendable {
        let topic: Topic
        /// The values for which `TopicLoad` counts it.
        let values: [TopicLoad.Value]
        /// How many subscriptions share the topic.
        var subscriptions: Int
    }

    private var watches: [Place: [Topic.ID: Watch]] = [:]
    private var groups: [Place: TopicGroup] = [:]
    private var loads: [Place: TopicLoad] = [:]
    /// The number of topics.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Whether a place has topics.
    func watches(_ place: Place) -> Bool { watches[place] != nil }

    /// Whether a subscription has this topic.
    func holds(_ topic: Topic) -> Bool { watches[Place(of: topic)]?[topic.id] != nil }

    /// Adds the topic of a subscription.
    package mutating func enter(_ topic: Topic) {
        let place = Place(of: topic)
        if watches[place]?[topic.id] != nil {
            watches[place]?[topic.id]?.subscriptions += 1
            return
        }
        // Zones as a whole are compared with nothing.
        let values = place.type.map { _ in loads[place, default: TopicLoad()].enter(topic) } ?? []
        let watch = Watch(topic: topic, values: values, subscriptions: 1)
        watches[place, default: [:]][topic.id] = watch
        groups[place]?.insert(topic)
        count += 1
    }

    /// Removes the topic of a subscription; it stays if other subscriptions share it.
    package mutating func leave(_ topic: Topic) {
        let place = Place(of: topic)
        guard let watch = watches[place]?[topic.id] else { return }
        if watch.subscriptions > 1 {
            watches[place]?[topic.id]?.subscriptions -= 1
            return
        }
        watches[place]?[topic.id] = nil
        loads[place]?.leave(topic, watch.values)
        if watches[place]?.isEmpty == true { (watches[place], loads[place]) = (nil, nil) }
        groups[place]?.remove(topic.id)
        count -= 1
    }

    /// The most comparisons that a save takes, summed over databases and record types.
    package var comparisonCount: Int { loads.values.reduce(0) { $0 + $1.most } }

    /// How many comparisons a record takes at least that is compared with a topic; 0 if the topic
    /// is here already.
    func count(with topic: Topic) -> Int {
        let place = Place(of: topic)
        if place.type == nil || holds(topic) { return 0 }
        return (loads[place] ?? TopicLoad()).count(with: topic)
    }

    /// Drops the groups of a type, because its schema changed.
    mutating func forget(_ type: String) {
        for place in groups.keys where place.type == type { groups[place] = nil }
    }

    /// Whether the group of a place was begun.
    func hasBegun(_ place: Place) -> Bool { groups[place] != nil }

    /// Begins the group of a place.
    mutating func begin(_ place: Place, _ binding: TopicGroup.Binding) {
        groups[place] = TopicGroup(binding, of: watches[place, default: [:]].values.map(\.topic))
    }

    /// Goes on with the group of a place; returns it once all its topics are bound.
    mutating func bind(_ place: Place, within effort: inout QueryEffort) -> TopicGroup? {
        guard groups[place]?.bind(within: &effort) == true else { return nil }
        return groups[place]
    }

    /// The topics of a database that watch records of one of its zones.
    func topics(of zone: String, in database: DatabaseID) -> [Topic.ID] {
        var found: Set<Topic.ID> = []
        for (place, watched) in watches where place.database == database && place.type != nil {
            for (id, watch) in watched where watch.topic.zones.contain(zone) { found.insert(id) }
        }
        return found.sorted()
    }

    /// The topics that watch a zone as a whole.
    func topics(ofWhole zone: String, in database: DatabaseID) -> [Topic.ID] {
        watches[Place(database: database, type: nil), default: [:]]
            .filter { $0.value.topic.zones.contain(zone) }.keys.sorted()
    }
}
