// Roles that two nodes give and take without knowing of each other: the greater number stands, and
// at equal numbers taking away.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RoleAssignmentTests {
    private let pair: StorePair
    private let mod: Caller
    private static let role = "Moderator"

    init() throws {
        pair = try StorePair()
        var user: Users.User?
        for store in [pair.one, pair.other] {
            let id = Bytes(repeating: 7, count: 16)
            let request = WriteRequest(AddUser(name: "mod", id: id), caller: .administrator)
            user = try store.run(request).get().user
        }
        mod = Caller(role: .user(try #require(user).recordName(in: pair.one.scope.container)))
        let file = try Schema(
            ckdb: """
                DEFINE SCHEMA
                    CREATE ROLE Moderator;
                    RECORD TYPE Note (
                        a INT64, b INT64, c INT64, n INT64,
                        GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO Moderator
                    );
                """
        )
        try run(SchemaImport(.file(file, drops: false)), on: pair.one)
        try pair.one.save([SaveItem("r", ["a": 0])], in: .public, by: .alice)
        try pair.heal()
    }

    @discardableResult
    private func run<Asked: ContainerChange>(
        _ change: Asked,
        in environment: Environment = .development,
        on store: TestStore
    ) throws -> Asked.Outcome {
        let scope = ScopeID(container: store.scope.container, environment: environment)
        return try store.run(
            WriteRequest(change, scope: scope, caller: .administrator)
        ).get()
    }

    private func set(_ isGiven: Bool, on store: TestStore) throws {
        let change = ChangeRole(user: "mod", role: Self.role, isGiven: isGiven)
        try run(change, on: store)
    }

    private func assignment(on store: TestStore) throws -> RoleAssignment {
        try store.reader.roleAssignment(of: Self.role, to: mod.user, in: store.scopeNumber())
    }

    /// What both hold.
    private func stands() throws -> RoleAssignment {
        let both = try [pair.one, pair.other].map { try assignment(on: $0) }
        #expect(both[0] == both[1])
        return both[0]
    }

    private func save(on store: TestStore) throws -> ServiceError.Code? {
        try store.save([SaveItem("r", ["a": 1])], in: .public, by: mod).codes[0]
    }

    // MARK: The rule

    @Test func theBytesHaveTheOrderOfTheRule() throws {
        let ascending = [
            RoleAssignment(number: 0, isGiven: true), RoleAssignment(number: 0, isGiven: false),
            RoleAssignment(number: 1, isGiven: true), RoleAssignment(number: 1, isGiven: false),
            RoleAssignment(number: 256, isGiven: true),
            RoleAssignment(number: .max - 1, isGiven: false),
            RoleAssignment(number: .max, isGiven: true),
        ]
        for (lesser, greater) in zip(ascending, ascending.dropFirst()) {
            #expect(lesser.value.lexicographicallyPrecedes(greater.value))
        }
        for assignment in ascending {
            #expect(try RoleAssignment(value: assignment.value) == assignment)
        }
        let wrong: [Bytes] = [[], Bytes(repeating: 0, count: 8), Bytes(repeating: 2, count: 9)]
        for value in wrong {
            #expect(throws: MalformedBytes.self) { try RoleAssignment(value: value) }
        }
        let last = RoleAssignment(number: .max, isGiven: true)
        #expect(last.changed(isGiven: false) == RoleAssignment(number: .max, isGiven: false))
    }

    /// In both orders of arrival, and whichever of the two is later by the clock.
    @Test(arguments: [false, true], [false, true])
    func theGreaterNumberStandsAndThenTakingAway(isSecondFirst: Bool, isSecondLater: Bool) throws {
        let values = [1, 2].flatMap { (number: UInt64) in
            [true, false].map { RoleAssignment(number: number, isGiven: $0) }
        }
        for (first, one) in values.enumerated() {
            for (second, other) in values.enumerated() where first != second {
                let store = try TestStore()
                let times: [UInt64] = isSecondLater ? [1, 2] : [2, 1]
                var rows = zip([one, other], times).map { assignment, time in
                    let stamp = Stamp(HybridTime(time), Dot(Incarnation(time), 1))
                    return RegisterRow(stamp: stamp, value: assignment.value)
                }
                if isSecondFirst { rows.reverse() }
                let (scope, key) = (try store.scopeNumber(), RoleAssignment.key("_u", Self.role))
                for row in rows {
                    try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                        try ScopeRegisters(of: scope).join(
                            row,
                            into: RoleAssignment.namespace,
                            key,
                            &transaction
                        )
                    }
                }
                let stands = try store.reader.roleAssignment(of: Self.role, to: "_u", in: scope)
                let expected =
                    one.number != other.number
                    ? (one.number > other.number ? one : other)
                    : RoleAssignment(number: one.number, isGiven: false)
                #expect(stands == expected)
            }
        }
    }

    // MARK: Two nodes

    /// The assignment that gives is later by the clock.
    @Test func takingAwayStandsAgainstGivingAtTheSameTime() throws {
        try set(true, on: pair.one)
        try set(false, on: pair.one)
        try pair.heal()
        try set(false, on: pair.one)
        try set(true, on: pair.other)
        try pair.heal()
        #expect(try stands() == RoleAssignment(number: 3, isGiven: false))
    }

    @Test func aRoleIsTakenAwayWhereItsGivingWasNotHeardOf() throws {
        try set(true, on: pair.other)
        try set(false, on: pair.one)
        try pair.heal()
        #expect(try !stands().isGiven)
    }

    @Test func whoKnowsThatItWasTakenGivesItAgain() throws {
        try set(true, on: pair.other)
        try pair.heal()
        try set(false, on: pair.other)
        try pair.heal()
        try set(true, on: pair.one)
        try pair.heal()
        #expect(try stands() == RoleAssignment(number: 3, isGiven: true))
    }

    /// Each takes over the other's state, in place of its commits.
    @Test(arguments: StateWay.allCases, [false, true])
    func soItIsWithState(way: StateWay, isTakerFirst: Bool) throws {
        let (taker, giver) = (pair.one, pair.other)
        try set(false, on: taker)
        try set(true, on: giver)
        let stores = isTakerFirst ? [taker, giver] : [giver, taker]
        try stores[0].takeState(of: stores[1], way)
        try stores[1].takeState(of: stores[0], way)
        #expect(try stands() == RoleAssignment(number: 1, isGiven: false))
    }

    /// What each change took away is given only where somebody gave it with a greater number.
    @Test(arguments: 1...60) func whatWasTakenAwayStaysSo(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var taken: UInt64 = 0
        for _ in 0..<20 {
            let store = Bool.random(using: &dice) ? pair.one : pair.other
            store.now += .random(in: 0...3_000, using: &dice)
            if Int.random(in: 0..<4, using: &dice) == 0 {
                try pair.heal()
                continue
            }
            let isGiven = Bool.random(using: &dice)
            try set(isGiven, on: store)
            if !isGiven { taken = max(taken, try assignment(on: store).number) }
        }
        try pair.heal()
        let stands = try stands()
        #expect(stands.number >= taken)
        if stands.isGiven { #expect(stands.number > taken) }
    }

    // MARK: What follows

    @Test func aRoleCountsOnEachNodeFromWhenItHasHeardOfIt() throws {
        try set(true, on: pair.one)
        #expect(try save(on: pair.one) == nil)
        // Asked before: what the writer remembers of it ends with what comes.
        #expect(try save(on: pair.other) == .permissionFailure)
        try pair.heal()
        #expect(try save(on: pair.other) == nil)
        try set(false, on: pair.one)
        #expect(try save(on: pair.one) == .permissionFailure)
        #expect(try save(on: pair.other) == nil)
        try pair.heal()
        #expect(try save(on: pair.other) == .permissionFailure)
    }

    /// A change that was allowed where it was made is not judged again.
    @Test func aChangeStandsThatWasMadeBeforeItsNodeHeard() throws {
        try set(true, on: pair.one)
        try pair.heal()
        try set(false, on: pair.one)
        #expect(try save(on: pair.other) == nil)
        try pair.heal()
        for store in [pair.one, pair.other] {
            let record = try store.fetch("r", in: .public, by: .bob).get()
            #expect(record.fields == WireField.body(["a": 1]))
        }
    }

    @Test func aResetTakesAwayWhatItKnowsOf() throws {
        try run(SchemaImport(.development), in: .production, on: pair.one)
        try set(true, on: pair.one)
        try pair.heal()
        // To give it again is no change.
        try set(true, on: pair.other)
        try run(SchemaReset(), on: pair.one)
        try pair.heal()
        #expect(try stands() == RoleAssignment(number: 2, isGiven: false))
        // The next reset does not know of this one: it takes away what it finds.
        try set(true, on: pair.other)
        try run(SchemaReset(), on: pair.one)
        try pair.heal()
        #expect(try stands().isGiven)
    }
}
