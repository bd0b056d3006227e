// Makes and opens the tokens that callers carry, and counts them: each is sealed with a number of
// its own.

import CumulusModel
import CumulusOperations
import CumulusReplication
import Synchronization

final class TokenMint: Sendable {
    private let seal: TokenSeal
    private let count = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - key: The cluster's, 32 bytes.
    ///   - run: This run of the node.
    init(key: Bytes, run: Incarnation) {
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

    private func next() -> UInt64 {
        count.wrappingAdd(1, ordering: .relaxed).newValue
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
}
