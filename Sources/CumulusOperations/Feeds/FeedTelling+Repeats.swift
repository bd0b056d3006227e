// Whether a device knows of a change that this node did not tell it. Another node may have told it
// the creation by the same request, or one of several concurrent changes.
//
// Called by `FeedTelling` for each row of a window. Each record is looked up once for a window, and
// the events of a topic are gone through once.

import CumulusModel
import CumulusStorage

/// What was looked up of the creations of a window.
struct FeedCreations {
    fileprivate struct Record: Hashable {
        let zone: ZoneNumber
        let name: String
    }

    fileprivate struct Change: Hashable {
        let record: Record
        let dot: Dot
    }

    /// The births of a life, if the device knows another birth of the same life.
    fileprivate var heard: [Record: Set<Dot>] = [:]
    /// The keys of the lives that the events created.
    fileprivate var keys: [Topic.ID: [Change: LifeKey?]] = [:]
}

extension FeedTelling {
    /// Whether the device knows of a change, or of the same request's creation of the same life.
    mutating func hasHeard(of event: FeedWindow.Event) throws(EngineError) -> Bool {
        let dot = event.row.stamp.dot
        if event.row.key == nil { return known.covers(dot) }
        return try hasHeard(of: dot, event.name, in: event.zone)
    }

    mutating func hasHeard(
        of dot: Dot,
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        if known.covers(dot) { return true }
        if window.isWithoutRepeats { return false }
        let record = FeedCreations.Record(zone: zone, name: name)
        if let heard = creations.heard[record] { return heard.contains(dot) }
        let heard = try heardBirths(of: name, in: zone)
        creations.heard[record] = heard
        return heard.contains(dot)
    }

    /// All births of the lives of a record of which the device knows one birth.
    private func heardBirths(
        of name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Set<Dot> {
        var heard: Set<Dot> = []
        for births in try window.repeats(of: name, in: zone, of: scope, reader)
        where births.contains(where: known.covers) {
            heard.formUnion(births)
        }
        return heard
    }

    /// The key of the life that a commit created for a request; nil if it did not.
    ///
    /// News of a creation have one identity, whether it is told with concurrent changes or alone.
    mutating func key(
        of dot: Dot,
        _ name: String,
        in zone: ZoneNumber,
        _ topic: Topic
    ) throws(EngineError) -> LifeKey? {
        let record = FeedCreations.Record(zone: zone, name: name)
        let change = FeedCreations.Change(record: record, dot: dot)
        if let key = keys(of: topic.id)[change] { return key }
        guard let row = try reader.record(zone, name), row.births.contains(dot) else { return nil }
        return row.requestKey
    }

    /// The keys of the events of a topic; of two events of one change the first one counts.
    private mutating func keys(of topic: Topic.ID) -> [FeedCreations.Change: LifeKey?] {
        if let known = creations.keys[topic] { return known }
        let keys = (window.events[topic] ?? []).map { event in
            let record = FeedCreations.Record(zone: event.zone, name: event.name)
            return (FeedCreations.Change(record: record, dot: event.row.stamp.dot), event.row.key)
        }
        let found = Dictionary(keys) { first, _ in first }
        creations.keys[topic] = found
        return found
    }
}

// MARK: - Concurrent changes

extension FeedTelling {
    /// The last of concurrent changes that the device has not seen, though it may have seen others
    /// of them; nil if it has seen all, or only those that came first here.
    mutating func unseen(of mix: FeedWindow.Mix) throws(EngineError) -> Stamp? {
        let stamp = mix.row.stamp
        guard hasSeen(stamp.dot) else { return nil }
        var late: Dot?
        for dot in mix.row.unknown where try !hasHeard(of: dot, mix.name, in: mix.zone) {
            late = max(late ?? dot, dot)
        }
        // Another node may have told this change before the changes that the token covers came
        // there.
        if late == nil, isCut, !known.covers(stamp.dot) { return stamp }
        return late.map { Stamp(stamp.time, $0) }
    }

    /// Whether the device may have seen a change.
    ///
    /// A device asks its queries at any node, and goes on at any node in the middle of its pages,
    /// even at a node that had one of two concurrent changes. A record may have matched there that
    /// never did here.
    private func hasSeen(_ dot: Dot) -> Bool {
        if known.covers(dot) || isCut && !fetch.broken.contains(.feedCut) { return true }
        return isAsking && !fetch.broken.contains(.feedAsked)
    }
}
