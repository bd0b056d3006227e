// Filters and sorts become the predicates that native clients send.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebQueryTests {
    private let columns: [String: FieldType] = [
        "title": .one(.string), "stars": .one(.int64), "price": .one(.double),
        "tags": .list(.string), "place": .one(.location), "post": .one(.reference),
    ]

    private func query(_ text: String) throws -> Query {
        let reader = WebFieldReader(zone: .default, user: "")
        let object = try WebObject(try JSONReader.read(text.utf8), at: "query")
        return try WebQuery(columns: columns, reader).query(object)
    }

    private func predicate(_ filters: String) throws -> Query.Predicate {
        try query(#"{"recordType": "Note", "filterBy": [\#(filters)]}"#).predicate
    }

    private func filter(_ comparator: String, _ field: String, _ value: String) -> String {
        """
        {"comparator": "\(comparator)", "fieldName": "\(field)", "fieldValue": {"value": \(value)}}
        """
    }

    @Test func filtersMustAllHold() throws {
        let both = filter("EQUALS", "title", #""a""#) + "," + filter("LESS_THAN", "stars", "3")
        #expect(try predicate(both) == (.field("title") == "a" && .field("stars") < 3))
        #expect(try query(#"{"recordType": "Note"}"#).predicate == .all)
    }

    /// Some clients send one filter, or one sort, without a list around it.
    @Test func oneDictionaryIsAListOfOne() throws {
        let title = filter("EQUALS", "title", #""a""#)
        let sort = #"{"fieldName": "title", "ascending": false}"#
        let listed = try query(
            #"{"recordType": "Note", "filterBy": [\#(title)], "sortBy": [\#(sort)]}"#
        )
        let bare = try query(
            #"{"recordType": "Note", "filterBy": \#(title), "sortBy": \#(sort)}"#
        )
        #expect(bare == listed)
        #expect(bare.predicate == (.field("title") == "a"))
        for other in ["1", #""x""#, "true"] {
            for key in ["filterBy", "sortBy"] {
                let text = #"{"recordType": "Note", "\#(key)": \#(other)}"#
                #expect(throws: WebError.self, "\(text)") { try query(text) }
            }
        }
    }

    /// Clients write an action because their type of a reference has one.
    @Test(arguments: [#""NONE""#, #""DELETE_SELF""#, #""VALIDATE""#, #""MAYBE""#, "5", "null"])
    func theActionOfAReferenceHasNoMeaningInAFilter(action: String) throws {
        let value = FieldValue.reference(Record.Reference(recordName: "x"))
        let reference = #"{"recordName": "x", "action": \#(action)}"#
        let post = Query.Field.field("post")
        #expect(try predicate(filter("EQUALS", "post", reference)) == (post == value))
        #expect(try predicate(filter("IN", "post", "[\(reference)]")) == post.isIn([value]))
        let parent = Query.Field.field("___parent")
        #expect(try predicate(filter("EQUALS", "___parent", reference)) == (parent == value))
    }

    @Test func eachComparatorHasItsMeaning() throws {
        let (title, stars, tags): (Query.Field, Query.Field, Query.Field) = (
            .field("title"), .field("stars"), .field("tags")
        )
        let place = Location(latitude: 1, longitude: 2)
        let list = #"["a", "b"]"#
        let expected: [(WebComparator, String, String, Query.Predicate)] = [
            (.equals, "stars", "1", stars == 1), (.notEquals, "stars", "1", stars != 1),
            (.lessThan, "stars", "1", stars < 1), (.lessThanOrEquals, "stars", "1", stars <= 1),
            (.greaterThan, "stars", "1", stars > 1),
            (.greaterThanOrEquals, "stars", "1", stars >= 1),
            (.beginsWith, "title", #""a""#, title.begins(with: "a")),
            (.notBeginsWith, "title", #""a""#, !title.begins(with: "a")),
            (.isIn, "title", list, title.isIn(["a", "b"])),
            (.isNotIn, "title", list, !title.isIn(["a", "b"])),
            (.listContains, "tags", #""a""#, tags.contains("a")),
            (.notListContains, "tags", #""a""#, !tags.contains("a")),
            (.listContainsAny, "tags", list, tags.containsAny(["a", "b"])),
            (.notListContainsAny, "tags", list, !tags.containsAny(["a", "b"])),
            (.listContainsAll, "tags", list, tags.contains("a") && tags.contains("b")),
            (.notListContainsAll, "tags", list, !tags.contains("a") || !tags.contains("b")),
            (.listMemberBeginsWith, "tags", #""a""#, tags.containsPrefix("a")),
            (.notListMemberBeginsWith, "tags", #""a""#, !tags.containsPrefix("a")),
            (.containsAllTokens, "title", #""a b""#, .tokens(all: "a b")),
            (.containsAnyToken, "title", #""a b""#, .tokens(any: "a b")),
        ]
        for (comparator, field, value, predicate) in expected {
            let found = try self.predicate(filter(comparator.rawValue, field, value))
            #expect(found == predicate, "\(comparator)")
            #expect(found.isWellFormed)
        }
        let near = """
            {"comparator": "NEAR", "fieldName": "place", "distance": 100,
             "fieldValue": {"value": {"latitude": 1, "longitude": 2}, "type": "LOCATION"}}
            """
        #expect(try predicate(near) == Query.Field.field("place").isWithin(metres: 100, of: place))
        #expect(expected.count + 1 == WebComparator.allCases.count)
    }

    /// Native clients can't say it, so the node has to be told that this one may.
    @Test func onlyNotAllNeedsAnExtension() throws {
        func allows(_ comparator: WebComparator) throws -> Bool {
            let filter = filter(comparator.rawValue, "tags", #"["a", "b"]"#)
            return try query(#"{"recordType": "Note", "filterBy": [\#(filter)]}"#).allowsExtensions
        }
        #expect(try allows(.notListContainsAll))
        #expect(try !allows(.listContainsAll))
        #expect(try !allows(.notListContainsAny))
    }

    @Test func emptyListsDecideAtOnce() throws {
        #expect(try predicate(filter("IN", "title", "[]")) == .none)
        #expect(try predicate(filter("NOT_IN", "title", "[]")) == .all)
        #expect(try predicate(filter("LIST_CONTAINS_ALL", "tags", "[]")) == .all)
        #expect(try predicate(filter("NOT_LIST_CONTAINS_ALL", "tags", "[]")) == .none)
    }

    @Test func systemFieldsHaveTwoSpellings() throws {
        let spellings: [(String, String, String)] = [
            ("___recordID", "recordName", #""a""#), ("___recordId", "recordName", #""a""#),
            ("___createdBy", "createdUserRecordName", #""_1""#),
            ("___modifiedBy", "modifiedUserRecordName", #""_1""#),
            ("___parent", "parent", #""a""#), ("___share", "share", #""a""#),
            ("___createTime", "createdTimestamp", "5"), ("___modTime", "modifiedTimestamp", "5"),
        ]
        for (field, system, value) in spellings {
            let one = try predicate(filter("EQUALS", field, value))
            let other = try predicate(
                """
                {"comparator": "EQUALS", "systemFieldName": "\(system)",
                 "fieldValue": {"value": \(value)}}
                """
            )
            #expect(one == other, "\(field)")
        }
        let named = try predicate(filter("EQUALS", "___recordID", #""a""#))
        let reference = Record.Reference(recordName: "a")
        #expect(named == (.field("___recordID") == reference))
        let tagged = filter("EQUALS", "___recordID", #"{"recordName": "a"}"#)
        #expect(try predicate(tagged) == named)
        // A user's own field may be called like a system field of web requests.
        let own = try predicate(filter("EQUALS", "recordName", #""a""#))
        #expect(own == (.field("recordName") == "a"))
    }

    @Test func sortsHaveAnOrderOrAPlace() throws {
        let sorted = try query(
            """
            {"recordType": "Note", "sortBy": [{"fieldName": "title"},
             {"systemFieldName": "modifiedTimestamp", "ascending": false},
             {"fieldName": "place", "relativeLocation": {"latitude": 1, "longitude": 2}},
             {"fieldName": "place", "relativeLocation":
              {"value": {"latitude": 1, "longitude": 2}, "type": "LOCATION"}}]}
            """
        ).sortDescriptors
        let nearest = Query.SortDescriptor(
            key: "place",
            relativeLocation: Location(latitude: 1, longitude: 2)
        )
        #expect(
            sorted == [
                .init(key: "title"), .init(key: "___modTime", ascending: false), nearest, nearest,
            ]
        )
    }

    @Test(arguments: [
        #"{"comparator": "EQUALS", "fieldValue": {"value": 1}}"#,
        #"{"comparator": "EQUALS", "fieldName": "a", "systemFieldName": "recordName"}"#,
        #"{"comparator": "EQUALS", "fieldName": "a"}"#,
        #"{"comparator": "EQUALS", "fieldName": "a", "fieldValue": {"value": null}}"#,
        #"{"comparator": "equals", "fieldName": "a", "fieldValue": {"value": 1}}"#,
        #"{"comparator": "EQUALS", "fieldName": "a", "fieldValue": {"value": [1]}}"#,
        #"{"comparator": "IN", "fieldName": "title", "fieldValue": {"value": "a"}}"#,
        #"{"comparator": "IN", "fieldName": "a", "fieldValue": {"type": "STRING", "value": []}}"#,
        #"{"comparator": "EQUALS", "systemFieldName": "title", "fieldValue": {"value": 1}}"#,
        #"{"comparator": "NEAR", "fieldName": "place", "fieldValue": {"value": 1}}"#,
        #"{"fieldName": "a", "fieldValue": {"value": 1}}"#, "5",
    ])
    func whatIsNoFilterIsRefused(_ filter: String) {
        #expect {
            try predicate(filter)
        } throws: {
            ($0 as? WebError)?.code == .badRequest
        }
    }
}
