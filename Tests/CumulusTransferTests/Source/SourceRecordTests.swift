// What answers of CloudKit's web services say of records, in the form that Apple's service gives.

import CumulusModel
import Testing

@testable import CumulusTransfer

@Suite struct SourceRecordTests {
    private func page() throws -> SourceQueryPage {
        try SourceQueryPage(ServiceAnswer.json("query"), in: "_defaultZone")
    }

    @Test func aRecordHasAllKindsOfValues() throws {
        let page = try page()
        #expect(page.marker == "AAECAw==")
        let record = try #require(page.entries.first?.record)
        #expect(record.name == "n1" && record.type == "Note" && record.changeTag == "34sz")
        #expect(record.fields["title"] == .plain(.string("Cafe\u{301} 🌻")))
        #expect(record.fields["stars"] == .plain(.int64(.max)))
        #expect(record.fields["rating"] == .plain(.double(4)))
        #expect(
            record.fields["due"] == .plain(.timestamp(Timestamp(millisecondsSince1970: -1)))
        )
        #expect(record.fields["thumb"] == .plain(.bytes([0, 1, 2, 255])))
        #expect(record.fields["secret"] == .sealed(Array("sealed".utf8)))
        #expect(record.fields["tags"] == .plain(.list([.string("a"), .string("b")])))
        #expect(record.fields["none"] == .plain(.list([])))
        let book = Record.Reference(recordName: "b1", action: .deleteSelf)
        #expect(record.fields["book"] == .plain(.reference(book)))
        var spot = Location(latitude: 48.1, longitude: 11.5)
        spot.altitude = 519.5
        spot.timestamp = Timestamp(millisecondsSince1970: 1_767_000_000_000)
        #expect(record.fields["spot"] == .plain(.location(spot)))
        #expect(record.created == SourceMoment(time: 1_767_000_000_000, user: ServiceAnswer.ada))
        #expect(record.modified == SourceMoment(time: 1_767_000_000_500, user: ServiceAnswer.bob))
    }

    @Test func filesHaveAPlaceForAName() throws {
        let record = try #require(try page().entries.first?.record)
        guard case .assets(let files, false)? = record.fields["photo"] else {
            Issue.record("\(record.fields)")
            return
        }
        #expect(files[0].size == 11)
        #expect(files[0].downloadURL == "https://cvws.icloud-content.com/B/x/asset?o=y&e=1")
        // Not a node's digest.
        #expect(files[0].stated.digest.isEmpty && files[0].stated.size == 11)
        guard case .assets(let pages, true)? = record.fields["pages"] else {
            Issue.record("\(record.fields)")
            return
        }
        #expect(pages.map(\.size) == [1, 2])
    }

    @Test func anEntryThatWasRefusedLeavesTheOthers() throws {
        guard case .refused("gone", let refusal) = try page().entries[1] else {
            Issue.record("\(try page().entries)")
            return
        }
        #expect(refusal.text == "INTERNAL_ERROR: internal error")
    }

    @Test func changesHaveTombstonesAndShares() throws {
        let json = try ServiceAnswer.json("changes-zone")
        let page = try SourceZoneChanges.read(json, in: "Trips").get()
        #expect(page.token == "AQAB" && page.moreComing)
        #expect(page.entries[0] == .deleted("old"))
        #expect(page.entries[1].record?.shareName == "Share-1")
        let share = try #require(page.entries[2].record?.share)
        // Apple's answer does not name the root there: the root names its share.
        #expect(share.root.isEmpty)
        #expect(share.participants.count == 2)
        #expect(share.participants[0].emailAddress == "ada@example.org")
        #expect(!share.participants[0].hasAccepted)
        #expect(share.participants[1].user == ServiceAnswer.bob)
        #expect(share.participants[1].role == .administrator)
        #expect(share.participants[1].permission == .readWrite && share.participants[1].hasAccepted)
    }

    @Test func zonesComeAndGo() throws {
        let page = try SourceDatabaseChanges(ServiceAnswer.json("changes-database"))
        #expect(page.changed == [SourceZone(name: "Trips", owner: ServiceAnswer.ada)])
        #expect(page.deleted == [SourceZone(name: "Old")])
        #expect(page.token == "AQID" && !page.moreComing)
    }

    @Test(arguments: [
        (#"{"value": "x", "type": "INT64"}"#, "'f.value' must be an integer of 64 bits"),
        (#"{"value": 1.5, "type": "TIMESTAMP"}"#, "'f.value' must be an integer of 64 bits"),
        (#"{"value": "*", "type": "BYTES"}"#, "'f.value' must be bytes in base64"),
        (
            #"{"value": 1, "type": "STRING_LIST"}"#,
            "must be an array, since its type is STRING_LIST"
        ),
        (#"{"value": [1], "type": "STRING_LIST"}"#, "'f.value[0]' must be a text"),
        (#"{"value": 1, "type": "COLOUR"}"#, "has the unknown type 'COLOUR'"),
        (#"{"value": {"latitude": 1}, "type": "LOCATION"}"#, "must have latitude and longitude"),
        (#"{"value": {"action": "NONE"}, "type": "REFERENCE"}"#, "'f.value.recordName' is missing"),
        (
            #"{"value": {"recordName": "a", "zoneID": {"zoneName": "B"}}, "type": "REFERENCE"}"#,
            "refers to zone 'B'"
        ),
        (#"{"value": {"size": 1}, "type": "ASSETID"}"#, "'f.value.downloadURL' is missing"),
        (
            #"{"value": {"size": 1, "downloadURL": "file:///etc/passwd"}, "type": "ASSETID"}"#,
            "must be a URL of http or https"
        ),
        (
            #"{"value": {"size": -1, "downloadURL": "https://a"}, "type": "ASSETID"}"#,
            "must not be negative"
        ),
    ]) func aWrongValueIsToldWithItsPlace(text: String, message: String) throws {
        let json = try JSONReader.read(text.utf8)
        let error = #expect(throws: SourceProblem.self) {
            _ = try SourceValue(json, in: "A", at: "f")
        }
        #expect(error?.description.contains(message) == true, "\(String(describing: error))")
    }

    @Test func emptyFieldsAreNone() throws {
        for text in ["null", "{}", #"{"value": null, "type": "STRING"}"#] {
            #expect(try SourceValue(JSONReader.read(text.utf8), in: "A", at: "f") == nil)
        }
    }

    @Test func valuesWithoutATypeAreGuessed() throws {
        func read(_ text: String) throws -> SourceValue? {
            try SourceValue(JSONReader.read(#"{"value": \#(text)}"#.utf8), in: "A", at: "f")
        }
        #expect(try read("true") == .plain(.int64(1)))
        #expect(try read("1.5") == .plain(.double(1.5)))
        #expect(try read(#"["a"]"#) == .plain(.list([.string("a")])))
        #expect(try read(#"{"recordName": "a"}"#) == .plain(.reference(.init(recordName: "a"))))
    }
}
