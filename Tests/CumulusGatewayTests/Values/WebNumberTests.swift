// Numbers of requests count by their values: each spelling, in each place where a number is read.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebNumberTests {
    /// A number as a request writes it, and what it is; nil: no number of that kind.
    struct Spelling: CustomTestStringConvertible {
        let text: String
        let double: Double?
        let integer: Int64?
        let milliseconds: Int64?

        init(_ text: String, _ double: Double?, _ integer: Int64?, _ milliseconds: Int64?) {
            self.text = text
            self.double = double
            self.integer = integer
            self.milliseconds = milliseconds
        }

        var testDescription: String { text }
    }

    static let spellings: [Spelling] =
        ["5", "5.0", "5e0", "0.5e1", "50e-1", "5E+0"].flatMap { text in
            [Spelling(text, 5, 5, 5), Spelling(#""\#(text)""#, 5, 5, 5)]
        }
        + [
            Spelling("-0", 0, 0, 0), Spelling("-3.0", -3, -3, -3),
            Spelling("1.7e12", 1.7e12, 1_700_000_000_000, 1_700_000_000_000),
            Spelling("1716336000123.456", 1_716_336_000_123.456, nil, 1_716_336_000_123),
            Spelling(#""1716336000123.456""#, 1_716_336_000_123.456, nil, 1_716_336_000_123),
            Spelling("1.5", 1.5, nil, 1), Spelling("-0.5", -0.5, nil, -1),
            Spelling("9007199254740993", 0x1p53, 9_007_199_254_740_993, 9_007_199_254_740_993),
            Spelling("9223372036854775807", 0x1p63, .max, .max),
            Spelling("-9223372036854775808", -0x1p63, .min, .min),
            Spelling("9223372036854775808", 0x1p63, nil, nil),
            Spelling("-9223372036854775809", -0x1p63, nil, nil),
            Spelling("100000000000000000000", 1e20, nil, nil), Spelling("1e20", 1e20, nil, nil),
            Spelling(#""100000000000000000000""#, 1e20, nil, nil),
            Spelling("1e400", nil, nil, nil), Spelling(#""1e400""#, nil, nil, nil),
            Spelling(#""""#, nil, nil, nil), Spelling(#""nan""#, nil, nil, nil),
            Spelling(#""0x10""#, nil, nil, nil), Spelling(#""5 ""#, nil, nil, nil),
            Spelling("[]", nil, nil, nil), Spelling("{}", nil, nil, nil),
        ]

    private let columns: [String: FieldType] = [
        "int64": .one(.int64), "double": .one(.double), "timestamp": .one(.timestamp),
        "place": .one(.location),
    ]
    private let reader = WebFieldReader(zone: .default, user: "") { _ in
        Asset(digest: Bytes(repeating: 9, count: 32), size: 5)
    }

    /// An object as a body holds it.
    private func object(_ text: String) throws -> WebObject {
        try WebObject(body: Bytes(text.utf8))
    }

    /// nil: the value is refused.
    private func value(_ field: String, column: FieldType? = nil) throws -> FieldValue? {
        let json = try object(#"{"x": \#(field)}"#).json["x"] ?? .null
        do {
            return try reader.value(json, at: "x", column: column)
        } catch {
            #expect(error.code == .badRequest)
            return nil
        }
    }

    private func expected(_ spelling: Spelling, _ kind: FieldKind) -> FieldValue? {
        switch kind {
        case .int64: spelling.integer.map { .int64($0) }
        case .double: spelling.double.map { .double($0) }
        default:
            spelling.milliseconds.map { .timestamp(Timestamp(millisecondsSince1970: $0)) }
        }
    }

    @Test(arguments: spellings, [FieldKind.int64, .double, .timestamp])
    func fieldsAreReadByValue(spelling: Spelling, kind: FieldKind) throws {
        let number = expected(spelling, kind)
        let tagged = #"{"value": \#(spelling.text), "type": "\#(kind.name)"}"#
        #expect(try value(tagged) == number)
        let untagged = #"{"value": \#(spelling.text)}"#
        #expect(try value(untagged, column: .one(kind)) == number)
        let list = #"{"value": [1, \#(spelling.text)], "type": "\#(kind.name)_LIST"}"#
        let one = expected(Spelling("1", 1, 1, 1), kind)
        #expect(try value(list) == number.flatMap { number in one.map { .list([$0, number]) } })
    }

    @Test(arguments: spellings, [FieldKind.int64, .double, .timestamp])
    func filtersAreReadByValue(spelling: Spelling, kind: FieldKind) throws {
        let name = kind.name.lowercased()
        let filter = """
            {"comparator": "EQUALS", "fieldName": "\(name)",
             "fieldValue": {"value": \(spelling.text), "type": "\(kind.name)"}}
            """
        let text = #"{"recordType": "Note", "filterBy": [\#(filter)]}"#
        let query = try? WebQuery(columns: columns, reader).query(try object(text))
        let field = Query.Field.field(name)
        #expect(query?.predicate == expected(spelling, kind).map { field == $0 })
    }

    @Test(arguments: spellings)
    func locationsAreReadByValue(spelling: Spelling) throws {
        let latitude = try value(#"{"value": {"latitude": \#(spelling.text), "longitude": 1}}"#)
        #expect(
            latitude == spelling.double.map { .location(Location(latitude: $0, longitude: 1)) }
        )
        let timed = """
            {"value": {"latitude": 1, "longitude": 1, "timestamp": \(spelling.text)}}
            """
        var place = Location(latitude: 1, longitude: 1)
        place.timestamp = spelling.milliseconds.map { Timestamp(millisecondsSince1970: $0) }
        #expect(try value(timed) == (place.timestamp == nil ? nil : .location(place)))
    }

    @Test(arguments: spellings)
    func countsSizesAndDistancesAreReadByValue(spelling: Spelling) throws {
        let limit = try object(#"{"resultsLimit": \#(spelling.text)}"#)
        let count = spelling.integer.flatMap { $0 > 0 ? Int($0) : nil }
        #expect((try? limit.count("resultsLimit")) == count)
        let asset = #"{"value": {"receipt": "r", "size": \#(spelling.text)}}"#
        #expect((try value(asset) != nil) == (spelling.integer == 5))
        let near = """
            {"recordType": "Note", "filterBy": {"comparator": "NEAR", "fieldName": "place",
             "fieldValue": {"value": {"latitude": 1, "longitude": 2}},
             "distance": \(spelling.text)}}
            """
        let query = try? WebQuery(columns: columns, reader).query(try object(near))
        #expect((query != nil) == (spelling.double.map { $0 >= 0 } ?? false))
    }

    /// A number that no field can hold fails its record, and is no fault of the body.
    @Test func aNumberThatNothingReadsIsIgnored() throws {
        for spelling in WebNumberTests.spellings {
            #expect(throws: Never.self) { try object(#"{"unknown": \#(spelling.text)}"#) }
        }
        let broken = #expect(throws: WebError.self) { try object(#"{"a": 1, "a": 2}"#) }
        #expect(broken?.reason.contains("no JSON") == false)
    }

    /// Without a type and a schema the spelling decides, as clients expect.
    @Test func withoutATypeAFractionMakesADouble() throws {
        #expect(try value(#"{"value": 5}"#) == 5)
        #expect(try value(#"{"value": 5.0}"#) == 5.0)
        #expect(try value(#"{"value": 100000000000000000000}"#) == 1e20)
        #expect(try value(#"{"value": [1, 100000000000000000000]}"#) == [1.0, 1e20])
    }
}
