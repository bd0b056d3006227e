// Makes and opens the tokens that callers carry, and counts them: each is sealed with a number of
// its own.

import CumulusModel
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

    func make(_ token: VectorToken) -> Bytes {
        seal.seal(token, number: count.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// nil if no node of this cluster made it, or it is damaged.
    func open(_ bytes: Bytes) -> VectorToken? {
        seal.open(bytes)
    }
}
