// The client's record: which keys it would send, and when it counts as unchanged.

import CumulusModel
import Testing

@Suite struct RecordTests {
    private static func fetched() -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
        record.receive("old", for: "title")
        record.receive(3, for: "votes")
        record.receive(parent: Record.Reference(recordName: "p"))
        return record
    }

    @Test func whatCameFromTheServerIsNoChange() {
        let record = Self.fetched()
        #expect(record.changedKeys().isEmpty)
        #expect(record.allKeys() == ["title", "votes"])
        #expect(record.changedParent == .none)
    }

    @Test func settingAndRemovingAreChanges() {
        var record = Self.fetched()
        record["title"] = "new"
        record["votes"] = nil
        record["gone"] = nil
        #expect(record.changedKeys() == ["gone", "title", "votes"])
        #expect(record.allKeys() == ["title"])
        record.markSaved()
        #expect(record.changedKeys().isEmpty)
        #expect(record["title"] == "new")
    }

    @Test func incrementsAddUpUntilTheFieldIsSet() {
        var record = Self.fetched()
        record.increment("votes")
        record.increment("votes", by: 4)
        record.increment("down", by: -2)
        #expect(record.increments == ["votes": 5, "down": -2])
        #expect(record.changedKeys().isEmpty)
        record["votes"] = 10
        #expect(record.increments == ["down": -2])
        record.markSaved()
        #expect(record.increments.isEmpty)
    }

    @Test func incrementsThatDoNotFitAreNoted() {
        var record = Self.fetched()
        record.increment("votes", by: .max)
        #expect(record.overflows.isEmpty)
        record.increment("votes", by: 5)
        #expect(record.overflows == ["votes"])
        record["votes"] = 1
        #expect(record.overflows.isEmpty)
    }

    @Test func textsAreEqualCodePointByCodePoint() {
        let (one, two) = (FieldValue.string("\u{E9}"), FieldValue.string("e\u{301}"))
        #expect(one != two)
        #expect(FieldValue.list([one]) != .list([two]))
        #expect(one == .string("\u{E9}"))
        #expect(Set([one, two, one]).count == 2)
    }

    @Test func settingTheParentIsAChangeAlsoToNothing() {
        var record = Self.fetched()
        record.parent = nil
        #expect(record.changedParent == .some(.none))
        record.parent = Record.Reference(recordName: "q")
        #expect(record.changedParent??.recordName == "q")
        record.markSaved()
        #expect(record.changedParent == .none)
    }

    @Test func literalsBecomeValues() {
        let record: [FieldValue] = ["text", 3, 2.5, true, [1, 2]]
        #expect(record == [.string("text"), .int64(3), .double(2.5), .int64(1), .list([1, 2])])
        #expect(FieldValue.int64(3).double == 3)
        #expect(FieldValue.double(3).int64 == nil)
    }
}
