// What `print` shows of the client's values, and a debugger of a record.

import CumulusModel
import Testing

@Suite struct DescriptionTests {
    @Test func aRecordIsALine() {
        let zone = RecordZone.ID(zoneName: "Notes")
        var note = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: "n1", zoneID: zone)
        )
        note["title"] = "Hello"
        note["tags"] = ["a", "b"]
        note["of"] = .reference(Record.Reference(recordName: "p", action: .deleteSelf))
        #expect(
            "\(note)"
                == #"Note n1 in Notes {of: -> p (deleteSelf), tags: ["a", "b"], title: "Hello"}"#
        )
        #expect("\([note])" == "[\(note)]")
        let plain = Record(recordType: "Note", recordID: Record.ID(recordName: "n2"))
        #expect("\(plain)" == "Note n2 {}")
    }

    @Test func longValuesAreCut() {
        let text = FieldValue.string(String(repeating: "x", count: 1_000))
        #expect("\(text)" == "\"\(String(repeating: "x", count: 60))…\" (1000 bytes)")
        let list = FieldValue.list((0..<1_000).map { .int64($0) })
        #expect("\(list)" == "[0, 1, 2, 3, 4, …] (1000 elements)")
        #expect("\(FieldValue.bytes([1, 2, 3]))" == "3 bytes")
        #expect("\(FieldValue.asset(Asset(digest: [], size: 7)))" == "asset of 7 bytes")
    }

    @Test func otherValuesAreAsPeopleWriteThem() {
        let moment = Timestamp(millisecondsSince1970: 0)
        #expect("\(FieldValue.timestamp(moment))" == "1970-01-01T00:00:00.000Z")
        #expect("\(FieldValue.location(Location(latitude: 1.5, longitude: 2)))" == "(1.5, 2.0)")
        #expect("\(FieldValue.double(0.5)) \(FieldValue.int64(3))" == "0.5 3")
        let shared = RecordZone.ID(zoneName: "Notes", ownerName: "_b1")
        #expect("\(RecordZone(zoneID: shared))" == "zone Notes of _b1")
    }

    @Test func aQueryIsALine() throws {
        var query = Query(
            recordType: "City",
            predicate: try Query.Predicate(format: "country == %@", "JP"),
            sortDescriptors: [Query.SortDescriptor(key: "population", ascending: false)]
        )
        #expect("\(query)" == "City where country == 'JP' by -population")
        query.predicate = .all
        #expect("\(query)" == "City by -population")
    }

    @Test func aDebuggerShowsFields() {
        var note = Record(recordType: "Note", recordID: Record.ID(recordName: "n1"))
        note["title"] = "Hello"
        let labels = Mirror(reflecting: note).children.map { $0.label ?? "" }
        #expect(labels == ["recordType", "recordID", "recordChangeTag", "changedKeys", "title"])
    }
}
