// Warns an operator of members that have been silent for long, of large logs kept for a member, and
// of logs that exceed their bound.
//
// The collector holds it and looks every half minute: a member that is gone for good blocks
// forgetting until an operator removes it from the list.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

final class MissingMembers: Sendable {
    struct Member: Equatable {
        var nodeID: Bytes
        var endpoint: String
        /// The time of its last sign of life, or of its listing, in milliseconds since 1970 UTC.
        var heard: Int64
        /// The part of the logs that is kept for it.
        var backlog = LogBacklog()
        /// About when it will have to take state, in milliseconds since 1970 UTC; nil if it lacks
        /// nothing.
        var stateAfter: Int64?
    }

    private struct State {
        /// The time of the last warning about each member.
        var told: [Bytes: Instant] = [:]
        var isShort = false
    }

    /// A member is warned of after this silence, then at the same interval.
    static let milliseconds: Int64 = 24 * 3_600_000

    private let state = Mutex(State())

    init() {}

    /// Other members that have said nothing for long, or for which the logs hold half of what they
    /// may take.
    static func find(
        in node: Node,
        _ reader: ReadTransaction,
        now: Int64
    ) throws(EngineError) -> [Member] {
        var found: [Member] = []
        let room = node.logBudget.withLock(\.self)
        let scopes = try ScopeDirectory.all(in: reader)
        for member in try Members.others(than: node.nodeID, in: reader) {
            var entry = Member(nodeID: member.nodeID, endpoint: member.endpoint, heard: member.time)
            for (_, scope) in scopes {
                // Damage in one scope must not hide a member that was heard of in another.
                let row = (try? reader.row(.report(scope, member.nodeID))) as ReportRow?
                entry.heard = max(entry.heard, row?.time ?? 0)
                let lacks = try? node.backlog(of: member.nodeID, in: scope, reader)
                entry.backlog.add(lacks ?? LogBacklog())
            }
            entry.stateAfter = room.end(of: entry.backlog, now: now)
            let isLong = now - entry.heard >= milliseconds
            if isLong || entry.backlog.bytes > room.limit / 2 { found.append(entry) }
        }
        return found
    }

    /// Tells of each once a day.
    func warn(of missing: [Member], now: Instant, _ logger: Logger) {
        let due = state.withLock { state in
            let due = missing.filter { member in
                state.told[member.nodeID].map { $0 + MissingMembers.milliseconds <= now } ?? true
            }
            state.told = state.told.filter { told in
                missing.contains { $0.nodeID == told.key }
            }
            for member in due { state.told[member.nodeID] = now }
            return due
        }
        for member in due {
            var metadata: Logger.Metadata = [
                "node": "\(member.nodeID.hex)", "address": "\(member.endpoint)",
                "heard": "\(Timestamp(millisecondsSince1970: member.heard).text)",
                "log": "\(member.backlog.bytes >> 20) MiB",
            ]
            // From then on the logs lack commits that it lacks.
            if let end = member.stateAfter {
                metadata["until"] = "\(Timestamp(millisecondsSince1970: end).text)"
            }
            logger.warning(
                """
                a member was not heard of for a day, or the logs hold much for it; they and \
                deletions are kept for it: start it, or take it off the list with 'cumulus cluster \
                remove'
                """,
                metadata: metadata
            )
        }
    }

    /// Why log entries are dropped that a member lacks.
    enum Shortage: Equatable {
        /// The logs take more bytes than they may.
        case logs(UInt64)
        /// The disk has so few bytes left.
        case disk(UInt64)
    }

    /// Tells when entries that a member lacks begin to be dropped for want of room, and when that
    /// is over; nil means none are.
    func note(_ shortage: Shortage?, _ logger: Logger) {
        let isNews = state.withLock { state in
            defer { state.isShort = shortage != nil }
            return state.isShort != (shortage != nil)
        }
        guard isNews else { return }
        let outcome = """
            log entries are dropped though a member lacks them, and it will take this node's state \
            instead
            """
        switch shortage {
        case .logs(let limit):
            logger.warning(
                "\(outcome): the logs take more room than they may",
                metadata: ["limit": "\(limit >> 20) MiB (--log-megabytes)"]
            )
        case .disk(let free):
            logger.warning(
                "\(outcome): the disk is nearly full",
                metadata: ["free": "\(free >> 20) MiB"]
            )
        case nil: logger.info("log entries wait for members again")
        }
    }
}
