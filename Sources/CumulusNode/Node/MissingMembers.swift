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
        var isShort = false
    }

    /// A member is warned of after this silence, then at the same interval.
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
            // Damage in one scope hides nobody who was heard of in another.
            for (member, report) in (try? reader.reports(of: scope)) ?? [:] {
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
