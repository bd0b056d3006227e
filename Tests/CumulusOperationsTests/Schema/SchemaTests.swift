// Tests the schema that grows with the data, and the limits of records.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SchemaTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func save(
        _ name: String,
        _ fields: [String: FieldValue?],
        type: String = "Note",
        increments: [String: Int64] = [:]
    ) throws -> ServiceError.Code? {
        try store.save([SaveItem(name, fields, type: type, increments: increments)]).saves[0].code
    }

    private func fields(of name: String) throws -> Bytes {
        try store.fetch(name, in: .private, by: .alice).get().fields
    }

    private func registers() throws -> [String] {
        let scope = try store.scopeNumber()
        let types = try store.reader.registers(scope, SchemaRegister.typeNamespace)
        let fields = try store.reader.registers(scope, SchemaRegister.fieldNamespace)
        return (types + fields).map { key, value in
            (key + [value]).map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        }
    }

    @Test func typesAndFieldsAreRegistersOfTheirFirstCommit() throws {
        #expect(try save("n", ["a": 1, "b": ["x"]], increments: ["votes": 1]) == nil)
        #expect(try save("m", ["a": 2]) == nil)
        #expect(
            try registers() == ["Note ", "Note a INT64", "Note b LIST<STRING>", "Note votes INT64"]
        )
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func aRefusedSaveLeavesNoSchema() throws {
        let codes = try store.save([
            SaveItem("n", ["a": 1], type: "New", parent: "nobody"), SaveItem("m", ["b": 1]),
        ]).codes
        #expect(codes == [.referenceViolation, nil])
        #expect(try registers() == ["Note ", "Note b INT64"])
    }

    @Test func itemsOfOneBatchShareTheSchemaThatTheyMake() throws {
        let codes = try store.save([SaveItem("n", ["a": 1]), SaveItem("m", ["a": "text"])]).codes
        #expect(codes == [nil, .invalidArguments])
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        let zone = ZoneAddress(name: "z")
        let outcome = try store.save([
            SaveItem("n", ["fresh": 1], in: zone), SaveItem("m", ["fresh": "text"], in: zone),
        ])
        #expect(outcome.codes == [.batchRequestFailed, .invalidArguments])
        #expect(try registers() == ["Note ", "Note a INT64"])
    }

    @Test func typesHaveFieldsOfTheirOwnAndUsersShareThem() throws {
        #expect(try save("n", ["a": 1]) == nil)
        #expect(try save("m", ["a": "text"], type: "Other") == nil)
        let codes = try store.save([SaveItem("n", ["a": "text"])], in: .public, by: .bob).codes
        #expect(codes == [.invalidArguments])
    }

    @Test func integersAreAcceptedAsDoublesAndDoublesNotAsIntegers() throws {
        #expect(try save("n", ["d": 1.5, "ds": [1.5], "i": 1]) == nil)
        #expect(try save("n", ["d": 35, "ds": [1, 2], "i": 2]) == nil)
        #expect(try fields(of: "n") == WireField.body(["d": 35.0, "ds": [1.0, 2.0], "i": 2]))
        #expect(try save("n", ["i": 1.5]) == .invalidArguments)
        #expect(try save("n", ["i": [1]]) == .invalidArguments)
        #expect(try save("n", ["ds": 1.5]) == .invalidArguments)
    }

    /// A value is refused if it would be stored differently.
    @Test func anIntegerThatNoDoubleIsIsRefused() throws {
        let largest = 1 << 53
        #expect(try save("n", ["d": 1.5, "ds": [1.5]]) == nil)
        #expect(try save("n", ["d": .int64(Int64(largest)), "ds": [.int64(.min)]]) == nil)
        #expect(try save("n", ["d": .int64(Int64(largest + 1))]) == .invalidArguments)
        #expect(try save("n", ["ds": [1, .int64(.max)]]) == .invalidArguments)
    }

    @Test func anEmptyListFitsEachListAndBeginsNoField() throws {
        let saves = try store.save([SaveItem("n", ["l": .list([])])]).saves
        guard case .failure(let refusal) = try #require(saves.first) else {
            Issue.record("it was saved")
            return
        }
        #expect(
            refusal.message == """
                cannot use an empty list to initialize a new field (field 'l' in record type \
                'Note' should be more precise)
                """
        )
        #expect(refusal.code == .invalidArguments && refusal.reason == .wrongType)
        #expect(try registers() == [])
        #expect(try save("n", ["l": ["text"]]) == nil)
        #expect(try save("n", ["l": .list([])]) == nil)
        #expect(try fields(of: "n") == WireField.body(["l": .list([])]))
        #expect(try save("n", ["l": [1]]) == .invalidArguments)
        #expect(try save("n", ["l": "text"]) == .invalidArguments)
        #expect(try save("m", ["s": "text"]) == nil)
        #expect(try save("m", ["s": .list([])]) == .invalidArguments)
    }

    @Test func anEmptyListIsNoNumberToAddTo() throws {
        #expect(try save("n", ["l": ["text"]]) == nil)
        #expect(try save("n", ["l": .list([])]) == nil)
        #expect(try save("n", [:], increments: ["l": 1]) == .invalidArguments)
        #expect(try fields(of: "n") == WireField.body(["l": .list([])]))
    }

    @Test func aRecordKeepsItsType() throws {
        #expect(try save("n", ["a": 1]) == nil)
        #expect(try save("n", ["a": 1], type: "Other") == .invalidArguments)
        #expect(try save("u", [:], type: "Users") == .invalidArguments)
    }

    @Test func assetsAreUploadedFirst() throws {
        let asset = FieldValue.asset(Asset(digest: Bytes(repeating: 1, count: 32), size: 5))
        #expect(try save("n", ["file": asset]) == .assetNotAvailable)
        #expect(try save("n", ["files": .list([asset])]) == .assetNotAvailable)
        #expect(try registers() == [])
    }

    // MARK: Removal

    @Test func nothingRemovesAFieldAndEmptyTextDoesNot() throws {
        #expect(try save("n", ["a": "text", "b": "text"]) == nil)
        #expect(try save("n", ["a": nil, "b": ""]) == nil)
        #expect(try fields(of: "n") == WireField.body(["b": ""]))
        #expect(try save("n", ["never": nil]) == nil)
    }

    // MARK: Limits

    /// The indexes are those that CloudKit's development environment makes.
    @Test func aFieldAppearsWithTheIndexesOfItsType() {
        let all: Schema.Indexes = [.queryable, .sortable, .searchable]
        #expect(FieldType.one(.string).usualIndexes == all)
        for kind in [FieldKind.int64, .double, .timestamp, .bytes] {
            #expect(FieldType.one(kind).usualIndexes == [.queryable, .sortable])
            #expect(FieldType.list(kind).usualIndexes == .queryable)
        }
        for kind in [FieldKind.reference, .location] {
            #expect(FieldType.one(kind).usualIndexes == .queryable)
            #expect(FieldType.list(kind).usualIndexes == .queryable)
        }
        #expect(FieldType.list(.string).usualIndexes == [.queryable, .searchable])
        for kind in [FieldKind.string, .int64, .double, .timestamp, .bytes, .location] {
            #expect(FieldType.encrypted(kind).usualIndexes == [])
            #expect(FieldType.encryptedList(kind).usualIndexes == [])
        }
        for type in [FieldType.one(.asset), .list(.asset), .emptyList, .encryptedEmptyList] {
            #expect(type.usualIndexes == [])
        }
    }

    @Test func aTypeHas256FieldsAtMost() throws {
        let fields = Dictionary(
            uniqueKeysWithValues: (0..<256).map { ("f\($0)", FieldValue?.some(1)) }
        )
        #expect(try save("n", fields) == nil)
        #expect(try save("n", ["more": 1]) == .limitExceeded)
        #expect(try save("m", [:], increments: ["more": 1]) == .limitExceeded)
        #expect(try save("m", ["f0": 2]) == nil)
        #expect(try save("o", ["more": 1], type: "Other") == nil)
        #expect(try registers().count == 257 + 2)
    }

    @Test func namesWithoutAColumnAreBoundedToo() throws {
        func empties(_ range: Range<Int>, _ value: FieldValue?) -> [String: FieldValue?] {
            Dictionary(uniqueKeysWithValues: range.map { ("e\($0)", value) })
        }
        #expect(try save("n", empties(0..<200, nil)) == nil)
        #expect(try save("n", empties(200..<257, nil)) == .limitExceeded)
        #expect(try save("n", empties(200..<256, nil)) == nil)
        #expect(try fields(of: "n") == [])
    }

    @Test func aRecordIsJudgedByItsEncodedFields() throws {
        // Tags, lengths and the name `b` take 11 bytes besides the content.
        let largest = Limits.standard.recordBytes - 11
        let fits = FieldValue.bytes(Bytes(repeating: 1, count: largest))
        let tooLarge = FieldValue.bytes(Bytes(repeating: 1, count: largest + 1))
        #expect(WireField.body(["b": fits]).count == 1 << 20)
        #expect(try save("n", ["b": fits]) == nil)
        let item = try store.save([SaveItem("m", ["b": tooLarge]), SaveItem("k")])
        #expect(item.codes == [.limitExceeded, nil])
        guard case .failure(let failure) = item.saves[0] else { return }
        #expect(failure.reason == .tooLarge)
        #expect(failure.message.contains("record too large"))
    }

    @Test func whatIsKeptOfARecordCountsToo() throws {
        let half = FieldValue.bytes(Bytes(repeating: 1, count: 600_000))
        #expect(try save("n", ["a": half]) == nil)
        #expect(try save("n", ["b": half]) == .limitExceeded)
        #expect(try save("n", ["a": half]) == nil)
        #expect(try save("n", ["a": nil, "b": half]) == nil)
    }

    @Test func aRecordTwiceInARequestIsRefused() throws {
        for modify in [
            ModifyRecords(database: .private, saves: [SaveItem("n"), SaveItem("n")]),
            ModifyRecords(database: .private, saves: [SaveItem("n")], deletes: [DeleteItem("n")]),
        ] {
            let error = try #require(throws: ServiceError.self) {
                try store.modify(modify, by: .alice)
            }
            #expect(error.code == .invalidArguments)
            #expect(error.message.contains("'n' occurs twice"))
        }
        #expect(try store.names(in: .private, by: .alice) == [])
    }

    @Test func anItemThatCouldNotBeReadFailsAlone() throws {
        let codes = try store.save([SaveItem("n", ["d": .double(.nan)]), SaveItem("m")]).codes
        #expect(codes == [.invalidArguments, nil])
    }
}
