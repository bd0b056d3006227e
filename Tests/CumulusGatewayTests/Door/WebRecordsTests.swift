// Records over web services, from a request to a node and back: modify, lookup, query.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebRecordsTests {
    private let title = #""title": {"value": "Milk"}"#

    @Test func aSavedRecordIsLookedUp() async throws {
        try await withWebUser { user, _ in
            let fields = """
                "title": {"value": "Grüße"}, "stars": {"value": 9223372036854775807},
                "price": {"value": 5}, "tags": {"value": []}, "post": {"value": {"recordName": "p"}}
                """
            let made = try await user.modify(
                "private",
                operation(.create, "a", type: "Note", fields)
            )[0]
            #expect(made.field("title") == "Grüße", "\(made.text)")
            #expect(made["fields"]?["price"] == ["value": .decimal(5), "type": "DOUBLE"])
            #expect(made["fields"]?["tags"] == ["value": .array([]), "type": "STRING_LIST"])
            #expect(made["zoneID"]?["zoneType"] == "DEFAULT_ZONE")
            #expect(made["deleted"] == .bool(false))
            let found = try await user.post(
                "private/records/lookup",
                """
                {"records": [{"recordName": "a"}, {"recordName": "no"}, {"recordName": "a",
                 "desiredKeys": ["stars", "?"]}], "numbersAsStrings": true}
                """
            )
            let entries = found.entries("records")
            #expect(found.status == 200)
            #expect(entries.count == 3)
            #expect(entries[0].field("stars") == "9223372036854775807")
            #expect(entries[0].tag == made.tag)
            #expect(entries[1].errorCode == "NOT_FOUND")
            #expect(entries[1]["recordName"] == "no")
            #expect(entries[2]["fields"] == ["stars": entries[0]["fields"]?["stars"] ?? .null])
            let none = try await user.post(
                "private/records/lookup",
                #"{"records": [{"recordName": "a"}], "desiredKeys": []}"#
            )
            #expect(none.entries("records").first?["fields"] == .object([]))
        }
    }

    /// Each kind of operation, on a record that is missing, unchanged and changed since.
    @Test func eachOperationHasItsRule() async throws {
        try await withWebUser { user, _ in
            let (type, field) = ("Note", #""stars": {"value": 1}"#)
            func codes(_ kind: WebOperation.Kind) async throws -> [String?] {
                let name = kind.rawValue
                var codes: [String?] = []
                let missing = operation(kind, name + "0", tag: "0a", type: type, field)
                codes.append(try await user.modify("private", missing)[0].errorCode)
                for isStale in [false, true] {
                    let (own, forced) = ("\(name)\(isStale)", WebOperation.Kind.forceUpdate)
                    let first = operation(forced, own, type: type, title)
                    let tag = try await user.modify("private", first)[0].tag
                    if isStale {
                        let change = operation(forced, own, #""title": {"value": "Bread"}"#)
                        _ = try await user.modify("private", change)
                    }
                    let last = operation(kind, own, tag: tag, type: type, field)
                    codes.append(try await user.modify("private", last)[0].errorCode)
                }
                return codes
            }
            let created = try await codes(.create)
            #expect(created == [nil, "CONFLICT", "CONFLICT"])
            #expect(try await codes(.update) == ["NOT_FOUND", nil, "CONFLICT"])
            #expect(try await codes(.forceUpdate) == [nil, nil, nil])
            #expect(try await codes(.replace) == ["NOT_FOUND", nil, "CONFLICT"])
            #expect(try await codes(.forceReplace) == [nil, nil, nil])
            #expect(try await codes(.delete) == ["NOT_FOUND", nil, "CONFLICT"])
            #expect(try await codes(.forceDelete) == [nil, nil, nil])
        }
    }

    @Test func updatesKeepOtherFieldsAndReplacesDoNot() async throws {
        try await withWebUser { user, _ in
            let first = operation(.create, "a", type: "Note", title)
            let made = try await user.modify("private", first)[0]
            let stars = #""stars": {"value": 1}"#
            let updated = try await user.modify(
                "private",
                operation(.update, "a", tag: made.tag, stars)
            )[0]
            #expect(updated.field("title") == "Milk")
            #expect(updated.field("stars") == .integer(1))
            let replaced = try await user.modify("private", operation(.forceReplace, "a", stars))
            #expect(replaced[0].field("title") == nil)
            #expect(replaced[0].field("stars") == .integer(1))
            for null in [#"{"value": null}"#, "{}", "null"] {
                _ = try await user.modify("private", operation(.forceUpdate, "a", stars))
                let cleared = operation(.forceUpdate, "a", #""stars": \#(null)"#)
                let entry = try await user.modify("private", cleared)[0]
                #expect(entry["fields"] == .object([]), "\(null)")
            }
        }
    }

    @Test func webServicesAddNothingToTheSchema() async throws {
        try await withWebUser { user, _ in
            let entries = try await user.modify(
                "private",
                operation(.create, "a", type: "Unknown", title),
                operation(.create, "b", type: "Note", #""unknown": {"value": 1}"#),
                operation(.create, "c", title),
                operation(.create, "d", type: "Note", title),
                operation(.create, "e", type: "Note", #""title": {"value": 1}"#)
            )
            let codes = entries.map(\.errorCode)
            #expect(codes == ["NOT_FOUND", "BAD_REQUEST", "BAD_REQUEST", nil, "BAD_REQUEST"])
        }
    }

    /// Browsers write whole doubles with all their digits.
    @Test func aNumberBeyond64BitsIsOfItsRecord() async throws {
        try await withWebUser { user, _ in
            let large = "100000000000000000000"
            let note = operation(.create, "a", type: "Note", #""price": {"value": \#(large)}"#)
            let wrong = operation(.create, "b", type: "Note", #""stars": {"value": \#(large)}"#)
            let tagged = operation(
                .create,
                "c",
                type: "Note",
                #""price": {"value": \#(large), "type": "DOUBLE"}"#
            )
            let answer = try await user.post(
                "private/records/modify",
                #"{"unknown": \#(large), "operations": [\#(note), \#(wrong), \#(tagged)]}"#
            )
            let entries = answer.entries("records")
            #expect(entries.map(\.errorCode) == [nil, "BAD_REQUEST", nil], "\(answer.json.text)")
            #expect(entries.first?.field("price") == .decimal(1e20))
            #expect(entries.last?.field("price") == .decimal(1e20))
        }
    }

    @Test func aFailureTakesAnAtomicZoneWithIt() async throws {
        try await withWebUser { user, _ in
            let zone = #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "Notes"}}}"#
            let made = try await user.post(
                "private/zones/modify",
                #"{"operations": [\#(zone)]}"#
            )
            #expect(made.entries("zones").first?["atomic"] == .bool(true))
            func batch(_ zone: String?, atomic: Bool = true) async throws -> [String?] {
                try await user.modify(
                    "private",
                    zone: zone,
                    atomic: atomic,
                    operation(.forceUpdate, "a", type: "Note", title),
                    operation(.update, "missing", tag: "00", title),
                    operation(.create, "a\(atomic)", type: "Note", title)
                ).map(\.errorCode)
            }
            #expect(try await batch("Notes") == ["ATOMIC_ERROR", "NOT_FOUND", "ATOMIC_ERROR"])
            let found = try await user.post(
                "private/records/lookup",
                #"{"zoneID": {"zoneName": "Notes"}, "records": [{"recordName": "a"}]}"#
            )
            #expect(found.entries("records").first?.errorCode == "NOT_FOUND")
            #expect(try await batch("Notes", atomic: false) == [nil, "NOT_FOUND", nil])
            #expect(try await batch(nil) == [nil, "NOT_FOUND", nil])
        }
    }

    @Test func aZoneThatIsNotThereRefusesTheRequest() async throws {
        try await withWebUser { user, _ in
            let note = operation(.create, "a", type: "Note", title)
            let zone = #""zoneID": {"zoneName": "Gone"}"#
            let body = #"{\#(zone), "operations": [\#(note)]}"#
            let refused = try await user.post("private/records/modify", body)
            #expect(refused.status == 404)
            #expect(refused.json.errorCode == "ZONE_NOT_FOUND")
            let inRecord = """
                {"operationType": "create",
                "record": {"recordName": "a", "recordType": "Note", \(zone)}}
                """
            let entries = try await user.modify("private", inRecord)
            #expect(entries.first?.errorCode == "ZONE_NOT_FOUND")
        }
    }

    @Test func namesAreMadeForThoseWhoHaveNone() async throws {
        try await withWebUser { user, _ in
            let nameless = """
                {"operationType": "create", "record": {"recordType": "Note", "fields": {\(title)}}}
                """
            let entries = try await user.modify("private", nameless, nameless)
            let names = Set(entries.compactMap { $0["recordName"]?.string })
            #expect(names.count == 2)
            #expect(names.allSatisfy { $0.count == 36 })
        }
    }

    // MARK: Queries

    @Test func aQueryIsReadPageByPage() async throws {
        try await withWebUser { user, _ in
            for number in 0..<5 {
                let fields = #""stars": {"value": \#(number)}, "title": {"value": "n\#(number)"}"#
                let note = operation(.create, "n\(number)", type: "Note", fields)
                #expect(try await user.modify("public", note)[0].errorCode == nil)
            }
            func page(_ marker: String?, limit: Int = 2) async throws -> WebUser.Answer {
                let marker = marker.map { #", "continuationMarker": "\#($0)""# } ?? ""
                let keys = marker.isEmpty ? #", "desiredKeys": ["stars"]"# : ""
                return try await user.post(
                    "public/records/query",
                    """
                    {"query": {"recordType": "Note", "filterBy": [{"fieldName": "stars",
                      "comparator": "GREATER_THAN", "fieldValue": {"value": 0}}],
                      "sortBy": [{"fieldName": "stars", "ascending": false}]},
                     "resultsLimit": "\(limit)"\(marker)\(keys)}
                    """
                )
            }
            var names: [String] = []
            var marker: String?
            repeat {
                let answer = try await page(marker)
                #expect(answer.status == 200, "\(answer.json.text)")
                for entry in answer.entries("records") {
                    names.append(entry["recordName"]?.string ?? "")
                    // The wish of the first page holds for the others.
                    #expect(entry.field("title") == nil)
                }
                marker = answer.json["continuationMarker"]?.string
            } while marker != nil && names.count < 10
            #expect(names == ["n4", "n3", "n2", "n1"])
            #expect(try await page(nil, limit: 4).json["continuationMarker"] == nil)
            #expect(try await page("AAAA").status == 400)
        }
    }

    @Test func whatCanNotBeQueriedIsRefused() async throws {
        try await withWebUser { user, _ in
            func status(_ query: String, zone: String = "") async throws -> Int {
                try await user.post("private/records/query", #"{"query": \#(query)\#(zone)}"#)
                    .status
            }
            let unknown = try await status(#"{"recordType": "Unknown"}"#)
            #expect(unknown == 404)
            let unindexed = """
                {"recordType": "Note", "filterBy": [{"fieldName": "price", "comparator": "EQUALS",
                 "fieldValue": {"value": 1}}]}
                """
            #expect(try await status(unindexed) == 400)
            let gone = #", "zoneID": {"zoneName": "Gone"}"#
            #expect(try await status(#"{"recordType": "Note"}"#, zone: gone) == 404)
            #expect(try await status("{}") == 400)
        }
    }

    @Test func aRequestNamesEachRecordOnceAndNotTooMany() async throws {
        try await withWebUser { user, _ in
            func status(_ count: Int, _ name: (Int) -> String) async throws -> Int {
                let all = (0..<count).map { operation(.forceDelete, name($0)) }
                let body = #"{"operations": [\#(all.joined(separator: ","))]}"#
                return try await user.post("private/records/modify", body).status
            }
            let twice = try await status(2) { _ in "a" }
            #expect(twice == 400)
            #expect(try await status(201) { "a\($0)" } == 400)
            #expect(try await status(200) { "a\($0)" } == 200)
        }
    }
}
