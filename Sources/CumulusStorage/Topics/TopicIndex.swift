// The topics of a scope, by what a record is: where nobody subscribes, a commit costs one failed
// look-up.
//
// Part of the writer's state: read from the registers of subscriptions when a scope is first
// written to, and changed with each such register. Groups are made when a record of their type is
// first changed, and anew after a change of its schema.

import CumulusModel

package struct TopicIndex: Sendable {
    /// A record type of a database.
    struct Place: Hashable, Sendable {
        var database: DatabaseID
        /// As callers know it; nil for topics that watch all records at once.
        var type: String?
    }

    private struct Watch: Sendable {
        let topic: Topic
        var subscriptions: Int
    }

    private var watches: [Place: [Topic.ID: Watch]] = [:]
    private var groups: [Place: TopicGroup] = [:]
    /// Topics of all places.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { count == 0 }

    func watches(_ place: Place) -> Bool { watches[place] != nil }

    /// Whether another topic has this one's id, by chance or by intent.
    package func collides(_ topic: Topic) -> Bool {
        watches.values.contains { $0[topic.id].map { $0.topic != topic } ?? false }
    }

    mutating func enter(_ topic: Topic) {
        let place = Place(database: topic.database, type: topic.recordType)
        if watches[place]?[topic.id] != nil {
            watches[place]?[topic.id]?.subscriptions += 1
            return
        }
        watches[place, default: [:]][topic.id] = Watch(topic: topic, subscriptions: 1)
        groups[place]?.insert(topic)
        count += 1
    }

    func holds(_ topic: Topic) -> Bool {
        let place = Place(database: topic.database, type: topic.recordType)
        return watches[place]?[topic.id] != nil
    }

    mutating func leave(_ topic: Topic) {
        let place = Place(database: topic.database, type: topic.recordType)
        guard let watch = watches[place]?[topic.id] else { return }
        if watch.subscriptions > 1 {
            watches[place]?[topic.id]?.subscriptions -= 1
            return
        }
        watches[place]?[topic.id] = nil
        if watches[place]?.isEmpty == true { watches[place] = nil }
        groups[place]?.remove(topic.id)
        count -= 1
    }

    /// The schema of a type changed.
    mutating func forget(_ type: String) {
        for place in groups.keys where place.type == type { groups[place] = nil }
    }

    /// The topics of a place, if they are bound.
    func group(_ place: Place) -> TopicGroup? { groups[place] }

    /// Holds the topics of a place against the schema.
    mutating func bind(_ place: Place, _ binding: TopicGroup.Binding) -> TopicGroup {
        var group = TopicGroup(binding)
        for watch in watches[place, default: [:]].values { group.insert(watch.topic) }
        groups[place] = group
        return group
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
