// Vectors: covering is an order, merging its least upper bound.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct VersionVectorTests {
    private static func random(_ dice: inout SeededGenerator) -> VersionVector {
        var vector = VersionVector()
        for incarnation in UInt64(1)...4 {
            vector[Incarnation(incarnation)] = .random(in: 0...3, using: &dice)
        }
        return vector
    }

    @Test func coversDotsUpToItsEntries() {
        let vector = VersionVector([Incarnation(7): 3])
        #expect(vector.covers(Dot(Incarnation(7), 3)))
        #expect(!vector.covers(Dot(Incarnation(7), 4)))
        #expect(!vector.covers(Dot(Incarnation(8), 1)))
    }

    @Test func emptyEntriesDontCount() {
        var vector = VersionVector([Incarnation(1): 0])
        #expect(vector.isEmpty)
        #expect(vector == VersionVector())
        vector[Incarnation(1)] = 2
        vector[Incarnation(1)] = 0
        #expect(vector == VersionVector())
    }

    @Test func dotsStandInOrder() {
        let vector = VersionVector([Incarnation(9): 1, Incarnation(2): 5])
        #expect(vector.dots == [Dot(Incarnation(2), 5), Dot(Incarnation(9), 1)])
    }

    @Test(arguments: UInt64(1)...4)
    func mergingIsTheLeastUpperBound(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let (a, b, c) = (Self.random(&dice), Self.random(&dice), Self.random(&dice))
            var ab = a
            ab.merge(b)
            var ba = b
            ba.merge(a)
            #expect(ab == ba)
            #expect(ab.covers(a) && ab.covers(b))
            if c.covers(a) && c.covers(b) { #expect(c.covers(ab)) }
            if a.covers(b) && b.covers(a) { #expect(a == b) }
        }
    }

    @Test(arguments: UInt64(1)...4)
    func changesBringAnEarlierVectorUpToDate(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let earlier = Self.random(&dice)
            var later = earlier
            later.merge(Self.random(&dice))
            var rebuilt = earlier
            let changes = later.changes(since: earlier)
            for dot in changes { rebuilt[dot.incarnation] = dot.seq }
            #expect(rebuilt == later)
            #expect(changes.isEmpty == (later == earlier))
        }
    }
}
