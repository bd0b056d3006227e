// Tokens that callers carry say what they said, on every node of the cluster and on no other.

import CumulusModel
import CumulusReplication
import CumulusTesting
import Testing

@Suite struct TokenSealTests {
    private let key = Bytes(repeating: 7, count: 32)
    private let content: Bytes = [1, 2, 3]

    @Test func everyNodeOfTheClusterOpensIt() throws {
        let one = TokenSeal(key: key, run: Incarnation(1))
        let other = TokenSeal(key: key, run: Incarnation(2))
        let sealed = one.seal(.causal, content, number: 1)
        #expect(one.open(.causal, sealed) == content)
        #expect(other.open(.causal, sealed) == content)
        #expect(other.open(.changes, other.seal(.changes, content, number: 1)) == content)
        #expect(one.open(.causal, one.seal(.causal, [], number: 2)) == [])
    }

    /// Two tokens that say the same don't look the same.
    @Test func noTokenIsMadeTwice() {
        let seal = TokenSeal(key: key, run: Incarnation(1))
        #expect(seal.seal(.causal, content, number: 1) != seal.seal(.causal, content, number: 2))
    }

    @Test func oneKindIsNeverTakenForAnother() {
        let seal = TokenSeal(key: key, run: Incarnation(1))
        var sealed = seal.seal(.causal, content, number: 1)
        #expect(seal.open(.changes, sealed) == nil)
        sealed[1] = TokenSeal.Kind.changes.rawValue
        #expect(seal.open(.changes, sealed) == nil)
    }

    @Test func anotherClusterDoesNotOpenIt() {
        let sealed = TokenSeal(key: key, run: Incarnation(1)).seal(.causal, content, number: 1)
        let stranger = TokenSeal(key: Bytes(repeating: 8, count: 32), run: Incarnation(1))
        #expect(stranger.open(.causal, sealed) == nil)
    }

    @Test func damageIsNoticed() {
        let seal = TokenSeal(key: key, run: Incarnation(1))
        let sealed = seal.seal(.causal, content, number: 1)
        for cut in Damage.truncations(of: sealed) { #expect(seal.open(.causal, cut) == nil) }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(seal.open(.causal, changed) == nil, "byte \(index)")
        }
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let changed = Damage.mutation(of: sealed, using: &dice)
            #expect(seal.open(.causal, changed) == nil || changed == sealed)
        }
        #expect(seal.open(.causal, Bytes(repeating: 1, count: 100_000)) == nil)
    }

    /// What a causal token says is read back, and nothing else is.
    @Test func aCausalTokenReadsBack() throws {
        var vector = VersionVector()
        vector[Incarnation(0x0102_0304_0506_0708)] = 300
        vector[Incarnation(9)] = 1
        let scope = ScopeID(container: "iCloud.test", environment: .production)
        for token in [
            CausalToken(scope: scope, vector: vector),
            CausalToken(scope: .cluster, vector: VersionVector()),
        ] {
            #expect(try CausalToken(content: token.content) == token)
            for cut in Damage.truncations(of: token.content) {
                #expect(throws: MalformedBytes.self) { try CausalToken(content: cut) }
            }
        }
    }
}
