// Forgets what led to ended shares, and how records hung a month ago.
//
// Called by `Collector` with the tombstones.

import CumulusModel
import CumulusReplication
import CumulusStorage

extension Collector {
    /// Drops rows of shares that ended, and how records hung, from more than a month ago.
    package func forgetShares() async throws {
        let oldest = node.clock - schedule.feedMilliseconds
        try await inEachScope { scope, number in
            try await inSteps { transaction, last throws(EngineError) in
                try ScopeShares(of: number).forgetVisibleZones(
                    before: oldest,
                    after: last,
                    limit: Collector.sharesAtOnce,
                    &transaction
                )
            }
            try await inSteps { transaction, last throws(EngineError) in
                try ScopeShares(of: number).forgetIDRows(
                    after: last,
                    limit: Collector.sharesAtOnce,
                    &transaction
                )
            }
            let zones = try await node.gate.reading { reader in
                try StateSource(reader, scope: number).zones().filter { zone in
                    zone.row.exists && zone.commitZone.keepsHanging
                }
            }
            for zone in zones {
                try await inSteps { transaction, last throws(EngineError) in
                    try FormerParents(of: zone.row.number).forget(
                        before: oldest,
                        after: last,
                        limit: Collector.sharesAtOnce,
                        &transaction
                    )
                }
            }
        }
    }

    /// Rows that are looked at in one turn of the writer.
    private static let sharesAtOnce = 200

    private func inSteps(
        _ step: @escaping @Sendable (inout WriteTransaction, Bytes?) throws(EngineError) -> Bytes?
    ) async throws {
        var last: Bytes?
        repeat {
            let after = last
            last = try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                try step(&transaction, after)
            }
            if last != nil { try await pause() }
        } while last != nil
    }
}
