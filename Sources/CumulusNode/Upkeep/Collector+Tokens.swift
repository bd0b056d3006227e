// Forgets tokens that are no longer usable, and what is left of ended push addresses.
//
// `Collector` calls it together with the walks through the records. `ExpiredTokens` and
// `EndedPushes` decide what is dropped.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension Collector {
    /// Walks through all tokens and drops tokens that expired a month ago.
    package func forgetTokens() async throws {
        let now = node.clock
        let known = try await node.gate.reading { [self] reader in
            guard let scope = try reader.scope(.cluster) else { return nil as VersionVector? }
            return try settled(scope, reader)
        }
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

    /// Walks through all push addresses and marks, and drops what is left of ended addresses.
    package func forgetPushes() async throws {
        try await inEachScope { scope, number in
            let known = try await node.gate.reading { [self] reader in
                try settled(number, reader)
            }
            guard scope != .cluster, let stable = known else { return }
            let ended = EndedPushes(in: number, stable: stable)
            for namespace in EndedPushes.namespaces {
                try await forget(ended, of: namespace, in: scope)
            }
        }
    }

    private func forget(
        _ ended: EndedPushes,
        of namespace: String,
        in scope: ScopeID
    ) async throws {
        var last: Bytes?
        repeat {
            let after = last
            let found = try await node.gate.reading { reader in
                try ended.find(
                    in: namespace,
                    after: after,
                    limit: Collector.recordsAtOnce,
                    reader
                )
            }
            if !found.keys.isEmpty {
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    // While another node's state is merged in, its registers come one by one.
                    if node.gate.stops.isHeld(scope) { return }
                    try ended.drop(found.keys, of: namespace, &transaction)
                }
            }
            last = found.last
            if last != nil { try await pause() }
        } while last != nil
    }

    /// What every member has read of a scope; nil while this node has not read everything that a
    /// member had done before its report.
    private func settled(
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> VersionVector? {
        let vector = try reader.vector(of: scope)
        let reports = try reader.reports(of: scope)
        let others = try Members.others(than: node.nodeID, in: reader)
        let isRead = others.allSatisfy { member in
            reports[member.nodeID].map { vector.covers($0.vector) } ?? false
        }
        return isRead ? try stable(of: scope, reader) : nil
    }
}
