// Field values and records as JSON, both ways.

import CumulusModel
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusTransfer

@Suite struct FieldValueJSONTests {
    private func value(_ text: String) throws -> FieldValue? {
        try FieldValue.optional(JSONReader.read(text.utf8))
    }

    private static let full: FieldValue = {
        var location = Location(latitude: 1.5, longitude: -2)
        location.altitude = 3
        location.horizontalAccuracy = 4
        location.verticalAccuracy = 5.5
        location.course = 6
        location.speed = 7
        location.timestamp = Timestamp(millisecondsSince1970: 8)
        return .location(location)
    }()

    private static let boundless: FieldValue = {
        var location = Location(latitude: 1.5, longitude: -2)
        (location.course, location.speed) = (.infinity, -.infinity)
        return .location(location)
    }()

    /// Every kind, and the cases that are easily lost, with the text that stands for it.
    static let pairs: [(String, FieldValue)] = [
        ("\"\"", .string("")),
        ("\"e\u{301}\"", .string("e\u{301}")),
        ("35", .int64(35)),
        ("-9223372036854775808", .int64(.min)),
        ("35.0", .double(35)),
        ("1e+21", .double(1e21)),
        ("{\"$double\": \"-infinity\"}", .double(-.infinity)),
        ("{\"$date\": \"1970-01-01T00:00:00.001Z\"}", .timestamp(.init(millisecondsSince1970: 1))),
        ("{\"$bytes\": \"\"}", .bytes([])),
        ("{\"$bytes\": \"AP8=\"}", .bytes([0, 255])),
        (
            "{\"latitude\": 35.0, \"longitude\": -0.5}",
            .location(Location(latitude: 35, longitude: -0.5))
        ),
        (
            "{\"$location\": {\"latitude\": 1.5, \"longitude\": -2.0, \"altitude\": 3.0, "
                + "\"horizontalAccuracy\": 4.0, \"verticalAccuracy\": 5.5, \"course\": 6.0, "
                + "\"speed\": 7.0, \"timestamp\": \"1970-01-01T00:00:00.008Z\"}}", full
        ),
        (
            "{\"$location\": {\"latitude\": 1.5, \"longitude\": -2.0, "
                + "\"course\": {\"$double\": \"infinity\"}, "
                + "\"speed\": {\"$double\": \"-infinity\"}}}", boundless
        ),
        (
            "{\"$reference\": {\"recordName\": \"a\", \"action\": \"none\"}}",
            .reference(.init(recordName: "a"))
        ),
        (
            "{\"$reference\": {\"recordName\": \"a\", \"action\": \"deleteSelf\"}}",
            .reference(.init(recordName: "a", action: .deleteSelf))
        ),
        (
            "{\"$asset\": {\"digest\": \"AQI=\", \"size\": 3}}",
            .asset(Asset(digest: [1, 2], size: 3))
        ),
        ("[]", .list([])),
        ("[\"b\", \"a\", \"b\", \"\"]", ["b", "a", "b", ""]),
        ("[1.0, 2.5]", [1.0, 2.5]),
        ("[{\"$bytes\": \"AA==\"}]", .list([.bytes([0])])),
    ]

    @Test(arguments: pairs)
    func mapsBothWays(text: String, expected: FieldValue) throws {
        #expect(try value(text) == expected)
        // Byte by byte: two spellings of a letter are equal strings.
        #expect(Array(expected.json.text.utf8) == Array(text.utf8))
    }

    @Test func mapsWhatHasOneWayOnly() throws {
        #expect(try value("true") == .int64(1))
        #expect(try value("false") == .int64(0))
        #expect(try value("[true, false]") == [1, 0])
        #expect(try value("null") == nil)
        #expect(try value("{\"$date\": -5}") == .timestamp(.init(millisecondsSince1970: -5)))
        #expect(
            try value("{\"longitude\": 2, \"latitude\": 35}")
                == .location(Location(latitude: 35, longitude: 2))
        )
        #expect(
            try value("{\"$reference\": {\"recordName\": \"a\"}}")
                == .reference(.init(recordName: "a"))
        )
    }

    @Test(arguments: [
        "{}", "{\"a\": 1}", "{\"latitude\": 1}", "{\"latitude\": 1, \"longitude\": \"2\"}",
        "{\"latitude\": 1, \"longitude\": 2, \"altitude\": 3}",
        "{\"$location\": {\"latitude\": 1}}",
        "{\"$location\": {\"latitude\": 1, \"longitude\": 2, \"depth\": 3}}", "{\"$date\": 1.5}",
        "{\"$date\": \"yesterday\"}", "{\"$date\": \"2023-02-29\"}", "{\"$bytes\": \"*\"}",
        "{\"$bytes\": 1}", "{\"$bytes\": \"AA=A\"}", "{\"$bytes\": \"AB==\"}",
        "{\"$bytes\": \"AAEC=\"}", "{\"$bytes\": \"AAE\"}", "{\"$double\": \"nan\"}",
        "{\"$reference\": \"a\"}",
        "{\"$reference\": {\"recordName\": \"a\", \"action\": \"cascade\"}}",
        "{\"$reference\": {\"action\": \"none\"}}",
        "{\"$reference\": {\"recordName\": \"a\", \"zone\": \"b\"}}", "{\"$other\": 1}",
        "{\"$date\": 1, \"$bytes\": \"\"}", "[null]", "[[1]]",
    ])
    func refuses(text: String) {
        #expect(throws: InputProblem.self) { try value(text) }
    }
}

