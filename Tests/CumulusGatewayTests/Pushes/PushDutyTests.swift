// Who pushes in a cluster, without nodes: one at a time, with another one soon after a kill.

import CumulusGateway
import CumulusModel
import CumulusNode
import Testing

@Suite struct PushDutyTests {
    /// Members with their clocks, each with what it sees of the others.
    private struct Cluster {
        struct Member {
            var duty = PushDuty()
            var run: UInt64
            var isUp = true
            /// When it started, in milliseconds.
            var start: Int64
        }

        var now: Int64 = 0
        var members: [Member]
        /// Pairs whose connection is broken.
        var cut: Set<Set<Int>> = []
        /// The numbers of those that push, at each step.
        private(set) var pushing: [[Int]] = []

        init(_ count: Int) {
            members = (0..<count).map { Member(run: UInt64($0), start: 0) }
        }

        private func peer(_ number: Int) -> PushMembers.Peer {
            PushMembers.Peer([UInt8(number)], run: Incarnation(members[number].run))
        }

        private func seen(by number: Int) -> PushMembers {
            let others = members.indices.filter { other in
                other != number && members[other].isUp && !cut.contains([other, number])
                    // Connections take a moment.
                    && now - members[other].start > 100 && now - members[number].start > 100
            }
            return PushMembers(
                isAlone: members.count == 1,
                lower: Set(others.filter { $0 < number }.map(peer)),
                higher: Set(others.filter { $0 > number }.map(peer))
            )
        }

        mutating func run(_ milliseconds: Int64) {
            for _ in 0..<(milliseconds / 50) {
                now += 50
                var pushing: [Int] = []
                for number in members.indices where members[number].isUp {
                    let seen = seen(by: number)
                    if members[number].duty.decide(seen, now: now) { pushing.append(number) }
                }
                self.pushing.append(pushing)
            }
        }

        mutating func kill(_ number: Int) { members[number].isUp = false }

        mutating func restart(_ number: Int) {
            members[number] = Member(run: members[number].run + 100, start: now)
        }

        mutating func forget() { pushing = [] }
    }

    @Test func aNodeWithoutOthersPushesAtOnce() {
        var duty = PushDuty()
        let (first, later) = (duty.decide(PushMembers(), now: 0), duty.decide(nil, now: 10_000))
        #expect(first && !later)
    }

    @Test func theLowestOfANewClusterBegins() {
        var cluster = Cluster(3)
        cluster.run(4_000)
        #expect(cluster.pushing.allSatisfy { $0.isEmpty })
        cluster.run(4_000)
        #expect(cluster.pushing.last == [0])
        #expect(cluster.pushing.allSatisfy { $0.count <= 1 })
    }

    @Test func anotherOneTakesOverWithinASecond() {
        var cluster = Cluster(3)
        cluster.run(10_000)
        for killed in 0..<2 {
            cluster.forget()
            cluster.kill(killed)
            cluster.run(1_000)
            #expect(cluster.pushing.last == [killed + 1])
            cluster.run(10_000)
            #expect(cluster.pushing.allSatisfy { $0.count <= 1 })
        }
    }

    /// The one that comes back waits until the others have left it the pushes, and no longer than
    /// a moment more.
    @Test(arguments: 0..<3) func oneThatComesBackTakesOverInTurn(killed: Int) {
        var cluster = Cluster(3)
        cluster.run(10_000)
        cluster.kill(killed)
        cluster.run(3_000)
        cluster.forget()
        cluster.restart(killed)
        cluster.run(15_000)
        #expect(cluster.pushing.last == [0])
        #expect(cluster.pushing.allSatisfy { $0.count <= 1 })
        let gap = cluster.pushing.count { $0.isEmpty }
        #expect(gap * 50 <= 1_500, "nobody pushed for \(gap * 50) ms")
    }

    @Test func aConnectionThatBreaksForAMomentChangesNothing() {
        var cluster = Cluster(3)
        cluster.run(10_000)
        cluster.forget()
        cluster.cut = [[0, 1], [0, 2]]
        cluster.run(400)
        cluster.cut = []
        cluster.run(10_000)
        #expect(cluster.pushing.allSatisfy { $0 == [0] })
    }

    @Test func aQuickRestartLeavesNobodyWithoutPushes() {
        var cluster = Cluster(3)
        cluster.run(10_000)
        cluster.forget()
        cluster.kill(0)
        cluster.run(100)
        cluster.restart(0)
        cluster.run(15_000)
        #expect(cluster.pushing.allSatisfy { $0.count <= 1 })
        let first = cluster.pushing.firstIndex { $0 == [1] }
        #expect(first.map { $0 * 50 <= 1_000 } == true)
        #expect(cluster.pushing.last == [0])
    }

    /// Parts that do not hear of each other both push; that can't be helped.
    @Test func eachPartOfACutClusterPushes() {
        var cluster = Cluster(3)
        cluster.run(10_000)
        cluster.cut = [[0, 1], [0, 2]]
        cluster.run(2_000)
        #expect(cluster.pushing.last == [0, 1])
        cluster.cut = []
        cluster.run(10_000)
        #expect(cluster.pushing.last == [0])
    }

    /// A store that is busy for a moment stops nothing.
    @Test func aNodeThatCanNotSayGoesOnForAMoment() {
        var duty = PushDuty()
        let members = PushMembers(isAlone: false)
        var now: Int64 = 0
        while !duty.decide(members, now: now) { now += 50 }
        #expect(now == PushDuty.patience)
        let (soon, later) = (duty.decide(nil, now: now + 400), duty.decide(nil, now: now + 600))
        #expect(soon && !later)
    }
}
