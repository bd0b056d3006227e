// The disk space that a node's logs take, and the space that they may take.
//
// Noted by the collector each time that it has dropped log entries; read for the status, for the
// list of members and for warnings about them.

import CumulusModel
import CumulusReplication
import CumulusStorage

struct LogBudget: Sendable {
    /// Bytes of disk, dropped entries included.
    var bytes: UInt64 = 0
    /// Bytes that the logs may take.
    var limit: UInt64 = .max
    /// How long entries stay for a member that lacks them, in milliseconds.
    var retention: Int64 = Collector.Schedule().retentionMilliseconds

    /// About when a member will have to take state, in milliseconds since 1970 UTC; nil if it lacks
    /// nothing.
    func end(of backlog: LogBacklog, now: Int64) -> Int64? {
        backlog.end(now: now, retention: retention, room: limit - min(bytes, limit))
    }
}

extension Node {
    /// The part of a scope's log that a member lacks, by its last report.
    func backlog(
        of nodeID: Bytes,
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> LogBacklog {
        let row: ReportRow? = try reader.row(.report(scope, nodeID))
        let reported = row?.vector ?? VersionVector()
        return try LogBacklog(of: scope, reported: reported, reader) { range throws(EngineError) in
            try gate.engine.byteCount(of: .log, range)
        }
    }
}
