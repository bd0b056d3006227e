// What a removed node made while it was away is handed over from its store: once, as what it is.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RescuedCommitsTests {
    private let here: TestStore
    private let away: TestStore

    /// Two nodes that held the same when one of them went away.
    init() throws {
        here = try TestStore(seed: 1)
        away = try TestStore(seed: 2)
        away.now += 1_000
        try here.save([SaveItem("r", ["a": 0, "n": 10])])
        try away.take(from: here)
    }

    // MARK: Handing over

    /// As the command does: what `here` lacks, a message after the other.
    ///
    /// Returns how many were new in each message, up to the first that was refused.
    ///
    /// - Parameters:
    ///   - messages: The command is killed after so many.
    ///   - byteLimit: 1 puts one commit into a message.
    private func handOver(
        _ scope: ScopeID? = nil,
        from store: TestStore? = nil,
        messages: Int = .max,
        byteLimit: Int = 1
    ) throws -> (counts: [Int], refusal: RescuedCommits.Refusal?) {
        let source = try RescueSource((store ?? away).reader)
        let scope = scope ?? here.scope
        let number = try #require(source.scopes.first { $0.scope == scope }?.number)
        let place = try #require(try here.reader.scope(scope))
        var outbound = OutboundCommits(scope: number, position: try here.reader.vector(of: place))
        var counts: [Int] = []
        while counts.count < messages {
            let batch = try #require(
                try source.next(of: number, from: &outbound, byteLimit: byteLimit)
            )
            switch try take(batch.commits, scope) {
            case .success(let count): counts.append(count)
            case .failure(let refusal): return (counts, refusal)
            }
            if batch.isAtEnd { break }
        }
        return (counts, nil)
    }

    private func take(
        _ commits: [Bytes],
        _ scope: ScopeID
    ) throws -> Result<Int, RescuedCommits.Refusal> {
        let rescued = RescuedCommits(scope: scope, commits: commits, clock: .init(now: here.now))
        var result: Result<Int, RescuedCommits.Refusal>?
        try here.change { (transaction: inout WriteTransaction) throws(EngineError) in
            result = try rescued.run(in: &transaction)
        }
        return try #require(result)
    }

    private func fields(_ name: String) throws -> Bytes {
        try here.fetch(name, in: .private, by: .alice).get().fields
    }

    /// Both hold the same once the other one has taken what is here.
    private func expectTheSame() throws {
        try away.take(from: here)
        let rows = try [here, away].map { try ReplicatedState.rows(of: $0.scope, in: $0.engine) }
        #expect(ReplicatedState.differences(rows[0], rows[1]) == [])
        #expect(try DerivedRows.differences(in: here.engine) == [])
    }

    // MARK: Once each

    @Test func aHandOverThatWasKilledIsRepeatedAndCountsOnce() throws {
        for number in 0..<4 {
            try away.save([SaveItem("r", increments: ["n": 1]), SaveItem("own\(number)", ["a": 1])])
        }
        try here.save([SaveItem("r", increments: ["n": 100])])
        let source = try RescueSource(away.reader)
        let count = try source.count(of: away.scopeNumber(), at: here.vector())
        #expect(count == (5, 1))
        #expect(try handOver(messages: 2).counts == [1, 1])
        #expect(try handOver().counts == [1, 1])
        #expect(try handOver().counts == [0])
        #expect(try fields("r") == WireField.body(["a": 0, "n": 114]))
        #expect(try fields("own3") == WireField.body(["a": 1]))
        try expectTheSame()
    }

    /// The answer to a message may be lost.
    @Test func aMessageThatComesTwiceCountsOnce() throws {
        try away.save([SaveItem("r", increments: ["n": 1])])
        var outbound = OutboundCommits(scope: try away.scopeNumber(), position: try here.vector())
        let batch = try #require(try outbound.next(away.reader, away.vector(), byteLimit: 1 << 20))
        #expect(try take(batch.commits, here.scope) == .success(1))
        #expect(try take(batch.commits, here.scope) == .success(0))
        #expect(try fields("r") == WireField.body(["a": 0, "n": 11]))
    }

    /// A caller tried its request on the node that went away, and then here.
    @Test func anIncrementThatWasRepeatedHereCountsOnce() throws {
        let request = here.request(
            ModifyRecords(
                database: .private,
                policy: .changedKeys,
                saves: [SaveItem("r", increments: ["n": 1])]
            ),
            by: .alice
        )
        for store in [away, here] { _ = try store.run(request).get() }
        #expect(try handOver().counts == [1])
        #expect(try fields("r") == WireField.body(["a": 0, "n": 11]))
        try expectTheSame()
    }

    /// What the node had of another one that is lost too goes along.
    @Test func commitsOfOtherNodesGoAlong() throws {
        let third = try TestStore(seed: 3)
        third.now += 2_000
        try third.take(from: here)
        try third.save([SaveItem("third", ["a": 3])])
        try away.take(from: third)
        try away.save([SaveItem("third", increments: ["n": 1])])
        #expect(try handOver().counts == [1, 1])
        #expect(try fields("third") == WireField.body(["a": 3, "n": 1]))
    }

    // MARK: As what they are

    /// The cluster waits for members only: it forgot the deletion meanwhile.
    @Test func aRecordWhoseDeletionIsForgottenStaysDeleted() throws {
        try away.save([SaveItem("r", ["a": 7])])
        try here.delete([DeleteItem("r")])
        try here.purge(.init(stable: try here.vector(), diedBefore: .max), limit: 10)
        #expect(try handOver().counts == [1])
        #expect(throws: ServiceError.self) { try fields("r") }
        let lost = try here.reader.rows(.log, .conflicts(of: here.scopeNumber()))
        #expect(lost.count == 1)
    }

    /// The later value stands, whenever it arrives.
    @Test func theLaterOfTwoValuesStands() throws {
        try away.save([SaveItem("r", ["a": 1]), SaveItem("s", ["a": 1])])
        here.now = away.now + 60_000
        try here.save([SaveItem("r", ["a": 2])])
        #expect(try handOver().counts == [1])
        #expect(try fields("r") == WireField.body(["a": 2, "n": 10]))
        try expectTheSame()
    }

    // MARK: Refusals

    @Test func aLogThatBeginsLaterSaysSo() throws {
        try away.save([SaveItem("r", ["a": 1])])
        let (scope, vector) = (try away.scopeNumber(), try away.vector())
        try away.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Collection.truncateLog(of: scope, through: vector, &transaction)
        }
        let source = try RescueSource(away.reader)
        var outbound = OutboundCommits(scope: scope, position: try here.vector())
        #expect(try source.next(of: scope, from: &outbound, byteLimit: 1) == nil)
    }

    /// Two copies of the directory were written to.
    @Test func aForkIsRefusedAndNothingOfItsMessageStays() throws {
        let copy = try away.backup()
        try away.save([SaveItem("one", ["a": 1])])
        #expect(try handOver().counts == [1])
        let before = try here.vector()
        try away.restore(copy, isNewRun: false)
        try away.save([SaveItem("other", ["a": 1])])
        try away.save([SaveItem("other", ["a": 2])])
        let (counts, refusal) = try handOver()
        #expect(counts == [])
        #expect(refusal == .unfit(away.state.incarnation, .forked))
        #expect(try here.vector() == before)
    }

    /// It would be given out a second time.
    @Test func theRunThatIsBeingMadeIsNotContinued() throws {
        let snapshot = try here.backup()
        try here.save([SaveItem("later", ["a": 1])])
        try away.take(from: here)
        try away.save([SaveItem("own", ["a": 1])])
        try here.restore(snapshot, isNewRun: false)
        #expect(try handOver(byteLimit: 1 << 20).refusal == .ownRun)
        // The next process is a new run, and takes it back.
        try here.restart()
        #expect(try handOver(byteLimit: 1 << 20).counts == [2])
    }

    private func change(
        _ store: TestStore,
        _ body: (inout WriteTransaction) throws(EngineError) -> Void
    ) throws {
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try body(&transaction)
        }
    }

    /// The node that was cut off took the others for lost; one of them was.
    @Test func membersThatTheNodeTookOffItsListStayOnOurs() throws {
        let ids = [here, away].map(\.state.node.nodeID) + [Bytes(repeating: 3, count: 16)]
        for store in [here, away] {
            try change(store) { transaction throws(EngineError) in
                for id in ids { _ = try Members.enter(id, endpoint: "", in: &transaction) }
            }
        }
        try change(here) { transaction throws(EngineError) in
            _ = try Members.remove(ids[1], in: &transaction)
        }
        try change(away) { transaction throws(EngineError) in
            _ = try Members.remove(ids[2], in: &transaction)
        }
        let refused = try handOver(.cluster, byteLimit: 1 << 20)
        #expect(refused.counts == [])
        #expect(refused.refusal == .removes([ids[2]]))
        #expect(try !Members.isRemoved(ids[2], in: here.reader))
        // An operator takes off here too what is gone.
        try change(here) { transaction throws(EngineError) in
            _ = try Members.remove(ids[2], in: &transaction)
        }
        let taken = try handOver(.cluster, byteLimit: 1 << 20)
        #expect(taken.refusal == nil && taken.counts.reduce(0, +) > 0)
        #expect(try Members.isRemoved(ids[1], in: here.reader))
    }

    // MARK: The source

    /// Containers are made in the cluster's own scope, so that comes first.
    @Test func theSourceSaysWhoseItIsAndWhatItHolds() throws {
        let source = try RescueSource(away.reader)
        #expect(source.node.nodeID == away.state.node.nodeID)
        #expect(source.scopes.map(\.scope).first == .cluster)
        #expect(source.scopes.contains { $0.scope == away.scope })
        let empty = ReadTransaction(MemoryEngine(), reach: .disk)
        #expect(throws: EngineError.self) { _ = try RescueSource(empty) }
    }

    /// Nodes know the increments of a day's requests.
    @Test func incrementsOfForgottenRequestsAreTold() throws {
        try away.save([SaveItem("r", increments: ["n": 1])])
        try away.save([SaveItem("r", ["a": 1])])
        var outbound = OutboundCommits(scope: try away.scopeNumber(), position: try here.vector())
        let batch = try #require(try outbound.next(away.reader, away.vector(), byteLimit: 1 << 20))
        let commits = try batch.commits.map { try Commit($0) }
        let day: Int64 = 86_400_000
        func told(_ age: Int64) -> [Bool] {
            commits.map { RescueSource.mayCountTwice($0, now: away.now + age) }
        }
        #expect(told(day / 2) == [false, false])
        #expect(told(day + 1_000) == [true, false])
    }
}
