// Texts of `--field` are read by the type of their field, by the one that is named, or as they
// look.

import Cumulus
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusCLI

@Suite struct TypedTextTests {
    private func value(_ text: String, _ type: String) throws -> FieldValue {
        try TypedText.value(of: text, in: "v", as: type)
    }

    @Test func aTextIsReadByTheType() throws {
        #expect(try value("3", "INT64") == .int64(3))
        #expect(try value("3", "STRING") == .string("3"))
        #expect(try value("-0.5", "DOUBLE") == .double(-0.5))
        #expect(try value("[1, 2]", "LIST<INT64>") == .list([1, 2]))
        #expect(try value("[]", "LIST<STRING>") == .list([]))
        #expect(try value("aGVq", "BYTES") == .bytes(Array("hej".utf8)))
        #expect(try value("ada", "REFERENCE") == .reference(.init(recordName: "ada")))
        let place = Location(latitude: 59.33, longitude: -18)
        #expect(try value("59.33, -18", "LOCATION") == .location(place))
        let moment = Timestamp(millisecondsSince1970: 0)
        #expect(try value("1970-01-01T00:00:00.000Z", "TIMESTAMP") == .timestamp(moment))
    }

    @Test(arguments: [
        ("3.5", "INT64", "a whole number"), ("", "INT64", "a whole number"),
        ("three", "DOUBLE", "a number"), ("today", "TIMESTAMP", "2024-02-29T12:00:00.000Z"),
        ("a, b", "LIST<STRING>", "in JSON"), ("[[1]]", "LIST<INT64>", "in JSON"),
        ("abc", "BYTES", "base64"), ("3", "ENCRYPTED INT64", "--json-fields"),
        ("[3]", "LIST<ENCRYPTED INT64>", "--json-fields"), ("59", "LOCATION", "59.33,18.07"),
        ("59,x", "LOCATION", "59.33,18.07"), ("", "REFERENCE", "the name of a record"),
        ("front.jpg", "ASSET", "--asset"),
    ])
    func whatWasExpectedIsSaid(text: String, type: String, advice: String) throws {
        let problem = #expect(throws: InputProblem.self) { try value(text, type) }
        #expect(problem?.message.hasPrefix("--field v: '\(text)' is no \(type); ") == true)
        #expect(problem?.message.contains(advice) == true)
    }

    @Test(
        arguments: [
            ("3", .int64(3)), ("-17", .int64(-17)), ("0", .int64(0)),
            ("9223372036854775807", .int64(.max)), ("0.5", .double(0.5)), ("3.0", .double(3)),
            ("1e3", .double(1_000)), ("-2.5E-1", .double(-0.25)),
        ] as [(String, FieldValue)]
    )
    func aNumberIsANumber(text: String, value: FieldValue) {
        #expect(TypedText.value(asItLooks: text) == value)
    }

    /// Nothing of what was written would be lost: zeros in front, signs, digits behind the 18th.
    @Test(arguments: [
        "", " 3", "3 ", "007", "+46", "-", ".5", "5.", "1_000", "0x10", "1e", "nan", "inf",
        "1e999", "9223372036854775808", "3 stars", "2024-02-29", "1.2.3", "three",
    ])
    func everythingElseIsText(text: String) {
        #expect(TypedText.value(asItLooks: text) == .string(text))
    }

    @Test func theCommandLineNamesTheType() throws {
        func read(_ argument: String) throws -> FieldValue {
            let field = try #require(FieldAssignment(argument: argument))
            try field.check()
            #expect(field.key == "v")
            return try field.value()
        }
        #expect(try read("v=3") == .int64(3))
        #expect(try read("v:string=3") == .string("3"))
        #expect(try read("v:DOUBLE=3") == .double(3))
        #expect(try read("v:string=a:b=c") == .string("a:b=c"))
        #expect(try read("v=a:b") == .string("a:b"))
        #expect(try read("v:list=[1]") == .list([1]))
        #expect(try read("v:list<string>=[\"a\"]") == .list(["a"]))
        #expect(throws: InputProblem.self) { try read("v:int64=three") }
        for argument in ["v", "=3", ":string=3"] {
            #expect(FieldAssignment(argument: argument) == nil, "\(argument)")
        }
        for argument in ["v:=3", "v:text=3", "v:asset=a", "v:encrypted string=a"] {
            #expect(throws: (any Error).self, "\(argument)") { try read(argument) }
        }
    }

    @Test func onlyARefusalOfAValueNamesAType() throws {
        let message =
            "Invalid value, expected type LIST<INT64> but actual value type is STRING for field 'v'"
        for actual in ["STRING", "INT64", "DOUBLE"] {
            let refusal = message.replacing("is STRING", with: "is \(actual)")
            let error = ServiceError(.invalidArguments, .wrongType, refusal)
            let expected = TypedText.expected(by: error)
            #expect(expected?.field == "v" && expected?.type == "LIST<INT64>")
        }
        let others: [any Error] = [
            ServiceError(.invalidArguments, .invalidValue, message),
            ServiceError(.invalidArguments, .wrongType, "cannot use an empty list"),
            InputProblem(message),
        ]
        for error in others { #expect(TypedText.expected(by: error) == nil) }
    }
}
