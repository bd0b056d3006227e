// Texts of `--field` are read by the type of their field.

import Cumulus
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusCLI

@Suite struct TypedTextTests {
    private func value(_ text: String, _ type: String) throws -> FieldValue {
        try TypedText.value(of: try #require(Assignment(argument: "v=\(text)")), as: type)
    }

    @Test func aTextIsReadByTheType() throws {
        #expect(try value("3", "INT64") == .int64(3))
        #expect(try value("-0.5", "DOUBLE") == .double(-0.5))
        #expect(try value("[1, 2]", "LIST<INT64>") == .list([1, 2]))
        #expect(try value("[]", "LIST<STRING>") == .list([]))
        let moment = Timestamp(millisecondsSince1970: 0)
        #expect(try value("1970-01-01T00:00:00.000Z", "TIMESTAMP") == .timestamp(moment))
    }

    @Test(arguments: [
        ("3.5", "INT64", "a whole number"), ("", "INT64", "a whole number"),
        ("three", "DOUBLE", "a number"), ("today", "TIMESTAMP", "2024-02-29T12:00:00.000Z"),
        ("a, b", "LIST<STRING>", "in JSON"), ("[[1]]", "LIST<INT64>", "in JSON"),
        ("abc", "BYTES", "--json-fields"), ("3", "ENCRYPTED INT64", "--json-fields"),
    ])
    func whatWasExpectedIsSaid(text: String, type: String, advice: String) throws {
        let problem = #expect(throws: InputProblem.self) { try value(text, type) }
        #expect(problem?.message.hasPrefix("--field v: '\(text)' is no \(type); ") == true)
        #expect(problem?.message.contains(advice) == true)
    }

    @Test func onlyARefusalOfATextNamesAType() throws {
        let message =
            "Invalid value, expected type LIST<INT64> but actual value type is STRING for field 'v'"
        let expected = TypedText.expected(by: ServiceError(.invalidArguments, .wrongType, message))
        #expect(expected?.field == "v" && expected?.type == "LIST<INT64>")
        let others: [any Error] = [
            ServiceError(.invalidArguments, .invalidValue, message),
            ServiceError(
                .invalidArguments,
                .wrongType,
                message.replacing("is STRING", with: "is DOUBLE")
            ),
            InputProblem(message),
        ]
        for error in others { #expect(TypedText.expected(by: error) == nil) }
    }
}
