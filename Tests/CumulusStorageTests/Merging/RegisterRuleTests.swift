// The same value of a register wins, whichever came first, and by whichever way.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RegisterRuleTests {
    struct Case: CustomTestStringConvertible {
        var namespace: String
        var older: Bytes?
        var newer: Bytes?
        var stands: Keeps
        var why: String

        enum Keeps { case older, newer }

        var testDescription: String { "\(namespace): \(why)" }
        var winner: Bytes? { stands == .older ? older : newer }

        init(
            _ namespace: String,
            _ older: Bytes?,
            _ newer: Bytes?,
            _ stands: Keeps,
            _ why: String
        ) {
            (self.namespace, self.older, self.newer) = (namespace, older, newer)
            (self.stands, self.why) = (stands, why)
        }
    }

    /// Eight bytes, most significant first.
    private static func number(_ value: UInt64) -> Bytes {
        var writer = CanonicalWriter()
        writer.bigEndian(value)
        return writer.bytes
    }

    private static func password(_ resets: UInt64, _ changes: UInt64, _ hash: UInt8) -> Bytes {
        number(resets << 32 | changes) + [hash]
    }

    private static func handle(_ number: UInt64, _ user: UInt8?) -> Bytes {
        HandleHolder(
            number: number,
            userID: user.map { Bytes(repeating: $0, count: 16) },
            verifiedBy: "operator"
        ).value
    }

    static let cases: [Case] = [
        Case("names", [1], [2], .newer, "the newest stands"),
        Case("names", [1], nil, .newer, "also if it removes"),
        Case("user", [2], [1], .older, "who registered first keeps the name"),
        Case("subject", [2], [1], .older, "who signed in first keeps the id"),
        Case("token", [2], [1], .newer, "the newest label and expiry stand"),
        Case("state", number(3), number(2), .older, "the greater number stands"),
        Case("state", number(2), number(3), .newer, "also if it is newer"),
        Case("state", number(256), number(3), .older, "numbers are compared, not texts"),
        Case("state", number(1), nil, .older, "it is never unset"),
        Case("state", number(1), number(1), .newer, "of equal numbers the newest"),
        Case("revoked", [], nil, .older, "it is never unset"),
        Case("revoked", nil, [], .newer, "nothing is less than empty"),
        Case("revoked", number(2), number(1), .older, "the greater generation stands"),
        Case("password", password(1, 0, 7), password(0, 9, 8), .older, "a reset beats changes"),
        Case("password", password(0, 2, 7), password(0, 1, 8), .older, "more changes beat fewer"),
        Case("password", password(0, 1, 9), password(0, 1, 8), .newer, "then the newest stands"),
        Case("key", [2], [1], .newer, "the newest label and expiry stand"),
        Case("profile", [2], [1], .newer, "the newest profile stands"),
        Case("handle", handle(2, 1), handle(1, 2), .older, "the greater number stands"),
        Case("handle", handle(2, nil), handle(2, 1), .older, "then taking away, if it is older"),
        Case("handle", handle(2, 1), handle(2, nil), .newer, "then taking away, if it is newer"),
        Case("handle", handle(2, nil), handle(3, 1), .newer, "given again by who knew that"),
        Case("handle", handle(1, 2), handle(1, 1), .older, "of two users always the same one"),
        Case("member", nil, Bytes("a:1".utf8), .older, "a member that was removed stays so"),
        Case("member", Bytes("a:1".utf8), nil, .newer, "whenever that was"),
    ]

    private static let stamps = [
        Stamp(HybridTime(milliseconds: 1_000), Dot(Incarnation(9), 1)),
        Stamp(HybridTime(milliseconds: 2_000), Dot(Incarnation(8), 1)),
    ]
    private static let key = Bytes(repeating: 7, count: 16)

    /// As another node's state brings it.
    private func join(_ row: RegisterRow, _ namespace: String, to store: inout ScratchStore) throws
    {
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            try ScopeRegisters(of: scope).join(row, into: namespace, [Self.key], &transaction)
        }
    }

    /// As a commit brings it.
    private func apply(_ row: RegisterRow, _ namespace: String, to store: inout ScratchStore) throws
    {
        var commit = Commit.foreign(
            .register(.init(namespace: namespace, key: [Self.key], value: row.value)),
            milliseconds: 0
        )
        commit.stamp = row.stamp
        let made = commit
        try store.write { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            try transaction.apply(made, bytes: made.encoded(), in: scope)
        }
    }

    private func row(_ namespace: String, _ store: ScratchStore) throws -> RegisterRow? {
        let scope = try #require(try store.reader.scope(.cluster))
        return try store.reader.register(scope, namespace, [Self.key])
    }

    @Test(arguments: cases) func theOrderMakesNoDifference(_ test: Case) throws {
        let rows = zip(Self.stamps, [test.older, test.newer]).map {
            RegisterRow(stamp: $0, value: $1)
        }
        let winner = rows[test.stands == .older ? 0 : 1]
        for order in [[0, 1], [1, 0], [0, 1, 0], [1, 0, 1]] {
            var joined = try ScratchStore()
            for index in order { try join(rows[index], test.namespace, to: &joined) }
            #expect(try row(test.namespace, joined) == winner, "joined in the order \(order)")
            // A commit comes once.
            guard order.count == 2 else { continue }
            var applied = try ScratchStore()
            for index in order { try apply(rows[index], test.namespace, to: &applied) }
            #expect(try row(test.namespace, applied) == winner, "applied in the order \(order)")
        }
    }

    // MARK: The epoch

    /// Whether callers are judged again after these values, the later one being newer.
    private func isMoved(_ namespace: String, by values: [Bytes]) throws -> Bool {
        var store = try ScratchStore()
        var before: UInt64 = 0
        for (stamp, value) in zip(Self.stamps, values) {
            before = store.state.accountsVersion
            try apply(RegisterRow(stamp: stamp, value: value), namespace, to: &store)
        }
        return store.state.accountsVersion != before
    }

    @Test func whatMayEndASessionMovesTheEpoch() throws {
        #expect(try isMoved("state", by: [Self.number(1)]))
        #expect(try isMoved("state", by: [Self.number(1), Self.number(2)]))
        #expect(try !isMoved("state", by: [Self.number(3), Self.number(2)]), "nothing changed")
        #expect(try isMoved("revoked", by: [[]]))
        #expect(try isMoved("password", by: [Self.password(0, 0, 1), Self.password(0, 1, 2)]))
        #expect(try !isMoved("password", by: [Self.password(0, 0, 1)]), "nobody used it yet")
        #expect(try !isMoved("user", by: [[1]]), "nobody had the name")
        #expect(try !isMoved("token", by: [[1], [2]]))
        #expect(try isMoved("key", by: [[1], [2]]), "it may expire earlier")
        #expect(try !isMoved("key", by: [[1]]), "nobody used it yet")
        #expect(try !isMoved("profile", by: [[1], [2]]))
        var store = try ScratchStore()
        for stamp in Self.stamps.reversed() {
            try apply(RegisterRow(stamp: stamp, value: [1]), "user", to: &store)
        }
        #expect(store.state.accountsVersion == 1, "the name leads to another account")
        let row = RegisterRow(stamp: Self.stamps[0], value: Self.number(1))
        try join(row, "state", to: &store)
        #expect(store.state.accountsVersion == 2, "a state sync brings it too")
    }
}
