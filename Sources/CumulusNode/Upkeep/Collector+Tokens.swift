// Forgets tokens that are no longer usable.
//
// `Collector` calls it together with the walks through the records. `ExpiredTokens` decides which
// tokens are dropped.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension Collector {
    /// Walks through all tokens and drops tokens that expired a month ago.
    package func forgetTokens() async throws {
        let now = node.clock
        let known = try await node.gate.reading { [self] reader in try stableAccounts(reader) }
        guard let known else { return }
        let expired = ExpiredTokens(stable: known, now: now)
        var last: Bytes?
        repeat {
            let after = last
            let found = try await node.gate.reading { reader in
                try expired.find(after: after, limit: Collector.recordsAtOnce, in: reader)
            }
            if !found.digests.isEmpty {
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    try expired.drop(found.digests, in: &transaction)
                }
            }
            last = found.last
            if last != nil { try await pause() }
        } while last != nil
    }

    /// What every member has read of the cluster's scope; nil while this node has not read
    /// everything that a member had done before its report.
    private func stableAccounts(_ reader: ReadTransaction) throws(EngineError) -> VersionVector? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        let vector = try reader.vector(of: scope)
        let reports = try reader.reports(of: scope)
        let others = try Members.others(than: node.nodeID, in: reader)
        let isRead = others.allSatisfy { member in
            reports[member.nodeID].map { vector.covers($0.vector) } ?? false
        }
        return isRead ? try stable(of: scope, reader) : nil
    }
}
