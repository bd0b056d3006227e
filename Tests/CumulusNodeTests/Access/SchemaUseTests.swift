// What the saves of one caller may add to schemas, and that operators can read a schema of any
// size.

import Cumulus
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct SchemaUseTests {
    private static let start = Instant(milliseconds: 1_000_000)

    private func growth(types: Int, fields: Int = 0) -> SchemaSize {
        var size = SchemaSize()
        (size.types, size.fields) = (types, fields)
        return size
    }

    // MARK: The rule

    @Test func aBurstIsAllowedAndThenAFewPerMinute() {
        var use = SchemaUse(.standard, now: Self.start)
        #expect(use.refusal(of: growth(types: 100, fields: 2_000), now: Self.start) == nil)
        use.spend(growth(types: 100, fields: 2_000))
        let types = SchemaUse.Refusal(most: 100, isTypes: true, wait: 60_000)
        #expect(use.refusal(of: growth(types: 1), now: Self.start) == types)
        let fields = use.refusal(of: growth(types: 0, fields: 20), now: Self.start)
        #expect(fields == SchemaUse.Refusal(most: 2_000, isTypes: false, wait: 60_000))
        let later = Self.start + 60_000
        #expect(use.refusal(of: growth(types: 1, fields: 20), now: later) == nil)
        #expect(use.isFull(now: later) == false)
        #expect(use.isFull(now: Self.start + 100 * 60_000) == true)
    }

    /// Else a full bucket would let any number through.
    @Test func moreThanABurstIsRefusedEvenAfterARest() {
        var use = SchemaUse(CallerGrowth(types: 5, fields: 10), now: Self.start)
        #expect(use.refusal(of: growth(types: 6), now: Self.start)?.wait == 60_000)
        #expect(use.refusal(of: growth(types: 1, fields: 11), now: Self.start)?.isTypes == false)
        #expect(use.refusal(of: growth(types: 5, fields: 10), now: Self.start) == nil)
    }

    @Test func withoutALimitNothingIsRefused() {
        var use = SchemaUse(.none, now: Self.start)
        use.spend(growth(types: 1 << 20, fields: 1 << 20))
        #expect(use.refusal(of: growth(types: 1 << 20, fields: 1), now: Self.start) == nil)
        #expect(use.isFull(now: Self.start) == true)
    }

    /// One user may run the tests of several apps, each in a container of its own.
    @Test func eachSchemaHasABudgetOfItsOwn() {
        var uses = SchemaUses(CallerGrowth(types: 2, fields: 10))
        let scopes = (0..<3).map { ScopeID(container: "c\($0)", environment: .development) }
        for scope in scopes.prefix(2) {
            #expect(uses.refusal(of: growth(types: 2), in: scope, now: Self.start) == nil)
            uses.spend(growth(types: 2), in: scope, now: Self.start)
            #expect(uses.refusal(of: growth(types: 1), in: scope, now: Self.start) != nil)
        }
        #expect(uses.refusal(of: growth(types: 2), in: scopes[2], now: Self.start) == nil)
        #expect(uses.areFull(now: Self.start) == false)
        #expect(uses.areFull(now: Self.start + 300 * 60_000) == true)
    }

    // MARK: On a node

    private func records(_ types: Range<Int>) -> [Record] {
        types.map { number in
            let id = Record.ID(recordName: "r\(number)")
            var record = Record(recordType: "Type\(number)", recordID: id)
            record["first"] = "text"
            record["second"] = 2
            return record
        }
    }

    @Test func oneUserLeavesRoomForOthers() async throws {
        let limits = limits { $0.perCallerGrowth = CallerGrowth(types: 3, fields: 100) }
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("eve")
            let eve = try RawClient(greeting: server.endpoint, token: token)
            let refusals = try eve.save(records(0..<5)).map(\.refusal)
            #expect(refusals.map { $0 == nil } == [true, true, true, false, false])
            #expect(refusals[3]?.code == .requestRateLimited)
            // The budget is the user's, not the connection's.
            let again = try RawClient(greeting: server.endpoint, token: token)
            #expect(try again.save(records(5..<6))[0].refusal?.code == .requestRateLimited)
            // A known type costs nothing.
            var known = Record(recordType: "Type0", recordID: Record.ID(recordName: "another"))
            known["first"] = "text"
            #expect(try again.save([known])[0].refusal == nil)
            let other = try await server.makeUser("ada")
            let ada = try RawClient(greeting: server.endpoint, token: other)
            #expect(try ada.save(records(6..<7))[0].refusal == nil)
        }
    }

    /// Each answer is cut where it is too long for a message.
    @Test func operatorsReadASchemaOfAnySize() async throws {
        let limits = limits {
            ($0.answerBytes, $0.requestBytes, $0.typesPerSchema) = (500, 2_500, 20)
        }
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("eve")
            let eve = try RawClient(greeting: server.endpoint, token: token)
            for number in 0..<20 {
                #expect(try eve.save(records(number..<number + 1))[0].refusal == nil)
            }
            #expect(try eve.save(records(20..<21))[0].refusal?.code == .limitExceeded)
            let admin = server.nodeOperator()
            let container = TestServer.container
            let text = try await admin.schema(of: container, .development)
            #expect(text.utf8.count > limits.requestBytes)
            let names = Set(try Schema(ckdb: text).recordTypes.map(\.name))
            #expect(names == Set((0..<20).map { "Type\($0)" } + ["Users"]))
            let indexes = try await admin.indexes(.list, of: container, .development)
            #expect(Set(indexes.map(\.recordType)).count == 20)
            let shown = try await admin.deploySchema(of: container, onlyShows: true)
            #expect(shown.count { $0.hasPrefix("+ type") } == 20)
            #expect(try await admin.deploySchema(of: container, onlyShows: false) == shown)
            let reset = try await admin.resetSchema(of: container, .development, onlyShows: true)
            #expect(reset.zones == 1)
            await admin.close()
        }
    }
}
