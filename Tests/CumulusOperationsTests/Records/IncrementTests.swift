// Counters stay exact, whatever else happens to the field.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct IncrementTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func increment(_ delta: Int64, _ field: String = "n") throws -> ServiceError.Code? {
        try store.save([SaveItem("r", increments: [field: delta])]).saves[0].code
    }

    private func set(_ value: FieldValue?) throws -> ServiceError.Code? {
        try store.save([SaveItem("r", ["n": value])]).saves[0].code
    }

    /// Expects the record to have these fields.
    private func expect(_ fields: [String: FieldValue?]) throws {
        #expect(
            try store.fetch("r", in: .private, by: .alice).get().fields == WireField.body(fields)
        )
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func anAbsentFieldCountsAsZero() throws {
        #expect(try increment(5) == nil)
        #expect(try increment(-7) == nil)
        #expect(try increment(0, "zero") == nil)
        try expect(["n": -2, "zero": 0])
    }

    @Test func incrementsGoOnFromWhatWasSet() throws {
        #expect(try set(10) == nil)
        #expect(try increment(1) == nil)
        #expect(try set(100) == nil)
        #expect(try increment(1) == nil)
        try expect(["n": 101])
        #expect(try set(nil) == nil)
        try expect([:])
        #expect(try increment(3) == nil)
        try expect(["n": 3])
        #expect(try set(7) == nil)
        try expect(["n": 7])
    }

    @Test func restartsDontChangeASum() throws {
        var sum: Int64 = 0
        for delta in Int64(1)...12 {
            #expect(try increment(delta) == nil)
            sum += delta
            if delta % 3 == 0 { try store.restart() }
            if delta == 7 {
                #expect(try set(1_000) == nil)
                sum = 1_000
            }
            try expect(["n": .int64(sum)])
        }
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func manyRequestsOfOneBatchAddUp() throws {
        let requests = (0..<200).map { index in
            let item = SaveItem("r", increments: ["n": 1, "m": Int64(index)])
            let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: [item])
            return store.request(modify, by: .alice)
        }
        try store.run(requests)
        try expect(["m": 19_900, "n": 200])
    }

    @Test func theAnswerHoldsTheSums() throws {
        #expect(try set(40) == nil)
        let item = SaveItem("r", ["a": "text"], increments: ["n": 2, "m": 1])
        let saved = try #require(try store.save([item]).saves[0].saved)
        #expect(saved.fields == WireField.body(["m": 1, "n": 42]))
        let plain = try #require(try store.save([SaveItem("r", ["a": "text"])]).saves[0].saved)
        #expect(plain.fields == [])
    }

    @Test func settingAndIncrementingAtOnceIsRefused() throws {
        for value in [FieldValue?.some(1), nil] {
            let item = SaveItem("r", ["n": value], increments: ["n": 1])
            #expect(try store.save([item]).codes == [.invalidArguments])
        }
    }

    @Test func otherTypesCantBeIncremented() throws {
        try store.save([SaveItem("r", ["d": 1.5, "s": "text", "l": [1]])])
        for field in ["d", "s", "l"] { #expect(try increment(1, field) == .invalidArguments) }
        #expect(try increment(1) == nil)
        #expect(try set("text") == .invalidArguments)
    }

    @Test func anOverflowIs12AndChangesNothing() throws {
        #expect(try set(.int64(.max - 1)) == nil)
        #expect(try increment(1) == nil)
        #expect(try increment(1) == .invalidArguments)
        #expect(try increment(.max) == .invalidArguments)
        try expect(["n": .int64(.max)])
        #expect(try increment(.min) == nil)
        try expect(["n": -1])
        #expect(try increment(.min) == .invalidArguments)
        try expect(["n": -1])
    }

    /// Only the shown value counts for the limit, whatever the sums of single runs are.
    @Test func sumsOfRunsMayLeaveTheRange() throws {
        #expect(try increment(.max) == nil)
        try store.restart()
        #expect(try increment(.min + 1) == nil)
        try expect(["n": 0])
        #expect(try increment(-2) == nil)
        try expect(["n": -2])
        #expect(try set(.int64(.max)) == nil)
        try expect(["n": .int64(.max)])
        #expect(try increment(1) == .invalidArguments)
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func whatIsSetIsShownWhateverWasCounted() throws {
        #expect(try increment(.max) == nil)
        #expect(try set(-5) == nil)
        try expect(["n": -5])
        #expect(try increment(2) == nil)
        try expect(["n": -3])
        #expect(try set(nil) == nil)
        #expect(try increment(.min) == nil)
        try expect(["n": .int64(.min)])
    }

    @Test func anIncrementDoesNotTouchTheSetStampAndIsASave() throws {
        #expect(try set(1) == nil)
        let before = try store.fetch("r", in: .private, by: .alice).get()
        store.now += 50
        #expect(try increment(1) == nil)
        let after = try store.fetch("r", in: .private, by: .alice).get()
        #expect(after.changeTag != before.changeTag)
        #expect(after.modified == before.modified + 50)
        let zone = try #require(try store.zoneNumber(ZoneAddress(), by: .alice))
        let row = try #require(try store.reader.record(zone, "r"))
        #expect(row.fieldStamps == [row.birth])
    }

    @Test func eachIncrementHasARowUnderItsRequest() throws {
        let request = store.request(
            ModifyRecords(
                database: .private,
                saves: [SaveItem("r", increments: ["n": 3, "m": -1])]
            ),
            by: .alice
        )
        try store.run(request)
        let rows = try store.reader.rows(.log, .all(.increment))
        let id = try #require(request.asker.requestID)
        #expect(rows.count == 2)
        #expect(rows.allSatisfy { $0.key.dropFirst(3).starts(with: id.bytes) })
        #expect(try rows.map { try IncrementRow(row: $0.value).delta } == [-1, 3])
    }
}
