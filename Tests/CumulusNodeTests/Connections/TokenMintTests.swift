// What makes two tokens of one run different.

import CumulusModel
import CumulusReplication
import CumulusTesting
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct TokenMintTests {
    private static let token = CausalToken(
        scope: ScopeID(container: "c", environment: .development),
        vector: VersionVector(),
        truncation: HybridTime(0)
    )

    private func mint(_ clock: @escaping @Sendable () -> Int64) -> TokenMint {
        TokenMint(key: Bytes(repeating: 1, count: 32), run: Incarnation(7), wallClock: clock)
    }

    @Test func noTwoTokensShareANumber() {
        let mint = mint { 1_750_000_000_000 }
        let tokens = (0..<100).map { _ in mint.make(Self.token) }
        #expect(Set(tokens).count == 100)
    }

    /// A machine goes back to a snapshot of itself: its memory is what it was, the time is not.
    @Test func aMachineThatWentBackMakesOthers() {
        let before = mint { 1_750_000_000_000 }
        let after = mint { 1_750_000_000_001 }
        let first = Set((0..<1_000).map { _ in before.make(Self.token) })
        let second = Set((0..<1_000).map { _ in after.make(Self.token) })
        #expect(first.isDisjoint(with: second))
    }
}
