// The ways to fail: which exit code each has, and how people and programs are told.

import ArgumentParser
import CumulusModel
import CumulusTerminal
import Testing

@Suite struct FailureTests {
    @Test func eachKindOfErrorHasItsCode() {
        func code(_ error: any Error) -> Int32? { Failure(error)?.code.rawValue }
        #expect(code(ServiceError(.unknownItem, "gone")) == 1)
        #expect(code(ServiceError(.networkFailure, "away")) == 69)
        #expect(code(ServiceError(.serverResponseLost, "lost")) == 69)
        #expect(code(InputProblem("bad")) == 65)
        #expect(code(OutputProblem("full")) == 74)
        #expect(code(ServiceError(.internalError, .diskFull, "no room here")) == 74)
        #expect(code(ServiceError(.serviceUnavailable, .diskFull, "no room there")) == 1)
        #expect(code(CancellationError()) == 70)
        #expect(code(ValidationError("wrong")) == nil)
        #expect(code(ExitCode(1)) == nil)
    }

    /// One object for programs, whatever failed.
    @Test(
        arguments: [
            (
                ServiceError(.unknownItem, .recordExists, "gone"),
                #"{"code": 11, "name": "unknownItem", "reason": "recordExists", "message": "gone"}"#
            ),
            (
                UsageProblem("no \"f\""),
                #"{"code": null, "name": "wrongUsage", "message": "no \"f\""}"#
            ),
            (InputProblem("bad"), #"{"code": null, "name": "badInput", "message": "bad"}"#),
            (OutputProblem("full"), #"{"code": null, "name": "badOutput", "message": "full"}"#),
        ] as [(any Error, String)]
    )
    func programsReadAnErrorAsJSON(error: any Error, json: String) throws {
        let failure = try #require(Failure(error))
        #expect(failure.json().text == "{\"error\": \(json)}")
        let item = try JSONReader.read(failure.json(item: "a").text.utf8)
        #expect(item["error"]?["item"] == .string("a"))
        let line = try JSONReader.read(failure.json(line: 7).text.utf8)
        #expect(line["error"]?["line"] == .integer(7))
    }

    @Test func aRefusalNamesCodeAndNumber() {
        let failure = Failure(ServiceError(.unknownItem, "record 'a' is not there"))
        #expect(failure?.message == "record 'a' is not there (unknownItem 11)")
    }
}
