// Whether a device knows of a change that this node did not tell it: it may have been told of the
// same request's creation at another node.
//
// Called by `FeedTelling` for each row of a window.

import CumulusModel
import CumulusStorage

extension FeedTelling {
    /// Whether the device knows of a change, or of the same request's creation of the same life.
    func hasHeard(of event: FeedWindow.Event) throws(EngineError) -> Bool {
        let dot = event.row.stamp.dot
        if event.row.key == nil { return known.covers(dot) }
        return try hasHeard(of: dot, event.name, in: event.zone)
    }

    func hasHeard(
        of dot: Dot,
        _ name: String,
        in zone: ZoneNumber
    ) throws(EngineError) -> Bool {
        if known.covers(dot) { return true }
        return try window.twins(of: dot, name, in: zone, of: scope, reader)
            .contains(where: known.covers)
    }

    /// The key of the life that a commit created for a request; nil if it did not.
    ///
    /// News of a creation have one identity, whether it is told with concurrent changes or alone.
    func key(
        of dot: Dot,
        _ name: String,
        in zone: ZoneNumber,
        _ topic: Topic
    ) throws(EngineError) -> LifeKey? {
        let event = (window.events[topic.id] ?? []).first {
            $0.zone == zone && $0.name == name && $0.row.stamp.dot == dot
        }
        if let event { return event.row.key }
        guard let row = try reader.record(zone, name), row.births.contains(dot) else { return nil }
        return row.requestKey
    }
}
