// What a peer is sent: everything that it lacks, in an order in which it can apply it, and what it
// does with that.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

extension OutboundCommits {
    /// The next commits of a store of one scope.
    fileprivate mutating func next(of store: TestStore, byteLimit: Int) throws -> Batch? {
        try next(store.reader, store.vector(), byteLimit: byteLimit)
    }
}

@Suite struct OutboundCommitsTests {
    /// All batches of a store for a reader at a vector.
    private static func batches(
        of store: TestStore,
        above vector: VersionVector,
        byteLimit: Int
    ) throws -> [OutboundCommits.Batch] {
        var outbound = OutboundCommits(scope: try store.scopeNumber(), position: vector)
        var batches: [OutboundCommits.Batch] = []
        repeat {
            let batch = try #require(try outbound.next(of: store, byteLimit: byteLimit))
            batches.append(batch)
        } while batches.last?.isAtEnd == false
        #expect(outbound.position.covers(try store.vector()))
        return batches
    }

    /// Commits of several nodes, interleaved, are applied without a wait by an empty node and by
    /// one that has some of them.
    @Test(arguments: 1...20) func everyBatchCanBeAppliedAsItComes(seed: UInt64) throws {
        var cluster = try SimulatedCluster(3, seed: seed)
        try cluster.run(steps: 80)
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            let source = cluster.stores[from]
            let target = try TestStore(copying: cluster.stores[to], seed: seed)
            target.now = .max / 4
            let batches = try Self.batches(of: source, above: target.vector(), byteLimit: 500)
            for batch in batches {
                var outcome: PeerCommits.Outcome?
                try target.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    let commits = PeerCommits(
                        scope: source.scope,
                        commits: batch.commits,
                        clock: .init(now: target.now)
                    )
                    outcome = try commits.run(in: &transaction).0
                }
                #expect(outcome == .taken(batch.commits.count), "seed \(seed)")
            }
            #expect(try target.vector().covers(source.vector()))
        }
    }

    @Test func aBatchEndsAtItsLimitAndHoldsAtLeastOneCommit() throws {
        let store = try TestStore()
        for number in 0..<20 { try store.save([SaveItem("r\(number)", ["a": 1])]) }
        let ones = try Self.batches(of: store, above: VersionVector(), byteLimit: 1)
        #expect(ones.map(\.commits.count) == Array(repeating: 1, count: 20))
        let all = try Self.batches(of: store, above: VersionVector(), byteLimit: 1 << 20)
        #expect(all.map(\.commits.count) == [20])
        #expect(all[0].commits == ones.flatMap(\.commits))
    }

    @Test func whoHasEverythingGetsNothing() throws {
        let store = try TestStore()
        try store.save([SaveItem("r", ["a": 1])])
        let batches = try Self.batches(of: store, above: store.vector(), byteLimit: 100)
        #expect(batches.map(\.commits) == [[]])
        #expect(batches[0].vector == (try store.vector()))
    }

    /// A node is not sent back what it made itself in this run.
    @Test func theReadersOwnRunIsLeftOut() throws {
        let one = try TestStore(seed: 1)
        let other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("a", ["a": 1])])
        try other.take(from: one)
        try other.save([SaveItem("b", ["a": 1])])
        var outbound = OutboundCommits(
            scope: try other.scopeNumber(),
            position: VersionVector(),
            run: one.state.incarnation
        )
        let batch = try #require(try outbound.next(of: other, byteLimit: 1_000))
        #expect(
            try batch.commits.map { try CommitHead($0).dot.incarnation }
                == [other.state.incarnation]
        )
        #expect(batch.isAtEnd)
    }

    /// What the reader takes elsewhere it is told of and not sent, also where something depends on
    /// it.
    @Test func whatIsTakenElsewhereIsToldOf() throws {
        let one = try TestStore(seed: 1)
        let other = try TestStore(copying: one, seed: 2)
        let run = one.state.incarnation
        let scope = try other.scopeNumber()
        var outbound = OutboundCommits(scope: scope, position: VersionVector(), elsewhere: [run])
        func next() throws -> (dots: [Dot], news: [Dot]) {
            let batch = try #require(try outbound.next(of: other, byteLimit: 1_000))
            #expect(batch.isAtEnd)
            return (try batch.commits.map { try CommitHead($0).dot }, batch.news.dots)
        }
        try one.save([SaveItem("a", ["a": 1])])
        try other.take(from: one)
        try other.save([SaveItem("b", ["a": 1])])
        let first = try next()
        #expect(first.dots == [Dot(other.state.incarnation, 1)])
        #expect(first.news == [Dot(run, 1)])
        let second = try next()
        #expect(second.dots == [] && second.news == [])
        try one.save([SaveItem("c", ["a": 1])])
        try other.take(from: one)
        let third = try next()
        #expect(third.dots == [] && third.news == [Dot(run, 2)])
    }

    @Test func aTruncatedLogSaysSo() throws {
        let store = try TestStore()
        try store.save([SaveItem("r", ["a": 1])])
        let scope = try store.scopeNumber()
        let vector = try store.vector()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Collection.truncateLog(of: scope, through: vector, &transaction)
        }
        var outbound = OutboundCommits(scope: scope, position: VersionVector())
        #expect(try outbound.next(of: store, byteLimit: 100) == nil)
        outbound = OutboundCommits(scope: scope, position: vector)
        #expect(try outbound.next(of: store, byteLimit: 100)?.isAtEnd == true)
    }
}

