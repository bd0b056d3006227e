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
        guard event.row.flags.contains(.created) else { return known.covers(dot) }
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
}