@Suite struct RecordLineTests {
    private func record(_ text: String, nameKey: String = "recordName") throws -> Record {
        try Record(line: JSONReader.read(text.utf8), type: "Place", nameKey: nameKey)
    }

    @Test func writesTheNameFirstAndSortsTheFields() throws {
        let record = try record(
            "{\"b\": [], \"recordName\": \"x\", \"a\": \"\", \"$parent\": \"p\"}"
        )
        #expect(
            record.line.text
                == "{\"recordName\": \"x\", \"$parent\": \"p\", \"a\": \"\", \"b\": []}"
        )
    }

    @Test func nullIsAFieldThatGoes() throws {
        let record = try record("{\"recordName\": \"x\", \"a\": null}")
        #expect(record["a"] == nil)
        #expect(record.changedKeys() == ["a"])
    }

    @Test func encryptedFieldsAreReadAndWrittenOpenOrSealed() throws {
        let text = """
            {"recordName": "x", "a": 1, "b": {"$encrypted": ["c"]}, \
            "d": {"$sealed": {"type": "LIST<INT64>", "bytes": "AQI="}}, \
            "e": {"$sealed": {"type": "LIST", "bytes": "AQ=="}}}
            """
        let record = try record(text)
        #expect(record.encryptedValues["b"] == ["c"])
        let sealed = SealedValue(kind: .int64, isList: true, bytes: [1, 2])
        #expect(record.encryptedValues.values["d"] == .sealed(sealed))
        #expect(record.changedKeys() == ["a", "b", "d", "e"])
        #expect(record.line.text == text)
    }

    @Test(arguments: [
        #"{"$encrypted": null}"#, #"[{"$encrypted": 1}]"#, #"{"$sealed": "AQ=="}"#,
        #"{"$sealed": {"type": "ENCRYPTED STRING", "bytes": "AQ=="}}"#,
        #"{"$sealed": {"type": "STRING", "bytes": "?"}}"#,
        #"{"$sealed": {"type": "STRING", "bytes": "AB=="}}"#,
    ])
    func otherEncryptedFieldsAreRefused(value: String) {
        #expect(throws: InputProblem.self) {
            try record(#"{"recordName": "x", "a": \#(value)}"#)
        }
    }

    @Test func takesTheNameFromAnotherKey() throws {
        let record = try record("{\"id\": 17, \"a\": 1}", nameKey: "id")
        #expect(record.recordID.recordName == "17")
        #expect(record.allKeys() == ["a", "id"])
    }

    @Test func aLineWithoutANameIsRefused() {
        for text in ["{\"a\": 1}", "{\"recordName\": null}", "{\"recordName\": 1.5}", "[]", "1"] {
            #expect(throws: InputProblem.self) { try record(text) }
        }
        #expect(throws: InputProblem.self) {
            try record("{\"id\": \"x\", \"recordName\": \"y\"}", nameKey: "id")
        }
    }

    @Test func aProblemNamesItsField() {
        #expect(throws: InputProblem("a: a list can't hold a list")) {
            try record("{\"recordName\": \"x\", \"a\": [[]]}")
        }
    }

    @Test func everyPlaceOfTheFixtureComesBack() throws {
        let lines = try Fixture.lines()
        #expect(lines.count == 200)
        for line in lines {
            let record = try record(line)
            let again = try self.record(record.line.text)
            #expect(again == record)
            #expect(again.line == record.line)
        }
    }

    /// In a line that key is the record's name.
    @Test func aFieldMayBeCalledRecordName() throws {
        var record = Record(recordType: "Place", recordID: Record.ID(recordName: "r"))
        record["recordName"] = "field"
        record["n"] = 1
        let line = record.line.text
        #expect(line == #"{"recordName": "r", "$fields": {"recordName": "field"}, "n": 1}"#)
        #expect(try self.record(line) == record)
    }
}

enum Fixture {
    static let places = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/places.jsonl")

    static func lines() throws -> [String] {
        try String(contentsOf: places, encoding: .utf8)
            .split(separator: "\n").map(String.init)
    }
}
