// Tokens that callers carry say what they said, on every node of the cluster and on no other.

import CumulusModel
import CumulusReplication
import CumulusTesting
import Testing

@Suite struct TokenSealTests {
    private let key = Bytes(repeating: 7, count: 32)
    private let token: VectorToken = {
        var vector = VersionVector()
        vector[Incarnation(0x0102_0304_0506_0708)] = 300
        vector[Incarnation(9)] = 1
        let scope = ScopeID(container: "iCloud.test", environment: .production)
        return VectorToken(.causal, scope: scope, vector: vector)
    }()

    @Test func everyNodeOfTheClusterOpensIt() throws {
        let one = TokenSeal(key: key, run: Incarnation(1))
        let other = TokenSeal(key: key, run: Incarnation(2))
        let sealed = one.seal(token, number: 1)
        #expect(one.open(sealed) == token)
        #expect(other.open(sealed) == token)
        #expect(other.open(other.seal(token, number: 1)) == token)
        let empty = VectorToken(.causal, scope: .cluster, vector: VersionVector())
        #expect(one.open(one.seal(empty, number: 2)) == empty)
    }

    /// Two tokens that say the same don't look the same.
    @Test func noTokenIsMadeTwice() {
        let seal = TokenSeal(key: key, run: Incarnation(1))
        #expect(seal.seal(token, number: 1) != seal.seal(token, number: 2))
    }

    @Test func anotherClusterDoesNotOpenIt() {
        let sealed = TokenSeal(key: key, run: Incarnation(1)).seal(token, number: 1)
        let stranger = TokenSeal(key: Bytes(repeating: 8, count: 32), run: Incarnation(1))
        #expect(stranger.open(sealed) == nil)
    }

    @Test func damageIsNoticed() {
        let seal = TokenSeal(key: key, run: Incarnation(1))
        let sealed = seal.seal(token, number: 1)
        for cut in Damage.truncations(of: sealed) { #expect(seal.open(cut) == nil) }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(seal.open(changed) == nil, "byte \(index)")
        }
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let changed = Damage.mutation(of: sealed, using: &dice)
            #expect(seal.open(changed) == nil || changed == sealed)
        }
        #expect(seal.open(Bytes(repeating: 1, count: 100_000)) == nil)
    }
}
