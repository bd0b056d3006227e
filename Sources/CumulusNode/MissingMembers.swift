// Tells an operator of members that were not heard of for long, and when what is kept for them is
// too much.
//
// Held by the collector, which looks every half minute: a member that is gone for good holds up
// what may be forgotten until somebody takes it off the list.

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
        /// When it said something last, or was listed, in milliseconds since 1970 UTC.
        var heard: Int64
    }

    private struct State {
        /// When an operator was told of a member last.
        var told: [Bytes: Instant] = [:]
        var isFull = false
    }

    /// Without a word for so long a member is told of, and again after as long.
    static let milliseconds: Int64 = 24 * 3_600_000

    private let state = Mutex(State())

    init() {}

    /// Other members that have said nothing for long.
    static func find(
        except nodeID: Bytes,
        _ reader: ReadTransaction,
        now: Int64
    ) throws(EngineError) -> [Member] {
        var heard: [Bytes: Int64] = [:]
        for (_, scope) in try ScopeDirectory.all(in: reader) {
            for (member, report) in try reader.reports(of: scope) {
                heard[member] = max(heard[member] ?? 0, report.time)
            }
        }
        return try Members.others(than: nodeID, in: reader).compactMap { member in
            let time = max(heard[member.nodeID] ?? 0, member.time)
            if now - time < milliseconds { return nil }
            return Member(nodeID: member.nodeID, endpoint: member.endpoint, heard: time)
        }
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
            logger.warning(
                """
                a member was not heard of for a day; logs and deletions are kept for it: start it, \
                or take it off the list with 'cumulus cluster remove'
                """,
                metadata: [
                    "node": "\(member.nodeID.hex)", "address": "\(member.endpoint)",
                    "heard": "\(Timestamp(millisecondsSince1970: member.heard).text)",
                ]
            )
        }
    }

    /// Tells when the logs begin to be, or are no more, larger than they may be.
    func note(isFull: Bool, limit: UInt64, _ logger: Logger) {
        let isNews = state.withLock { state in
            defer { state.isFull = isFull }
            return state.isFull != isFull
        }
        guard isNews else { return }
        if !isFull { return logger.info("the logs fit into their room again") }
        logger.warning(
            """
            the logs take more room than they may: their oldest entries are dropped though a \
            member lacks them, and it will take this node's state instead
            """,
            metadata: ["megabytes": "\(limit >> 20)"]
        )
    }
}
