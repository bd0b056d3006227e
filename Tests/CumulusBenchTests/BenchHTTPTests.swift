// HTTP as the path `http` of the bench speaks it: what it sends, over which connections, and which
// answers are mistakes.

import AsyncHTTPClient
import Cumulus
import CumulusModel
import NIOCore
import Testing

@testable import CumulusBench

@Suite(.timeLimit(.minutes(1))) struct BenchHTTPTests {
    /// The site answers when four requests wait: with fewer connections none would be answered.
    @Test func eachCallInFlightHasAConnectionThatIsKept() async throws {
        try await BareSite.with(answersAtOnce: 4) { site, address in
            try await HTTPCaller.with(connections: 4) { caller in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask(executorPreference: caller.executor) {
                            for _ in 0..<10 {
                                let request = HTTPClientRequest(url: "http://\(address)/file")
                                let answer = try await caller.ask(request)
                                #expect(answer.body == ByteBuffer(string: "file"))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(site.connections == 4)
        }
    }

    @Test func aMistakeIsThrown() async throws {
        try await BareSite.with { _, address in
            try await HTTPCaller.with(connections: 1) { caller in
                let request = HTTPClientRequest(url: "http://\(address)/busy")
                let problem = await #expect(throws: BenchProblem.self) {
                    _ = try await caller.ask(request)
                }
                #expect(problem?.message == "over HTTP: 503 busy")
            }
        }
    }

    @Test func aSiteThatIsGoneIsAMistake() async throws {
        let gone = try await BareSite.with { _, address in address }
        try await HTTPCaller.with(connections: 1) { caller in
            let request = HTTPClientRequest(url: "http://\(gone)/file")
            await #expect(throws: BenchProblem.self) { _ = try await caller.ask(request) }
        }
    }

    @Test func mistakesAreFound() {
        func answer(_ status: Int, _ body: String) -> HTTPAnswer {
            HTTPAnswer(status: status, body: ByteBuffer(string: body))
        }
        #expect(answer(200, #"{"records":1}"#).mistake == nil)
        #expect(answer(200, "").mistake == nil)
        #expect(answer(200, "s serverError serverErrorCod").mistake == nil)
        #expect(answer(503, #"{"records":1}"#).mistake?.hasPrefix("503 ") == true)
        let refused = #"{"records": [{"serverErrorCode": "CONFLICT"}]}"#
        #expect(answer(200, refused).mistake?.contains("CONFLICT") == true)
        #expect(answer(200, "serverErrorCode").mistake != nil)
        #expect(answer(200, "sserverErrorCode").mistake != nil)
    }

    @Test func aRecordIsWrittenWhole() throws {
        var dice = SeededGenerator(seed: 1)
        let records = BenchRecords(count: 1, in: .default, type: "Post")
        let record = records.record(records.ids[0], &dice)
        let json = try BenchServer.modification(record)
        guard case .array(let operations)? = json["operations"] else {
            Issue.record("there are no operations")
            return
        }
        #expect(operations[0]["operationType"] == "forceReplace")
        let written = operations[0]["record"]
        #expect(written?["recordName"] == .string("record-00000000"))
        guard case .object(let fields)? = written?["fields"] else {
            Issue.record("there are no fields")
            return
        }
        #expect(fields.map(\.key) == record.allKeys() && fields.count == 12)
        let title = try #require(record["title"]?.string)
        #expect(written?["fields"]?["title"]?["value"] == .string(title))
    }
}