@Suite struct PeerCommitsTests {
    private let one: TestStore
    private let other: TestStore
    private let sent: [Bytes]

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        for number in 0..<4 { try one.save([SaveItem("r\(number)", ["a": 1])]) }
        sent = try one.commits(above: [:]).values.joined().map(\.1)
    }

    private func take(_ commits: [Bytes], scope: ScopeID? = nil) throws -> PeerCommits.Outcome {
        try take(commits, paused: [:], scope: scope).0
    }

    private func take(
        _ commits: [Bytes],
        paused: PeerCommits.Paused,
        scope: ScopeID? = nil
    ) throws -> (PeerCommits.Outcome, PeerCommits.Paused) {
        var outcome: (PeerCommits.Outcome, PeerCommits.Paused)?
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let commits = PeerCommits(
                scope: scope ?? one.scope,
                commits: commits,
                paused: paused,
                clock: .init(now: transaction.now)
            )
            outcome = try commits.run(in: &transaction)
        }
        return try #require(outcome)
    }

    @Test func whatIsKnownIsPassedOver() throws {
        #expect(try take(Array(sent.prefix(2))) == .taken(2))
        #expect(try take(sent) == .taken(2))
        #expect(try take(sent) == .taken(0))
        #expect(try other.names(in: .private, by: .alice).count == 4)
    }

    @Test func aGapIsNotJumped() throws {
        let missing = try Commit(sent[1]).stamp.dot
        #expect(try take([sent[0], sent[2]]) == .waits(for: missing))
        // Earlier commits stay.
        #expect(try other.names(in: .private, by: .alice) == ["r0"])
    }

    /// A commit that can't be read or applied takes nothing along of what came before it.
    @Test func damagePausesItsOriginAndChangesNothing() throws {
        for damaged in [Bytes(sent[1].dropLast(3)), sent[1] + [0xFF]] {
            let (outcome, paused) = try take([sent[0], damaged] + sent.dropFirst(2), paused: [:])
            #expect([.taken(1), .taken(0)].contains(outcome))
            guard case .unreadable = paused[one.state.incarnation] else {
                Issue.record("damage was taken: \(paused)")
                continue
            }
        }
        #expect(try other.names(in: .private, by: .alice) == ["r0"])
        #expect(try take([[0xFF]]) == .malformed("it has no head"))
    }

    // MARK: Generations

    static let inZones: [Commit.Operation] = [
        .zoneCreate, .zoneDelete(reason: 0), .delete(recordName: "r", births: []),
        .put(Commit.Put(recordName: "r", birth: nil, type: "t", fields: RecordBody())),
    ]

    /// The first commit of a stranger, in a zone of Alice's.
    private func strange(
        _ operation: Commit.Operation,
        _ name: String,
        _ generation: UInt64
    ) throws -> Bytes {
        let database = try Authorisation.database(.private, for: .alice)
        let zone = Commit.Zone(database: database, name: name, generation: generation)
        return Commit.foreign(operation, milliseconds: other.now, zone: zone).encoded()
    }

    static let beyond: [UInt64] = [2, Zones.lastGeneration, .max]

    /// A zone that nobody made can't be ended, nor all of its generations: the origin is refused,
    /// and the node goes on.
    @Test(arguments: inZones, beyond)
    func aGenerationThatCanNotBePausesItsOrigin(
        operation: Commit.Operation,
        generation: UInt64
    ) throws {
        for name in ["z", Names.defaultZone] {
            let (outcome, paused) = try take([strange(operation, name, generation)], paused: [:])
            #expect(outcome == .taken(0))
            guard case .unreadable = paused[Incarnation(42)] else {
                Issue.record("it was taken: \(paused)")
                return
            }
        }
        try other.restart()
        #expect(try other.modify(ModifyZones(saving: ["z"]), by: .alice).codes == [nil])
        #expect(try other.save([SaveItem("own", ["a": 1])]).codes == [nil])
        #expect(try take(sent) == .taken(4))
        #expect(try other.names(in: .private, by: .alice) == ["own", "r0", "r1", "r2", "r3"])
    }

    /// Behind the last generation no zone is made, nor written to: a state may say so.
    @Test(arguments: ["z", Names.defaultZone])
    func nothingFollowsTheLastGeneration(name: String) throws {
        try other.modify(ModifyZones(saving: ["z"]), by: .alice)
        try other.save([SaveItem("old", ["a": 1])])
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(other.scope)
            let owner = DatabaseID(kind: .private, owner: Caller.alice.user)
            let database = try transaction.makeDatabase(scope, owner)
            guard var row = try transaction.zone(database, name) else { return }
            row.deadThrough = Zones.lastGeneration
            transaction.put(.zone(database, name), row)
        }
        try other.restart()
        let made = try other.modify(ModifyZones(saving: [name]), by: .alice)
        #expect(made.codes == [.limitExceeded])
        let zone = ZoneAddress(name: name)
        let saved = try other.save([SaveItem("own", ["a": 1], in: zone)])
        #expect(saved.codes == [.zoneNotFound])
        #expect(try other.modify(ModifyZones(saving: ["y"]), by: .alice).codes == [nil])
    }

    /// A row of this node's own can't be read: nothing is wrong with the commit.
    @Test func damageHereIsToldApart() throws {
        #expect(try take(sent) == .taken(4))
        let zone = try #require(try other.zoneNumber(ZoneAddress(), by: .alice))
        let key = RowKey.record(zone, "r1")
        let row = try #require(try other.reader.get(key))
        func put(_ bytes: Bytes) throws {
            try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
                transaction.put(key, bytes)
            }
        }
        try put([0xFF])
        try one.save([SaveItem("r1", ["a": 2])])
        let more = try one.commits(above: other.vectors()).values.joined().map(\.1)
        let (outcome, paused) = try take(more, paused: [:])
        #expect(outcome == .taken(0))
        guard case .damagedHere(let what) = paused[one.state.incarnation] else {
            Issue.record("another node is to blame: \(paused)")
            return
        }
        #expect(what.contains(key.bytes.hex))
        try put(row)
        #expect(try take(more) == .taken(1))
    }

    /// Its own row is whole: the commit says what this release doesn't know.
    @Test func whatCanNotBeAppliedIsItsOriginsFault() throws {
        #expect(try take(Array(sent.prefix(1))) == .taken(1))
        var newer = try Commit(sent[1])
        let register = Commit.Register(
            namespace: SchemaRegister.fieldNamespace,
            key: ["Note", "x"].map { Bytes($0.utf8) },
            value: Bytes("VECTOR".utf8)
        )
        newer.operations.append(.register(register))
        let (outcome, paused) = try take([newer.encoded()], paused: [:])
        #expect(outcome == .taken(0))
        let refusal = CommitIntake.Refusal.unreadable("a schema register is damaged")
        #expect(paused == [one.state.incarnation: refusal])
    }

    /// What a commit leads to is damaged: a child whose owner it deletes.
    @Test func damageBehindACommitIsDamageHere() throws {
        #expect(try take(sent) == .taken(4))
        try other.save([SaveItem("child", ["owner": .owner("r0")])])
        let zone = try #require(try other.zoneNumber(ZoneAddress(), by: .alice))
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(RowKey.record(zone, "child"), [0xFF])
        }
        try one.delete([DeleteItem("r0")])
        let more = try one.commits(above: other.vectors()).values.joined().map(\.1)
        let paused = try take(more, paused: [:]).1
        guard case .damagedHere = paused[one.state.incarnation] else {
            Issue.record("another node is to blame: \(paused)")
            return
        }
        #expect(try other.reader.record(zone, "r0")?.isDead == false)
    }

    @Test func anUnknownScopeIsReported() throws {
        let scope = ScopeID(container: "elsewhere", environment: .production)
        #expect(try take(sent, scope: scope) == .unknownScope)
    }

    /// Two runs of one machine's copy made different commits under one name.
    @Test func aForkPausesItsOrigin() throws {
        #expect(try take(Array(sent.prefix(1))) == .taken(1))
        var forked = try Commit(sent[0])
        forked.user = "somebody else"
        let (outcome, paused) = try take([forked.encoded()] + sent, paused: [:])
        #expect(outcome == .taken(0))
        #expect(paused == [forked.stamp.dot.incarnation: .forked])
        #expect(try other.names(in: .private, by: .alice) == ["r0"])
    }

    /// One bad clock holds up its own node's commits and those made on top of them, nobody else's.
    @Test func aClockThatIsAheadPausesItsOriginOnly() throws {
        let third = try TestStore(copying: one, seed: 3)
        let fourth = try TestStore(copying: one, seed: 4)
        third.now += 120_000
        try third.save([SaveItem("ahead", ["a": 1])])
        try fourth.save([SaveItem("fine", ["a": 1])])
        let ahead = try third.commits(above: one.vectors()).values.joined().map(\.1)
        let fine = try fourth.commits(above: one.vectors()).values.joined().map(\.1)
        try fourth.take(from: third)
        try fourth.save([SaveItem("after", ["a": 1])])
        let after = try fourth.commits(
            above: fourth.vectors().mapValues {
                VectorRow(seq: $0.seq - 1, time: $0.time, hash: $0.hash)
            }
        )[fourth.state.incarnation, default: []].map(\.1)
        #expect(try take(sent) == .taken(4))
        let (outcome, paused) = try take(ahead + fine + after, paused: [:])
        #expect(outcome == .taken(1))
        let (bad, good) = (third.state.incarnation, fourth.state.incarnation)
        #expect(paused == [bad: .clockAhead(milliseconds: 120_000), good: .follows(bad)])
        #expect(try other.names(in: .private, by: .alice).contains("fine"))
        #expect(try !other.names(in: .private, by: .alice).contains("after"))
        // In the next batch it is known, and later the clock is right.
        #expect(try take(after, paused: paused).0 == .taken(0))
        other.now += 120_000
        #expect(try take(ahead + after) == .taken(2))
        #expect(try other.names(in: .private, by: .alice).contains("after"))
    }

    /// What depends on commits that somebody else is to send waits for them, though the commits of
    /// a third are refused.
    @Test func whatWaitsForSomebodyElseIsNotSkipped() throws {
        let third = try TestStore(copying: one, seed: 3)
        let fourth = try TestStore(copying: one, seed: 4)
        third.now += 120_000
        try third.save([SaveItem("ahead", ["a": 1])])
        let ahead = try third.commits(above: one.vectors()).values.joined().map(\.1)
        try fourth.save([SaveItem("first", ["a": 1])])
        try fourth.save([SaveItem("second", ["a": 1])])
        let two = try fourth.commits(above: one.vectors()).values.joined().map(\.1)
        let first = try Commit(two[0]).stamp.dot
        #expect(try take(sent) == .taken(4))
        let (outcome, paused) = try take(ahead + [two[1]], paused: [:])
        #expect(outcome == .waits(for: first))
        #expect(paused == [third.state.incarnation: .clockAhead(milliseconds: 120_000)])
        #expect(try take(two, paused: paused).0 == .taken(2))
    }
}

