// Statements that are asked together: their answers, and what an error leaves behind.

import CumulusModel
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresServer.isInstalled, noServer))
struct PipelineTests {
    private let session: Session

    init() throws { session = try TestDatabase().session() }

    private func question(_ name: String, _ text: String, _ parameter: Bytes) -> Question {
        var parameters = Parameters()
        parameters.add(parameter)
        return Question(Statement(name: name, text: text), parameters)
    }

    private func echo(_ name: String, _ bytes: Bytes) -> Question {
        question(name, "SELECT $1::bytea", bytes)
    }

    @Test func answersHaveTheOrderOfQuestions() throws {
        let questions = (0..<200).map { echo("echo\($0 % 3)", bytes($0)) }
        let answers = try session.run(questions)
        #expect(answers.map { $0.bytes(0, 0) } == (0..<200).map(bytes))
        #expect(try session.run([]).isEmpty)
    }

    @Test func anErrorStopsWhatIsBehindIt() throws {
        let bad = question("bad", "SELECT x FROM nowhere WHERE $1::bytea = ''", [])
        for _ in 0..<2 {
            let error = try #require(throws: StatementError.self) {
                try session.run([echo("first", [1]), bad, echo("last", [2])])
            }
            #expect(error.state == "42P01")
            #expect(!error.isLost)
        }
        // The first is prepared by now, and the last one is not.
        let answers = try session.run([echo("last", [3]), echo("first", [4])])
        #expect(answers.map { $0.bytes(0, 0) } == [[3], [4]])
        #expect(try session.run("SELECT 5").text(0, 0) == "5")
    }

    /// The server sends large answers while it is still sent large questions.
    @Test func muchGoesBothWays() throws {
        let large = Bytes(repeating: 7, count: 4_000_000)
        let answers = try session.run((0..<4).map { _ in echo("large", large) })
        #expect(answers.allSatisfy { $0.lend(0, 0).count == large.count })
        #expect(answers.last?.bytes(0, 0) == large)
    }

    @Test func anErrorAtTheEndOfTheTransactionIsNoSuccess() throws {
        _ = try session.run("CREATE TABLE late (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        _ = try session.run("INSERT INTO late VALUES (1)")
        let text = "INSERT INTO late SELECT 1 WHERE $1::bytea IS NOT NULL RETURNING 1"
        #expect(throws: StatementError.self) {
            try session.run([question("late", text, [])])
        }
    }
}
