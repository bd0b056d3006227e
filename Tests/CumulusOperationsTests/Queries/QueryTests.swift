// Tests what each form of a predicate finds, row by row of CloudKit's tables, on a few cities.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct QueryTests {
    private let store: TestStore
    private static let noon: Int64 = 1_750_000_000_000

    init() throws {
        store = try TestStore()
        try store.save([
            SaveItem("amsterdam", Self.city("NL", 921_402, 0.5, 52.37, 4.89, of: "europe")),
            SaveItem("berlin", Self.city("DE", 3_700_000, 0.25, 52.52, 13.40, of: "europe")),
            SaveItem("bern", Self.city("CH", 134_000, -1, 46.95, 7.44, of: "europe")),
            SaveItem("osaka", Self.city("JP", 2_750_000, 0, 34.69, 135.50, of: "asia")),
            SaveItem("tokyo", Self.city("JP", 13_960_000, 2, 35.68, 139.69, of: "asia")),
            SaveItem("nowhere", ["empty": 1]),
        ])
        try store.save([
            SaveItem("amsterdam", ["labels": ["canal", "bike"], "blurb": "Bikes, Café life"]),
            SaveItem("berlin", ["labels": ["club"], "blurb": "Clubs and lakes", "motto": "be"]),
            SaveItem("tokyo", ["labels": ["neon", "bike"], "blurb": "a CAFE", "motto": "life"]),
            SaveItem("nowhere", ["labels": .list([])]),
        ])
    }

    private static func city(
        _ country: String,
        _ population: Int64,
        _ ratio: Double,
        _ latitude: Double,
        _ longitude: Double,
        of region: String
    ) -> [String: FieldValue?] {
        [
            "country": .string(country), "population": .int64(population),
            "ratio": .double(ratio), "data": .bytes([UInt8(population & 0xFF)]),
            "founded": .timestamp(Timestamp(millisecondsSince1970: noon - population)),
            "place": .location(Location(latitude: latitude, longitude: longitude)),
            "region": .reference(Record.Reference(recordName: region)),
            "marks": [.int64(population / 1_000_000), 7],
        ]
    }

    /// The names of the records that a predicate finds, in their order.
    private func found(
        _ format: String,
        _ arguments: any QueryArgument...,
        extended: Bool = false
    ) throws -> [String] {
        var query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: format, argumentArray: arguments)
        )
        query.allowsExtensions = extended
        return try store.query(query).records.map(\.record.name)
    }

    private func refusal(_ format: String, _ arguments: any QueryArgument...) throws -> String {
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: format, argumentArray: arguments)
        )
        let error = try #require(throws: ServiceError.self) { try store.query(query) }
        #expect(error.code == .invalidArguments)
        return error.message
    }

    /// Chooses the indexes of a field, as the import of a schema does.
    private func choose(_ indexes: Schema.Indexes, of field: String) throws {
        let register = Commit.Register(
            namespace: SchemaRegister.indexNamespace,
            key: ["Note", field].map { Bytes($0.utf8) },
            value: [indexes.rawValue]
        )
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
    }

    // MARK: Scalars

    @Test func equality() throws {
        #expect(try found("country == 'JP'") == ["osaka", "tokyo"])
        #expect(try found("'JP' = country") == ["osaka", "tokyo"])
        #expect(try found("population == 134000") == ["bern"])
        #expect(try found("ratio == 0") == ["osaka"])
        #expect(try found("data == CAST('70', 'NSData')") == ["bern"])
        #expect(try found("country == 'jp'") == [])
    }

    @Test func inequalityFindsNoAbsentField() throws {
        #expect(try found("country != 'JP'") == ["amsterdam", "berlin", "bern"])
        #expect(try found("country <> 'XX'").count == 5)
        #expect(try found("NOT (country == 'JP')") == ["amsterdam", "berlin", "bern"])
    }

    @Test func order() throws {
        #expect(try found("population < 134001") == ["bern"])
        #expect(try found("population <= 921402") == ["amsterdam", "bern"])
        #expect(try found("population > 2750000") == ["berlin", "tokyo"])
        #expect(try found("population => 2750000") == ["berlin", "osaka", "tokyo"])
        #expect(try found("ratio < 0") == ["bern"])
        #expect(try found("country > 'DE' AND country < 'NL'") == ["osaka", "tokyo"])
        let moment = Timestamp(millisecondsSince1970: Self.noon - 1_000_000)
        #expect(try found("founded > %@", moment) == ["amsterdam", "bern"])
        #expect(try found("NOT (population < 3700000)") == ["berlin", "tokyo"])
    }

    @Test func between() throws {
        let three = ["amsterdam", "berlin", "osaka"]
        #expect(try found("population BETWEEN {921402, 3700000}") == three)
        #expect(try found("population BETWEEN %@", [921_402, 3_700_000]) == three)
    }

    @Test func membership() throws {
        #expect(try found("country IN {'NL', 'CH', 'XX'}") == ["amsterdam", "bern"])
        #expect(try found("country IN %@", ["DE"]) == ["berlin"])
        #expect(try found("ANY {'NL', 'DE'} = country") == ["amsterdam", "berlin"])
        #expect(try found("population IN {134000, 1}") == ["bern"])
    }

    /// An app that asks for no element of a list reads no records.
    @Test func membershipInNothingFindsNothingAtOnce() throws {
        for format in [
            "country IN {}", "recordID IN {}", "FALSEPREDICATE",
            "population > 1 AND country IN {}", "FALSEPREDICATE OR ANY labels IN {}",
        ] {
            var query = Query(
                recordType: "Note",
                predicate: try Query.Predicate(format: format)
            )
            query.allowsExtensions = true
            let page = try store.query(query)
            #expect(page.records.isEmpty)
            #expect(page.work.rowsRead == 0)
        }
        #expect(
            try found("country IN {} OR country == 'NL'", extended: true) == ["amsterdam"]
        )
    }

    @Test func membershipHasALimit() throws {
        let many = Array(0...250)
        #expect(try found("population IN %@", many.dropLast()) == [])
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: "population IN %@", many)
        )
        let error = try #require(throws: ServiceError.self) { try store.query(query) }
        #expect(error.code == .limitExceeded)
        #expect(error.message.hasPrefix("Query filter exceeds the limit of values: 250"))
    }

    @Test func exclusionFindsNoAbsentField() throws {
        #expect(try found("NOT (country IN {'JP', 'DE'})") == ["amsterdam", "bern"])
        #expect(try found("NOT country IN %@", ["JP", "DE", "CH", "NL"]) == [])
    }

    @Test func prefix() throws {
        try store.save([
            SaveItem("a", ["motto": "be bold"]), SaveItem("b", ["motto": "Be"]),
            SaveItem("c", ["motto": "be\u{10FFFF}"]), SaveItem("d", ["motto": ""]),
        ])
        #expect(try found("motto BEGINSWITH 'be'") == ["a", "berlin", "c"])
        #expect(try found("motto BEGINSWITH ''") == ["a", "b", "berlin", "c", "d", "tokyo"])
        #expect(try found("NOT (motto BEGINSWITH 'be')") == ["b", "d", "tokyo"])
    }

    /// Names always decide last; a query may also say so.
    @Test(arguments: [Schema.Indexes.queryable, .sortable])
    func sortingByName(index: Schema.Indexes) throws {
        func sorted(_ keys: (key: String, ascending: Bool)...) throws -> [String] {
            let query = Query(
                recordType: "Note",
                predicate: .field("country") >= "JP",
                sortDescriptors: keys.map { .init(key: $0.key, ascending: $0.ascending) }
            )
            let whole = try store.query(query).records.map(\.record.name)
            var names: [String] = []
            var cursor: QueryCursor?
            repeat {
                let page = try store.query(query, limit: 1, from: cursor)
                names += page.records.map(\.record.name)
                cursor = page.next
            } while cursor != nil
            #expect(names == whole)
            return whole
        }
        #expect(throws: ServiceError.self) { try sorted(("recordID", true)) }
        try choose(index, of: "___recordID")
        #expect(try sorted(("recordID", true)) == ["amsterdam", "osaka", "tokyo"])
        #expect(try sorted(("recordName", false)) == ["tokyo", "osaka", "amsterdam"])
        #expect(
            try sorted(("country", true), ("___recordID", true)) == ["osaka", "tokyo", "amsterdam"]
        )
        #expect(
            try sorted(("country", true), ("recordID", false), ("ratio", true))
                == ["tokyo", "osaka", "amsterdam"]
        )
        #expect(
            try sorted(("country", false), ("recordID", true)) == ["amsterdam", "osaka", "tokyo"]
        )
    }

    @Test func sharesOfRecords() throws {
        #expect(try refusal("share == 'x'").hasPrefix("Field '___share' is not marked queryable"))
        try choose(.queryable, of: "___share")
        #expect(try found("share == %@", Record.ID(recordName: "x")) == [])
    }

    @Test func refusalsSayWhatToAskInstead() throws {
        try choose(.queryable, of: "region")
        for (format, advice) in [
            ("region < 'p'", "ask with ==, != or IN which record it names"),
            ("recordID BEGINSWITH 'a'", "ask with ==, != or IN which record it names"),
            (
                "distanceToLocation:fromLocation:(country, LOCATION(1, 2)) < 5",
                "distances are asked of LOCATION fields"
            ),
        ] {
            #expect(try refusal(format).contains(advice), "\(format)")
        }
    }

    // MARK: Lists

    @Test func membersOfLists() throws {
        #expect(try found("labels CONTAINS 'bike'") == ["amsterdam", "tokyo"])
        #expect(try found("'club' IN labels") == ["berlin"])
        #expect(try found("ANY labels = 'neon'") == ["tokyo"])
        #expect(try found("marks CONTAINS 13") == ["tokyo"])
        #expect(try found("NOT (labels CONTAINS 'bike')") == ["berlin"])
    }

    @Test func listsThatShareAMember() throws {
        #expect(try found("ANY labels IN %@", ["club", "neon"]) == ["berlin", "tokyo"])
    }

    @Test func membersWithAPrefix() throws {
        #expect(try found("ANY labels BEGINSWITH 'c'") == ["amsterdam", "berlin"])
        #expect(try found("ANY labels BEGINSWITH 'x'") == [])
    }

    @Test func anEmptyListIsNoValue() throws {
        #expect(try found("labels == nil", extended: true) == ["bern", "nowhere", "osaka"])
    }

    // MARK: Words

    @Test func anyOfTheWords() throws {
        #expect(try found("self CONTAINS 'lakes life'") == ["amsterdam", "berlin", "tokyo"])
        #expect(try found("self CONTAINS 'CAFÉ'") == ["amsterdam", "tokyo"])
        #expect(try found("self CONTAINS 'caf'") == [])
        #expect(try found("self CONTAINS 'canal'") == ["amsterdam"])
    }

    @Test func bothWordsNotNecessarilyInOneField() throws {
        let format = "self CONTAINS 'cafe' AND self CONTAINS 'life'"
        #expect(try found(format) == ["amsterdam", "tokyo"])
    }

    @Test func allOfTheWords() throws {
        #expect(try found("allTokens TOKENMATCHES[cdl] 'life cafe'") == ["amsterdam", "tokyo"])
        #expect(try found("allTokens TOKENMATCHES[cdl] 'neon lakes'") == [])
    }

    @Test func wordsThatSayNothingAreIgnored() throws {
        #expect(try found("allTokens TOKENMATCHES[cdl] 'the lakes and'") == ["berlin"])
        #expect(try found("self CONTAINS 'and the of'") == [])
        #expect(try found("allTokens TOKENMATCHES[cdl] 'and the of'") == [])
    }

    // MARK: Places, references, system fields

    @Test func distance() throws {
        let here = Location(latitude: 52.5, longitude: 13.4)
        let format = "distanceToLocation:fromLocation:(place, %@) < %f"
        #expect(try found(format, here, 3_000.0) == ["berlin"])
        #expect(try found(format, here, 600_000.0) == ["amsterdam", "berlin"])
        let there = Location(latitude: 52.52, longitude: 13.40)
        #expect(try found(format, there, 0.0) == [])
        let exact = "distanceToLocation:fromLocation:(place, %@) <= 0"
        #expect(try found(exact, there) == ["berlin"])
    }

    @Test func references() throws {
        let asia = Record.Reference(recordName: "asia", action: .deleteSelf)
        #expect(try found("region == %@", asia) == ["osaka", "tokyo"])
        #expect(try found("region == %@", Record.ID(recordName: "asia")) == ["osaka", "tokyo"])
        let both = [asia, Record.Reference(recordName: "europe")]
        #expect(try found("region IN %@", both).count == 5)
        #expect(try found("region != %@", asia) == ["amsterdam", "berlin", "bern"])
    }

    @Test func identity() throws {
        let bern = Record.ID(recordName: "bern")
        #expect(try refusal("recordID == %@", bern).hasPrefix("Field 'recordName' is not marked"))
        try choose(.queryable, of: "___recordID")
        #expect(try found("recordID == %@", bern) == ["bern"])
        let two = [bern, Record.ID(recordName: "tokyo")]
        #expect(try found("recordID IN %@", two) == ["bern", "tokyo"])
        #expect(try found("NOT (recordID IN %@) AND country == 'CH'", two) == [])
        #expect(try found("recordName == 'tokyo'") == ["tokyo"])
    }

    @Test func whatICreated() throws {
        try choose(.queryable, of: "___createdBy")
        let me = Record.ID(recordName: Caller.alice.user)
        #expect(try found("creatorUserRecordID == %@", me).count == 6)
        #expect(try found("creatorUserRecordID == '__defaultOwner__'").count == 6)
        #expect(try found("creatorUserRecordID == 'somebody'") == [])
    }

    @Test func datesOfRecords() throws {
        try choose([.queryable, .sortable], of: "___createTime")
        try choose(.sortable, of: "___modTime")
        let created = Timestamp(millisecondsSince1970: store.now)
        #expect(try found("creationDate == %@", created).count == 6)
        store.now += 5_000
        try store.save([SaveItem("bern", ["ratio": 3.0])])
        #expect(try found("modificationDate > %@", created) == ["bern"])
        #expect(try found("modificationDate >= now()") == ["bern"])
        #expect(try found("creationDate > %@", created) == [])
    }

    @Test func parents() throws {
        try store.save([SaveItem("child", ["country": "JP"], parent: "tokyo")])
        try choose(.queryable, of: "___parent")
        #expect(try found("parent == %@", Record.ID(recordName: "tokyo")) == ["child"])
    }

    @Test func everythingAndNothing() throws {
        let refusal = try refusal("TRUEPREDICATE")
        #expect(refusal.hasPrefix("Field 'recordName' is not marked queryable; add QUERYABLE"))
        #expect(try found("FALSEPREDICATE") == [])
        try choose(.queryable, of: "___recordID")
        #expect(try found("TRUEPREDICATE").count == 6)
    }

    // MARK: Beyond CloudKit

    @Test func eitherOfTwo() throws {
        let format = "country == 'CH' OR population > 3000000"
        #expect(try found(format, extended: true) == ["berlin", "bern", "tokyo"])
        #expect(try refusal(format).hasPrefix("OR is not supported by CloudKit; use IN"))
        // An absent field makes one side unknown, not the whole predicate.
        let half = "empty == 1 OR country == 'CH'"
        #expect(try found(half, extended: true) == ["bern", "nowhere"])
    }

    @Test func absence() throws {
        #expect(try found("country == nil", extended: true) == ["nowhere"])
        #expect(try found("country != nil", extended: true).count == 5)
        #expect(try refusal("country == nil").hasPrefix("a test for nil is not supported"))
    }

    @Test func counting() throws {
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: "country == 'JP'")
        )
        let page = try store.query(query, limit: 1, counts: true)
        #expect(page.count == 2)
        #expect(page.records.isEmpty)
        #expect(page.next == nil)
    }

    @Test func everythingOrSomething() throws {
        let format = "TRUEPREDICATE OR country == 'JP'"
        #expect(throws: ServiceError.self) { try found(format, extended: true) }
        try choose(.queryable, of: "___recordID")
        #expect(try found(format, extended: true).count == 6)
    }

    // MARK: Names

    @Test func namesOfWebRequestsAreFreeForFields() throws {
        try store.save([SaveItem("x", ["createdTimestamp": 5, "recordName": "mine"])])
        #expect(try found("createdTimestamp == 5") == ["x"])
        #expect(try found("recordName == 'mine'") == ["x"])
        #expect(try refusal("___recordID == 'mine'").contains("'recordName' is not marked"))
    }

    /// Swift compares the Kelvin sign as equal to K.
    @Test func namesAreComparedAsTheyAreSpelt() throws {
        try choose(.queryable, of: "___recordID")
        try store.save([SaveItem("K", ["Key": 1])])
        for _ in 0..<20 {
            #expect(try found("recordID IN {'K', '\u{212A}'}") == ["K"])
            #expect(try found("recordID IN {'\u{212A}', 'x', 'K'}") == ["K"])
        }
        try store.save([SaveItem("\u{212A}", ["Key": 1]), SaveItem("L", ["Key": 1])])
        let both = Query(recordType: "Note", predicate: .field("Key") == 1)
        var names: [String] = []
        var cursor: QueryCursor?
        repeat {
            let page = try store.query(both, limit: 1, from: cursor)
            names += page.records.map(\.record.name)
            cursor = page.next
        } while cursor != nil
        #expect(names.map { Bytes($0.utf8) } == ["K", "L", "\u{212A}"].map { Bytes($0.utf8) })
        let query = Query(recordType: "Note", predicate: .field("\u{212A}ey") == 1)
        let error = try #require(throws: ServiceError.self) { try store.query(query) }
        #expect(error.message.hasPrefix("Unknown field"))
    }

    @Test func lettersHaveSeveralSmallForms() throws {
        try store.save([
            SaveItem("piraeus", ["blurb": "Πειραιάς"]),
            SaveItem("street", ["blurb": "Große Straße"]),
        ])
        #expect(try found("self CONTAINS 'ΠΕΙΡΑΙΑΣ'") == ["piraeus"])
        #expect(try found("self CONTAINS 'STRASSE'") == ["street"])
    }

    /// A separate function splits texts in ASCII into words.
    @Test func textsInASCIIAreCutAsAllOthers() {
        var dice = SeededGenerator(seed: 1)
        let letters = Array("abcXYZ019_'.:,; \n-".utf8)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &dice)).map { _ in
                letters[Int.random(in: letters.indices, using: &dice)]
            }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(SearchWords.words(of: text + " é") == SearchWords.words(of: text) + ["e"])
        }
    }

    @Test func wordsAreCutAsUnicodeSays() {
        let words = SearchWords.words(
            of: "Don't read 3.14,15 at example.com: 東京タワー snake_case x·y!"
        )
        #expect(
            words == [
                "don't", "read", "3.14,15", "at", "example.com", "東", "京", "タワー", "snake_case",
                "x·y",
            ]
        )
        #expect(SearchWords.words(of: "İstanbul ÅNGSTRÖM") == ["istanbul", "angstrom"])
    }

    // MARK: Bounds

    @Test func valuesOfAllComparisonsAreBounded() throws {
        let thousand = Array(repeating: "population IN %@", count: 5).joined(separator: " AND ")
        let lists: [any QueryArgument] = Array(repeating: Array(1...200), count: 5)
        let many = try Query.Predicate(format: thousand, argumentArray: lists)
        #expect(try store.query(Query(recordType: "Note", predicate: many)).records.isEmpty)
        let more = many && .field("population") == 1
        let error = try #require(throws: ServiceError.self) {
            try store.query(Query(recordType: "Note", predicate: more))
        }
        #expect(error.code == .limitExceeded)
    }

    /// One long record is enough work to check again whether anybody waits.
    @Test func aLongListDoesNotHoldUpWhoeverIsGone() throws {
        let numbers = FieldValue.list((0..<200_000).map { .int64(Int64($0 % 60)) })
        try store.save([SaveItem("long", ["numbers": numbers])])
        let query = Query(recordType: "Note", predicate: .field("numbers").contains(61))
        let gone = ServiceError(.operationCancelled, "nobody waits")
        #expect(throws: ServiceError.self) { try store.query(query, refusal: gone) }
        #expect(try store.query(query).records.isEmpty)
        let short = Query(recordType: "Note", predicate: .field("population") == 1)
        #expect(try store.query(short, refusal: gone).records.isEmpty)
    }

    /// The limit is for records times comparisons, whatever way leads to the records.
    @Test func whatAQueryComparesIsBounded() throws {
        let numbers = (0..<100).map { SaveItem("n\($0)", ["population": .int64($0)]) }
        try store.save(numbers)
        var predicate = Query.Predicate.field("population") != -1
        for number in 2...50 {
            predicate = predicate && .field("population") != Int64(-number)
        }
        let query = Query(recordType: "Note", predicate: predicate)
        var limits = Limits.standard
        limits.querySteps = 1_000_000
        let found = try store.query(query, firstStretch: 1, limits: limits).records.count
        #expect(found >= 100)
        limits.querySteps = 1_000
        let error = try #require(throws: ServiceError.self) {
            try store.query(query, firstStretch: 1, limits: limits)
        }
        #expect(error.code == .limitExceeded)
    }

    @Test func aFieldThatHasNoOrderIsNotSortedBy() throws {
        try choose([.queryable, .sortable, .searchable], of: "labels")
        try choose([.queryable, .sortable, .searchable], of: "marks")
        for key in ["labels", "marks", "place", "region"] {
            let query = Query(
                recordType: "Note",
                predicate: .field("country") == "JP",
                sortDescriptors: [.init(key: key)]
            )
            let error = try #require(throws: ServiceError.self) { try store.query(query) }
            #expect(error.message.contains("can't be sorted by"))
        }
    }

    /// Two nodes gave a field two types; the other node chose indexes that this type can't have.
    @Test func indexesThatATypeCannotHaveDoNotCount() throws {
        try choose([.queryable, .sortable, .searchable], of: "marks")
        let scope = try store.scopeNumber()
        let schema = try store.reader.storedSchema(of: scope, in: .development)
        #expect(schema.recordType("Note")?.field("marks")?.indexes == .queryable)
        #expect(try Schema(ckdb: schema.ckdb) == schema)
    }

    // MARK: Refusals

    @Test func unknownNames() throws {
        #expect(try refusal("nothing == 1").hasPrefix("Unknown field 'nothing'"))
        let error = try #require(throws: ServiceError.self) {
            try store.query(Query(recordType: "Nobody", predicate: .none))
        }
        #expect(error.code == .unknownItem)
        #expect(error.message == "Did not find record type: Nobody")
        #expect(throws: ServiceError.self) {
            try store.query(Query(recordType: "Users", predicate: .none))
        }
    }

    @Test func missingIndexes() throws {
        try choose([], of: "country")
        #expect(try refusal("country == 'JP'").hasPrefix("Field 'country' is not marked queryable"))
        try choose(.queryable, of: "country")
        #expect(try refusal("country > 'JP'").hasPrefix("Field 'country' is not marked sortable"))
        #expect(try found("country == 'JP'") == ["osaka", "tokyo"])
        try choose([.queryable, .sortable], of: "blurb")
        try choose(.queryable, of: "motto")
        #expect(try found("self CONTAINS 'bike'") == ["amsterdam", "tokyo"])
        try choose(.queryable, of: "labels")
        #expect(try refusal("self CONTAINS 'bike'").contains("no field that is marked searchable"))
    }

    @Test func aTypeWithoutAnyIndex() throws {
        try store.save([SaveItem("sealed", ["x": 1], type: "Plain")])
        let key = ["Plain", "x"].map { Bytes($0.utf8) }
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let register = Commit.Register(
                namespace: SchemaRegister.indexNamespace,
                key: key,
                value: [0]
            )
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
        let error = try #require(throws: ServiceError.self) {
            try store.query(Query(recordType: "Plain", predicate: .none))
        }
        #expect(error.message.hasPrefix("Type is not marked indexable: Plain"))
    }

    @Test func valuesOfAnotherType() throws {
        #expect(
            try refusal("population == 'x'").hasPrefix(
                """
                Field 'population' has a value type of INT64 and cannot be queried using filter \
                value type STRING
                """
            )
        )
        #expect(try refusal("population == 1.5").contains("filter value type DOUBLE"))
        #expect(try refusal("labels == 'x'").contains("ask what the list holds with CONTAINS"))
        #expect(try refusal("country CONTAINS 'x'").contains("is no list"))
        #expect(try refusal("population BEGINSWITH 'x'").contains("can't be compared in this way"))
        let place = Location(latitude: 1, longitude: 1)
        #expect(try refusal("place == %@", place).contains("can't be compared in this way"))
        #expect(try refusal("region < 'x'").contains("can't be compared in this way"))
        let nowhere = Location(latitude: 91, longitude: 0)
        let format = "distanceToLocation:fromLocation:(place, %@) < 1"
        #expect(try refusal(format, nowhere).contains("latitude of ±90"))
        let nan = Query(recordType: "Note", predicate: .field("ratio") == Double.nan)
        let error = try #require(throws: ServiceError.self) { try store.query(nan) }
        #expect(error.message == "NaN has no place in an order")
    }

    @Test func negationsOfMoreThanOneComparison() throws {
        let comparison = Query.Node.comparison(
            Query.Comparison("country", .equals, [.value("JP")])
        )
        let words = Query.Node.comparison(
            Query.Comparison("", .containsAnyToken, [.value("cafe")])
        )
        let lists: [[Query.Node]] = [
            [comparison, comparison, .and, .not], [words, .not], [comparison, .not, .not],
        ]
        for nodes in lists {
            let query = Query(recordType: "Note", predicate: Query.Predicate(nodes: nodes))
            let error = try #require(throws: ServiceError.self) { try store.query(query) }
            #expect(error.message.hasPrefix("NOT is supported in front of one simple comparison"))
        }
    }

    @Test func listsThatAreNoPredicate() throws {
        let comparison = Query.Node.comparison(
            Query.Comparison("country", .equals, [.value("JP")])
        )
        let lists: [[Query.Node]] = [
            [], [.and], [comparison, comparison], [comparison, .and], [.not],
        ]
        for nodes in lists {
            let query = Query(recordType: "Note", predicate: Query.Predicate(nodes: nodes))
            let error = try #require(throws: ServiceError.self) { try store.query(query) }
            #expect(error.message == "the predicate is no well-formed postfix list")
        }
    }
}
