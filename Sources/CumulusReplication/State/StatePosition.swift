// How far a node has taken another one's state, so that a sync whose connection broke goes on there
// and nothing is sent twice.
//
// Told by `StateIntake` of the node that takes the state, sent to the donor, and given to
// `StatePages` there. A position means something in one snapshot only: another one may hold other
// records behind it, and before it.

package struct StatePosition: Hashable, Sendable {
    /// Parts of the offer that have come: ends of logs, zones, registers and increments.
    package var parts: Int
    /// The zone of the last record that has come, by its place in the offer.
    package var zone: Int
    /// The name of that record; nil if no record of the zone has come.
    package var record: String?
    /// How many of its rows have come, if more of them follow; 0: all.
    package var rows: Int

    /// Without arguments, nothing has come yet.
    package init(parts: Int = 0, zone: Int = 0, record: String? = nil, rows: Int = 0) {
        self.parts = parts
        self.zone = zone
        self.record = record
        self.rows = rows
    }
}

extension StateOffer {
    /// How many parts it is sent in.
    package var partCount: Int {
        vectors.count + zones.count + registers.count + increments.count
    }

    /// Whether a node that takes this offer can have come to a position.
    package func reaches(_ position: StatePosition) -> Bool {
        let isInOffer = position.parts < partCount && position == .init(parts: position.parts)
        let isInZone = position.record != nil || position.rows == 0
        let isInRecords =
            position.parts == partCount && position.zone < max(1, zones.count) && isInZone
        return position.parts >= 0 && position.rows >= 0 && (isInOffer || isInRecords)
    }
}
