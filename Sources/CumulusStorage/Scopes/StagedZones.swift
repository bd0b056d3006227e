// Zones that are being filled, or were replaced: nothing points to them.
//
// A state sync makes them and drops what is left of them; so does the node when it opens its store.

import CumulusModel

extension RowReader where Self: ~Copyable {
    /// Whether there are staged zones.
    ///
    /// Nothing points to a staged zone. It holds records of a state sync, or a zone that such a
    /// sync has replaced.
    package borrowing func hasStages() throws(EngineError) -> Bool {
        try !rows(.meta, .all(.stagedZone), limit: 1).isEmpty
    }
}

/// The staged zones of a store.
package enum StagedZones {
    /// Hands out a number for a zone that is being filled; nothing points to it yet.
    package static func make(
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ZoneNumber {
        let number = try transaction.takeZoneNumber()
        keep(number, of: scope, &transaction)
        return number
    }

    /// Marks a zone number to which nothing points, so that `drop` drops its rows.
    package static func keep(
        _ number: ZoneNumber,
        of scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) {
        transaction.put(.stagedZone(number), NumberRow(number: UInt32(scope)))
    }

    /// Drops what is left of state syncs, of one scope or of all: unfinished zones, and zones that
    /// another node's state has replaced.
    package static func drop(
        of scope: ScopeNumber? = nil,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for (key, value) in try transaction.rows(.meta, .all(.stagedZone)) {
            let owner = try transaction.decoding(key) { () throws(MalformedBytes) in
                try NumberRow(row: value).number
            }
            guard scope == nil || scope.map(UInt32.init) == owner else { continue }
            var reader = KeyReader(key)
            let number: ZoneNumber = try reader.number()
            transaction.dropRows(of: number)
            transaction.put(.stagedZone(number), nil)
        }
        let stage = scope.map { KeyRange.staged(of: $0) } ?? .all(.stage)
        if try transaction.rows(.log, stage, limit: 1).isEmpty { return }
        transaction.deleteRange(.log, stage)
    }
}
