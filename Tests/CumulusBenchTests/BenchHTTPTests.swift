// HTTP as the path `http` of the bench speaks it: what it sends, and how it reads answers.

import Cumulus
import CumulusModel
import Testing

@testable import CumulusBench

@Suite struct BenchHTTPTests {
    private static let answer = Bytes(
        """
        HTTP/1.1 200 OK\r
        Content-Type: application/json\r
        cOnTeNt-LeNgTh: 13\r
        \r
        {"records":1}
        """.utf8
    )
    private static let read = HTTPAnswer(status: 200, body: Bytes(#"{"records":1}"#.utf8))

    @Test func anAnswerIsReadHoweverItComes() throws {
        for size in [1, 2, 3, 7, 40, 1_000] {
            var reader = HTTPAnswerReader()
            // A connection brings one answer after the other.
            for _ in 0..<2 {
                var found: [HTTPAnswer] = []
                for start in stride(from: 0, to: Self.answer.count, by: size) {
                    let part = Self.answer[start...].prefix(size)
                    if let answer = try reader.take(part) { found.append(answer) }
                }
                #expect(found == [Self.read])
            }
        }
    }

    @Test(arguments: [
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx", "\r\n\r\n",
    ])
    func whatIsNoAnswerIsRefused(text: String) {
        var reader = HTTPAnswerReader()
        #expect(throws: BenchProblem.self) { try reader.take(text.utf8) }
    }

    @Test func aHeadHasAnEnd() {
        var reader = HTTPAnswerReader()
        #expect(throws: BenchProblem.self) {
            _ = try reader.take(repeatElement(UInt8(ascii: "x"), count: 33 << 10))
        }
    }

    /// It is read as an answer, is refused, or waits for more.
    @Test func aChangedAnswerDoesNoHarm() {
        var dice = SeededGenerator(seed: 3)
        var outcomes: [String: Int] = [:]
        for _ in 0..<20_000 {
            var bytes = Self.answer
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                bytes[Int.random(in: bytes.indices, using: &dice)] = .random(
                    in: 0...255,
                    using: &dice
                )
            }
            var reader = HTTPAnswerReader()
            do {
                let isWhole = Bool.random(using: &dice)
                let count = isWhole ? bytes.count : .random(in: 0...bytes.count, using: &dice)
                let answer = try reader.take(bytes.prefix(count))
                outcomes[answer == nil ? "waits" : "read", default: 0] += 1
                #expect(answer?.body.count ?? 0 <= bytes.count)
            } catch {
                outcomes["refused", default: 0] += 1
            }
        }
        #expect(outcomes.count == 3 && outcomes.values.allSatisfy { $0 > 100 }, "\(outcomes)")
    }

    @Test func mistakesAreFound() {
        #expect(Self.read.mistake == nil)
        var answer = Self.read
        answer.status = 503
        #expect(answer.mistake?.hasPrefix("503 ") == true)
        answer = HTTPAnswer(
            status: 200,
            body: Bytes(#"{"records": [{"serverErrorCode": "CONFLICT"}]}"#.utf8)
        )
        #expect(answer.mistake?.contains("CONFLICT") == true)
        #expect(HTTPAnswer(status: 200, body: []).mistake == nil)
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
