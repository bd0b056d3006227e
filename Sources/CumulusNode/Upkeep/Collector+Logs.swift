// Drops log entries: entries that every member has read, and old ones that exceed the bound.
//
// Part of `Collector`, and called by it every `Schedule.logMilliseconds`, or when the logs have
// outgrown `Schedule.logBytes`.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

extension Collector {
    /// Returns after `logMilliseconds`, or earlier where the logs take more than they may.
    func waitForLogs() async throws {
        var rest = schedule.logMilliseconds
        while rest > 0 {
            let step = min(rest, schedule.glanceMilliseconds)
            try await node.environment.sleep(step)
            rest -= step
            if rest > 0, (try? await logBytes()) ?? 0 > schedule.logBytes { return }
        }
    }

    /// Drops what every member has read, and what is older than members are waited for.
    package func truncateLogs() async throws {
        let shortage = shortage()
        let retention = try await retention(shortage)
        var isLacked = false
        try await inEachScope { scope, number in
            let (end, stable) = try await node.gate.reading { [self] reader in
                let known = try self.stable(of: number, reader)
                return (try retention.end(of: number, stable: known, reader), known)
            }
            if retention.isShort, !stable.covers(end) { isLacked = true }
            try await dropStages(of: scope, number)
            try await truncateLog(of: scope, number, through: end)
        }
        missing.note(
            isLacked ? shortage ?? .logs(schedule.logBytes) : nil,
            node.environment.logger
        )
        try await reclaimLogs(isShort: shortage != nil)
        let taken = try await logBytes()
        node.logBudget.withLock {
            $0 = LogBudget(
                bytes: taken,
                limit: schedule.logBytes,
                retention: schedule.retentionMilliseconds
            )
        }
    }

    private func truncateLog(
        of scope: ScopeID,
        _ number: ScopeNumber,
        through end: VersionVector
    ) async throws {
        try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            guard try transaction.scope(scope) == number else { return }
            try Collection.truncateLog(of: number, through: end, &transaction)
        }
    }

    /// Gives back the disk of what was dropped, where it is much, or the logs or the disk have no
    /// room for it.
    private func reclaimLogs(isShort: Bool) async throws {
        let engine = node.gate.engine
        let taken = try await logBytes()
        let mayStay = isShort || taken > schedule.logBytes ? 0 : Collector.deadBytes
        guard taken > mayStay else { return }
        var pieces: [DeadLog.Piece] = []
        try await inEachScope { _, number in
            pieces += try await node.gate.reading { reader in
                try DeadLog().pieces(of: number, reader) { range throws(EngineError) in
                    try engine.byteCount(of: .log, range)
                }
            }
        }
        guard pieces.reduce(0, { $0 + $1.bytes }) > mayStay else { return }
        for piece in pieces {
            try await node.gate.reading { _ in try engine.reclaim(.log, piece.range) }
            try await pause()
        }
    }

    /// Gives back the disk of what was deleted on a disk that takes deletes only: by itself the
    /// engine merges new tables once there are many of them, and there deletes make few.
    func reclaimDeletes() async throws {
        guard node.gate.stops.takeDeletes() else { return }
        let engine = node.gate.engine
        for family in [Family.records, .index] {
            try await node.gate.reading { _ in try engine.reclaim(family, .everything) }
            try await pause()
        }
    }

    /// Bytes of disk, including dropped entries that are not reclaimed yet.
    private func logBytes() async throws -> UInt64 {
        let engine = node.gate.engine
        return try await node.gate.reading { _ in
            try engine.byteCount(of: .log, .all(.commit))
        }
    }

    /// Drops zones that another node's state has replaced, unless one is being taken.
    private func dropStages(of scope: ScopeID, _ number: ScopeNumber) async throws {
        guard node.beginTransfer(of: scope) else { return }
        defer { node.endTransfer(of: scope) }
        try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            try StagedZones.drop(of: number, &transaction)
        }
    }

    /// A disk that is nearly full: at twice the reserve, where writes go on still.
    private func shortage() -> MissingMembers.Shortage? {
        guard let free = node.gate.engine.freeBytes(), free / 2 < node.configuration.diskReserve
        else { return nil }
        return .disk(free)
    }

    /// How long log entries stay now: as long as they fit, and no longer than they must where the
    /// disk is short.
    private func retention(_ shortage: MissingMembers.Shortage?) async throws -> LogRetention {
        var retention = LogRetention(
            kept: schedule.keepMilliseconds,
            longest: schedule.retentionMilliseconds,
            now: node.clock
        )
        if shortage != nil {
            retention.keepLeast()
        } else if try await logBytes() > schedule.logBytes {
            while retention.canShrink, try await size(of: retention) > schedule.logBytes {
                retention.halve()
            }
        }
        return retention
    }

    /// Bytes of the logs of all scopes that stay.
    private func size(of retention: LogRetention) async throws -> UInt64 {
        let engine = node.gate.engine
        var sum: UInt64 = 0
        try await inEachScope { _, number in
            sum += try await node.gate.reading { reader in
                try retention.size(of: number, reader) { range throws(EngineError) in
                    try engine.byteCount(of: .log, range)
                }
            }
        }
        return sum
    }

    /// The part of this node's vector that all other members have reported.
    func stable(
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> VersionVector {
        let reports = try reader.reports(of: scope)
        let others = try Members.others(than: node.nodeID, in: reader)
        return Collection.stable(
            try reader.vector(of: scope),
            reports: others.map { reports[$0.nodeID]?.vector }
        )
    }
}