@Suite struct PeerProofTests {
    private static let key = Bytes(repeating: 7, count: 32)
    private static let nonces = (Bytes(repeating: 1, count: 32), Bytes(repeating: 2, count: 32))
    private static let node = Bytes(repeating: 3, count: 16)

    private static func make(
        _ side: PeerProof.Side,
        key: Bytes = key,
        certificate: Bytes = []
    ) -> Bytes {
        PeerProof(key: key).make(
            side,
            serverNonce: nonces.0,
            diallerNonce: nonces.1,
            nodeID: node,
            certificate: certificate
        )
    }

    private static func isRight(
        _ proof: Bytes,
        _ side: PeerProof.Side = .dialler,
        server: Bytes = nonces.0,
        dialler: Bytes = nonces.1,
        node: Bytes = node,
        certificate: Bytes = []
    ) -> Bool {
        PeerProof(key: key).isRight(
            proof,
            side,
            serverNonce: server,
            diallerNonce: dialler,
            nodeID: node,
            certificate: certificate
        )
    }

    /// What another implementation would have to send.
    @Test func theBytesAreThoseOfTheContract() {
        #expect(Self.make(.dialler).count == 32)
        #expect(PeerProof.Side.dialler.rawValue.utf8.count == 17)
        #expect(PeerProof.Side.listener.rawValue.utf8.count == 17)
        #expect(
            Self.make(.dialler).hex
                == "0e12da2b8048c21f244b1b46c4f1a194df309bb78a703beb76c8ce86f0ebe344"
        )
    }

    @Test func aProofIsGoodForOneConnectionAndOneSide() {
        let proof = Self.make(.dialler)
        let other = Bytes(repeating: 9, count: 32)
        #expect(Self.isRight(proof))
        #expect(!Self.isRight(proof, .listener))
        #expect(!Self.isRight(proof, server: other))
        #expect(!Self.isRight(proof, dialler: other))
        #expect(!Self.isRight(proof, node: Bytes(repeating: 4, count: 16)))
        #expect(!Self.isRight(proof, dialler: []))
        #expect(!Self.isRight([]))
        // Over TLS, for one certificate: nobody in between can pass it on.
        let bound = Self.make(.dialler, certificate: other)
        #expect(Self.isRight(bound, certificate: other))
        #expect(!Self.isRight(bound, certificate: Bytes(repeating: 8, count: 32)))
        #expect(!Self.isRight(bound))
        #expect(!Self.isRight(proof, certificate: other))
        #expect(!Self.isRight(Self.make(.dialler, key: other)))
        for bit in 0..<256 {
            var flipped = proof
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(!Self.isRight(flipped))
        }
    }
}
