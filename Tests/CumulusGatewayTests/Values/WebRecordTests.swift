// A record of an answer, to the byte.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebRecordTests {
    private static let user = "_0123456789abcdef0123456789abcdef"

    private static let record: Record = {
        let zone = RecordZone.ID(zoneName: "Notes")
        var record = Record(
            recordType: "Note",
            recordID: Record.ID(recordName: "a\"b", zoneID: zone)
        )
        var place = Location(latitude: 47.5, longitude: -8.25)
        place.altitude = 400
        place.timestamp = Timestamp(millisecondsSince1970: -1)
        record["title"] = "Grüße \u{1F9C0}\n"
        record["stars"] = .int64(.min)
        record["price"] = .double(5)
        record["most"] = .double(.infinity)
        record["day"] = .timestamp(Timestamp(millisecondsSince1970: 1_767_225_600_000))
        record["data"] = .bytes([0, 255])
        record["place"] = .location(place)
        record["post"] = .reference(Record.Reference(recordName: "p", action: .deleteSelf))
        record["photo"] = .asset(Asset(digest: [1, 2, 3], size: 11))
        record["tags"] = .list([.string("x"), .string("")])
        record["none"] = .list([])
        record.recordChangeTag = "0a"
        record.parent = Record.Reference(recordName: "above")
        return record
    }()

    private static let zone = """
        {"zoneName": "Notes", "ownerRecordName": "\(user)", "zoneType": "REGULAR_CUSTOM_ZONE"}
        """

    private func text(asText: Bool = false, keys: [String]? = nil) -> String {
        let fields = WebFieldWriter(numbersAsStrings: asText, user: Self.user) { _ in
            "https://node/a"
        }
        var json = JSONWriter()
        WebRecordWriter(fields, keys: keys)
            .write(Self.record, columns: ["none": .list(.double)], to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func expected(_ fields: [String]) -> String {
        #"{"recordName": "a\"b", "recordType": "Note", "recordChangeTag": "0a", "fields": {"#
            + fields.joined(separator: ", ")
            + #"}, "pluginFields": {}, "created": {"timestamp": 0, "deviceID": ""}, "modified": "#
            + #"{"timestamp": 0, "deviceID": ""}, "deleted": false, "zoneID": "# + Self.zone
            + #", "parent": {"recordName": "above"}}"#
    }

    @Test func aRecordHasOneForm() {
        let reference = #"{"recordName": "p", "zoneID": \#(Self.zone), "action": "DELETE_SELF"}"#
        let fields = [
            #""data": {"value": "AP8=", "type": "BYTES"}"#,
            #""day": {"value": 1767225600000, "type": "TIMESTAMP"}"#,
            #""most": {"value": "Infinity", "type": "DOUBLE"}"#,
            #""none": {"value": [], "type": "DOUBLE_LIST"}"#,
            #""photo": {"value": {"fileChecksum": "AQID", "size": 11, "downloadURL": "#
                + #""https://node/a"}, "type": "ASSETID"}"#,
            #""place": {"value": {"latitude": 47.5, "longitude": -8.25, "altitude": 400.0, "#
                + #""timestamp": -1}, "type": "LOCATION"}"#,
            #""post": {"value": \#(reference), "type": "REFERENCE"}"#,
            #""price": {"value": 5.0, "type": "DOUBLE"}"#,
            #""stars": {"value": -9223372036854775808, "type": "INT64"}"#,
            #""tags": {"value": ["x", ""], "type": "STRING_LIST"}"#,
            #""title": {"value": "Grüße 🧀\n", "type": "STRING"}"#,
        ]
        #expect(text() == expected(fields))
    }

    @Test func wishesChangeWhatIsShown() {
        let stars = #""stars": {"value": "-9223372036854775808", "type": "INT64"}"#
        let price = #""price": {"value": "5.0", "type": "DOUBLE"}"#
        #expect(text(asText: true, keys: ["stars", "price", "no"]) == expected([price, stars]))
        #expect(text(keys: []) == expected([]))
    }

    /// Code that needs parts of a record reads what is written.
    @Test func theValueOfARecordIsWhatIsWritten() throws {
        let writer = WebRecordWriter(WebFieldWriter(user: Self.user))
        var json = JSONWriter()
        writer.write(Self.record, columns: [:], to: &json)
        #expect(writer.json(Self.record).bytes == json.bytes)
        #expect(writer.json(Self.record)["fields"]?["price"]?["value"] == .decimal(5))
    }
}
