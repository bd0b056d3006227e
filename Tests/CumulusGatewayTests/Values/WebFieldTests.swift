// Field values between JSON and the model: each kind both ways, with a type and without, and what
// is refused.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebFieldTests {
    private static let zone = RecordZone.ID(zoneName: "Notes")
    private static let user = "_0123456789abcdef0123456789abcdef"
    private static let asset = Asset(digest: Bytes(repeating: 9, count: 32), size: 11)

    private let reader = WebFieldReader(zone: Self.zone, user: Self.user) { receipt in
        receipt == "good" ? Self.asset : nil
    }
    private let writer = WebFieldWriter(user: Self.user)

    private func read(_ text: String, column: FieldType? = nil) throws -> FieldValue? {
        try reader.value(try JSONReader.read(text.utf8), at: "fields.x", column: column)
    }

    private func refusal(_ text: String, column: FieldType? = nil) -> WebError? {
        do {
            _ = try read(text, column: column)
            return nil
        } catch {
            return error as? WebError
        }
    }

    private static let place: Location = {
        var place = Location(latitude: 47.5, longitude: -8.25)
        place.altitude = 400
        place.timestamp = Timestamp(millisecondsSince1970: -1)
        return place
    }()

    private static let values: [FieldValue] = [
        .string(""), .string("Grüße \u{1F9C0}\u{0}\n\""), .int64(.max), .int64(.min), .int64(0),
        .double(0.1), .double(5), .double(-1.5e300), .double(.infinity), .double(-.infinity),
        .timestamp(Timestamp(millisecondsSince1970: -1)),
        .timestamp(Timestamp(millisecondsSince1970: 1_767_225_600_000)), .bytes([]),
        .bytes([0, 255, 62, 63]), .location(place),
        .reference(Record.Reference(recordName: "a")),
        .reference(Record.Reference(recordName: "b", action: .deleteSelf)),
    ]

    @Test(arguments: [false, true])
    func eachKindIsReadBackAsItWasWritten(asText: Bool) throws {
        let writer = WebFieldWriter(numbersAsStrings: asText, user: Self.user)
        for value in Self.values {
            let json = writer.json(value, in: Self.zone, column: nil)
            #expect(try read(json.text) == value, "\(json.text)")
            let list = FieldValue.list([value, value])
            let listJSON = writer.json(list, in: Self.zone, column: nil)
            #expect(try read(listJSON.text) == list, "\(listJSON.text)")
        }
    }

    @Test func numbersAreTextIfWanted() {
        let writer = WebFieldWriter(numbersAsStrings: true, user: Self.user)
        let largest = writer.json(.int64(.max), in: Self.zone, column: nil)
        #expect(largest.text == #"{"value": "9223372036854775807", "type": "INT64"}"#)
        let moment = FieldValue.timestamp(Timestamp(millisecondsSince1970: 5))
        let time = writer.json(moment, in: Self.zone, column: nil)
        #expect(time.text == #"{"value": "5", "type": "TIMESTAMP"}"#)
        let list = writer.json([1, 2], in: Self.zone, column: nil)
        #expect(list.text == #"{"value": ["1", "2"], "type": "INT64_LIST"}"#)
    }

    @Test func emptyListsAreTaggedByTheSchema() throws {
        let empty = FieldValue.list([])
        #expect(writer.json(empty, in: Self.zone, column: nil)["type"] == "UNKNOWN_LIST")
        let tagged = writer.json(empty, in: Self.zone, column: .list(.asset))
        #expect(tagged["type"] == "ASSETID_LIST")
        #expect(try read(#"{"value": [], "type": "STRING_LIST"}"#) == empty)
        #expect(try read(#"{"value": [], "type": "UNKNOWN_LIST"}"#) == empty)
        #expect(try read(#"{"value": []}"#) == empty)
    }

    @Test func theSchemaSaysWhatAValueWithoutATypeIs() throws {
        #expect(try read(#"{"value": 5}"#, column: .one(.double)) == .double(5))
        let moment = FieldValue.timestamp(Timestamp(millisecondsSince1970: 5))
        #expect(try read(#"{"value": 5}"#, column: .one(.timestamp)) == moment)
        #expect(try read(#"{"value": "AP8="}"#, column: .one(.bytes)) == .bytes([0, 255]))
        #expect(try read(#"{"value": "7"}"#, column: .one(.int64)) == 7)
        #expect(try read(#"{"value": true}"#, column: .one(.int64)) == 1)
        #expect(try read(#"{"value": [1, 2]}"#, column: .list(.double)) == [1.0, 2.0])
        #expect(try read(#"{"value": [1], "type": "LIST"}"#, column: .list(.double)) == [1.0])
    }

    @Test func withoutASchemaTheValueSaysIt() throws {
        #expect(try read(#"{"value": "x"}"#) == "x")
        #expect(try read(#"{"value": 9223372036854775807}"#) == .int64(.max))
        #expect(try read(#"{"value": 1.5}"#) == 1.5)
        #expect(try read(#"{"value": 1e2}"#) == 100.0)
        #expect(try read(#"{"value": false}"#) == 0)
        #expect(try read(#"{"value": [1, 2.5]}"#) == [1.0, 2.5])
        let reference = FieldValue.reference(Record.Reference(recordName: "a"))
        #expect(try read(#"{"value": {"recordName": "a"}}"#) == reference)
        let location = FieldValue.location(Location(latitude: 1, longitude: 2))
        #expect(try read(#"{"value": {"latitude": 1, "longitude": 2}}"#) == location)
    }

    @Test(arguments: [#"{"value": null}"#, "{}", "null", #"{"value": null, "type": "STRING"}"#])
    func eachFormOfNullClears(_ text: String) throws {
        #expect(try read(text) == nil)
    }

    @Test func assetsComeByTheirReceipts() throws {
        let checksum = Base64.encode(Self.asset.digest)
        let tagged = #"{"fileChecksum": "\#(checksum)", "size": 11, "receipt": "good"}"#
        for type in ["ASSET", "ASSETID"] {
            #expect(try read(#"{"value": \#(tagged), "type": "\#(type)"}"#) == .asset(Self.asset))
        }
        #expect(try read(#"{"value": \#(tagged)}"#) == .asset(Self.asset))
        let list = #"{"value": [\#(tagged), \#(tagged)], "type": "ASSETID_LIST"}"#
        #expect(try read(list) == [.asset(Self.asset), .asset(Self.asset)])
        let forged = #"{"value": {"fileChecksum": "\#(checksum)", "receipt": "bad"}}"#
        #expect(refusal(forged)?.reason.contains("did_not_validate") == true)
        let shown = #"{"value": {"fileChecksum": "\#(checksum)", "size": 11}}"#
        #expect(refusal(shown)?.reason.contains("no receipt") == true)
        let other = #"{"value": {"fileChecksum": "AAAA", "receipt": "good"}}"#
        #expect(refusal(other)?.code == .badRequest)
        let answer = WebFieldWriter(user: "") { _ in "https://x/a" }
            .json(.asset(Self.asset), in: Self.zone, column: nil)
        #expect(answer["value"]?["downloadURL"] == "https://x/a")
        #expect(answer["type"] == "ASSETID")
    }

    @Test func referencesStayInTheirZone() throws {
        func reference(_ zone: String) -> String {
            #"{"value": {"recordName": "a", "action": "NONE", "zoneID": \#(zone)}}"#
        }
        let expected = FieldValue.reference(Record.Reference(recordName: "a"))
        #expect(try read(reference(#"{"zoneName": "Notes"}"#)) == expected)
        let own = #"{"zoneName": "Notes", "ownerRecordName": "\#(Self.user)"}"#
        #expect(try read(reference(own)) == expected)
        #expect(refusal(reference(#"{"zoneName": "Other"}"#))?.code == .badRequest)
        let foreign = #"{"zoneName": "Notes", "ownerName": "_1"}"#
        #expect(refusal(reference(foreign))?.code == .badRequest)
    }

    @Test func aParentStaysInItsZoneToo() throws {
        func parent(_ more: String) throws -> Record.Reference? {
            let text = #"{"recordName": "a", "parent": {"recordName": "p"\#(more)}}"#
            let parsed = try WebRecord(try WebObject(body: Bytes(text.utf8)), for: Self.user)
            let id = Record.ID(recordName: "a", zoneID: Self.zone)
            return try parsed.record(id, type: "Note", columns: [:], reader).parent
        }
        let own = #", "zoneID": {"zoneName": "Notes", "ownerRecordName": "\#(Self.user)"}"#
        for more in ["", own, #", "action": "NONE""#] {
            #expect(try parent(more) == Record.Reference(recordName: "p"), "\(more)")
        }
        let refused = [
            #", "zoneID": {"zoneName": "Other"}"#, #", "action": "DELETE_SELF""#,
            #", "action": "VALIDATE""#,
        ]
        for more in refused {
            #expect(throws: WebError.self, "\(more)") { try parent(more) }
        }
    }

    @Test(arguments: [
        #"{"value": true, "type": "TIMESTAMP"}"#, #"{"value": 1.5, "type": "INT64"}"#,
        #"{"value": "x", "type": "INT64"}"#, #"{"value": "nan", "type": "DOUBLE"}"#,
        #"{"value": 5, "type": "STRING"}"#, #"{"value": "?", "type": "BYTES"}"#,
        #"{"value": "AP9=", "type": "BYTES"}"#, #"{"value": [1], "type": "INT64"}"#,
        #"{"value": 1, "type": "INT64_LIST"}"#, #"{"value": 1, "type": "LIST"}"#,
        #"{"value": ["a", 1]}"#, #"{"value": [[1]]}"#, #"{"value": [null]}"#,
        #"{"value": 1, "type": "WHAT"}"#, #"{"value": {}}"#, "5", "[]",
        #"{"value": {"recordName": "a", "action": "VALIDATE"}}"#,
        #"{"value": {"recordName": "a", "action": "MAYBE"}}"#,
        #"{"value": {"latitude": "x", "longitude": 1}}"#, #"{"value": "x", "isEncrypted": true}"#,
        #"{"value": "AA==", "type": "ENCRYPTED_BYTES"}"#,
    ])
    func whatIsNoValueIsRefused(_ text: String) {
        let refusal = refusal(text)
        #expect(refusal?.code == .badRequest)
        #expect(refusal?.reason.contains("fields.x") == true, "\(refusal?.reason ?? "taken")")
    }

    /// Whole bodies, cut off after each byte, and changed at random: read or refused, never worse.
    @Test func damagedBodiesAreRefused() throws {
        let fields = Self.values.enumerated().map { index, value in
            JSON.Member("f\(index)", writer.json(value, in: Self.zone, column: nil))
        }
        let body = Bytes(
            JSON.object([
                .init("recordName", "a"), .init("recordType", "Note"),
                .init("fields", .object(fields)),
            ]).text.utf8
        )
        func record(_ body: Bytes) throws -> Record {
            let parsed = try WebRecord(try WebObject(body: body), for: Self.user)
            let id = Record.ID(recordName: "a", zoneID: Self.zone)
            return try parsed.record(id, type: "Note", columns: [:], reader)
        }
        let whole = try record(body)
        for (index, value) in Self.values.enumerated() { #expect(whole["f\(index)"] == value) }
        for cut in Damage.truncations(of: body).dropFirst() {
            #expect(throws: WebError.self) { try record(cut) }
        }
        var dice = SeededGenerator(seed: 5)
        for _ in 0..<3_000 {
            do {
                _ = try record(Damage.mutation(of: body, using: &dice))
            } catch {
                #expect(error is WebError)
            }
        }
    }
}
