// What a user marks as read at several nodes: all of it counts, whether it comes as commits or as
// state.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ReadMarkTests {
    private let one: TestStore
    private let other: TestStore

    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        try one.save([SaveItem("n", ["a": 1])])
        try other.take(from: one)
    }

    private func id(_ number: UInt8) -> FeedNotification.ID {
        FeedNotification.ID(bytes: Bytes(repeating: number, count: 16))
    }

    private func marks(_ store: TestStore) throws -> ReadMarks {
        try store.reader.readMarks(of: ReadMarks.Reader("_alice"), in: store.scopeNumber())
    }

    /// Everything that a node has.
    private func token(_ store: TestStore) throws -> FeedToken {
        FeedToken(
            scope: store.scope,
            user: "_alice",
            base: try store.vector(),
            truncation: HybridTime(0)
        )
    }

    private func differences() throws -> [String] {
        let states = try [one, other].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        return ReplicatedState.differences(states[0], states[1])
    }

    /// Each node marks without the other: by ids, and up to what it alone has.
    private func markApart() throws -> VersionVector {
        try one.save([SaveItem("n", ["a": 2])])
        try other.save([SaveItem("m", ["a": 2])])
        var both = try one.vector()
        both.merge(try other.vector())
        try one.mark(MarkRead([id(1), id(2)], upTo: token(one)))
        other.now += 1_000
        try other.mark(MarkRead([id(2), id(3)], upTo: token(other)))
        return both
    }

    private func expectAll(_ both: VersionVector) throws {
        for store in [one, other] {
            let marks = try marks(store)
            #expect([1, 2, 3].allSatisfy { marks.holds(id($0)) })
            #expect(!marks.holds(id(4)))
            #expect(marks.vector.covers(both))
        }
        #expect(try differences() == [])
    }

    /// What a webhook was told by two nodes is joined too, and is no mark of the user.
    @Test func marksOfAWebhookAreItsOwn() throws {
        var both = VersionVector()
        for store in [one, other] {
            try store.save([SaveItem(store === one ? "n" : "m", ["a": 2])])
            both.merge(try store.vector())
            var mark = MarkRead(upTo: try token(store))
            mark.webhook = "orders"
            try store.mark(mark)
        }
        try one.take(from: other)
        try other.take(from: one)
        let webhook = ReadMarks.Reader("_alice", webhook: "orders")
        for store in [one, other] {
            let told = try store.reader.readMarks(of: webhook, in: store.scopeNumber())
            #expect(told.vector.covers(both))
            #expect(try marks(store) == ReadMarks())
            let another = ReadMarks.Reader("_alice", webhook: "other")
            #expect(
                try store.reader.readMarks(of: another, in: store.scopeNumber()) == ReadMarks()
            )
        }
        #expect(try differences() == [])
    }

    @Test func concurrentMarksBothCount() throws {
        let both = try markApart()
        try one.take(from: other)
        try other.take(from: one)
        try expectAll(both)
    }

    @Test(arguments: StateWay.allCases) func marksComeWithState(way: StateWay) throws {
        let both = try markApart()
        try one.takeState(of: other, way)
        try other.takeState(of: one, way)
        try expectAll(both)
    }

    @Test func marksComeBackWithABackup() throws {
        try one.mark(MarkRead([id(1)]))
        let backup = try one.backup()
        try one.mark(MarkRead([id(2)]))
        try other.take(from: one)
        try one.restore(backup)
        #expect(try marks(one).holds(id(1)) && !marks(one).holds(id(2)))
        // The rest comes from the other node.
        try one.take(from: other)
        #expect(try marks(one).holds(id(2)))
    }
}
