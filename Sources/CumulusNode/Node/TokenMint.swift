// Makes and opens the tokens that callers carry, each sealed with a number of its own: what time it
// is, or one more than the last one. A machine that went back to a snapshot of itself, and goes on
// as the same run, has another time.

import CumulusModel
import CumulusOperations
import CumulusReplication
import Synchronization

final class TokenMint: Sendable {
    private let seal: TokenSeal
    private let last = Atomic<UInt64>(0)
    private let wallClock: @Sendable () -> Int64

    /// - Parameters:
    ///   - key: The cluster's, 32 bytes.
    ///   - run: This run of the node.
    ///   - wallClock: Milliseconds since 1970 UTC.
    init(key: Bytes, run: Incarnation, wallClock: @escaping @Sendable () -> Int64) {
        self.wallClock = wallClock
        seal = TokenSeal(key: key, run: run)
    }

    func make(_ token: CausalToken) -> Bytes {
        seal.seal(.causal, token.content, number: next())
    }

    func make(_ token: ChangeToken) -> Bytes {
        seal.seal(.changes, token.content, number: next())
    }

    func make(_ cursor: QueryCursor) -> Bytes {
        seal.seal(.cursor, cursor.content, number: next())
    }

    func make(_ token: FeedToken) -> Bytes {
        seal.seal(.feed, token.content, number: next())
    }

    func seal(web content: Bytes) -> Bytes { seal.seal(.web, content, number: next()) }

    /// nil if no node of this cluster sealed it, or it is damaged.
    func open(web bytes: Bytes) -> Bytes? { seal.open(.web, bytes) }

    /// The id of a notification, the same on every node.
    func id(of news: FeedNews) -> FeedNotification.ID {
        FeedNotification.ID(bytes: seal.name(of: news.identity))
    }

    private func next() -> UInt64 {
        // Room for a million in each millisecond.
        let now = UInt64(clamping: wallClock()) &* 1_000_000
        last.max(now, ordering: .relaxed)
        return last.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// nil if no node of this cluster made it, or it is damaged.
    func causal(_ bytes: Bytes) -> CausalToken? {
        seal.open(.causal, bytes).flatMap { try? CausalToken(content: $0) }
    }

    /// nil if no node of this cluster made it, or it is damaged.
    func changes(_ bytes: Bytes) -> ChangeToken? {
        seal.open(.changes, bytes).flatMap { try? ChangeToken(content: $0) }
    }

    /// nil if no node of this cluster made it, or it is damaged.
    func cursor(_ bytes: Bytes) -> QueryCursor? {
        seal.open(.cursor, bytes).flatMap { try? QueryCursor(content: $0) }
    }

    /// nil if no node of this cluster made it, or it is damaged.
    func feed(_ bytes: Bytes) -> FeedToken? {
        seal.open(.feed, bytes).flatMap { try? FeedToken(content: $0) }
    }
}
