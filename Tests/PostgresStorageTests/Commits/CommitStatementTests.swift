// A batch as a statement: what its parts hold, its parameters, and its name.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@testable import PostgresStorage

@Suite struct CommitStatementTests {
    private let term = Term(id: 7, epoch: 2, batch: 4)

    private func batch(_ rows: [(Family, Bytes, Bytes?)]) -> EngineBatch {
        var batch = EngineBatch()
        batch.writes = rows.map { .init(family: $0.0, key: $0.1, value: $0.2) }
        return batch
    }

    @Test func aStatementHasThePartsOfItsBatch() {
        var batch = batch([(.meta, [1], [2]), (.log, [3], nil), (.log, [4], [])])
        batch.deletedRanges = [(.index, KeyRange(start: [1], end: [2]))]
        let commit = CommitStatement(batch, term)
        #expect(commit.statement.name == "commitw0r2d3w3")
        let text = commit.statement.text
        #expect(text.contains("INSERT INTO cumulus_meta SELECT k, v FROM unnest($4::bytea[], $5"))
        #expect(text.contains("DELETE FROM cumulus_index t USING unnest($6::bytea[], $7::bytea[])"))
        #expect(text.contains("DELETE FROM cumulus_log t USING unnest($8::bytea[])"))
        #expect(text.contains("INSERT INTO cumulus_log SELECT k, v FROM unnest($9::bytea[], $10"))
        #expect(!text.contains("cumulus_records"))
        commit.parameters.lend { count, values, lengths, formats in
            #expect(count == 10)
            #expect(values.count == 10)
            #expect(values.allSatisfy { $0 != nil })
            #expect(lengths.prefix(4) == [8, 8, 8, 25])
            #expect(formats == Array(repeating: 1, count: 10))
        }
    }

    /// A session prepares a statement once for each name.
    @Test func equalNamesHaveEqualTexts() {
        var dice = SeededGenerator(seed: 1)
        var texts: [String: String] = [:]
        for _ in 0..<2_000 {
            var rows: [(Family, Bytes, Bytes?)] = []
            var batch = EngineBatch()
            for family in Family.allCases {
                if Bool.random(using: &dice) { rows.append((family, [1], [1])) }
                if Bool.random(using: &dice) { rows.append((family, [2], nil)) }
                if Bool.random(using: &dice) {
                    batch.deletedRanges.append((family, KeyRange(start: [3], end: [4])))
                }
            }
            batch.writes = self.batch(rows).writes
            let statement = CommitStatement(batch, term).statement
            #expect(texts[statement.name, default: statement.text] == statement.text)
            texts[statement.name] = statement.text
            // A longer name would be cut.
            #expect(statement.name.utf8.count < 64)
        }
        #expect(Set(texts.values).count == texts.count)
    }

    @Test func noKeyIsBothDeletedByRangeAndWritten() {
        var batch = batch([(.log, [5], [1]), (.log, [3], nil), (.meta, [4], [1])])
        batch.deletedRanges = [(.log, KeyRange(start: [1], end: [9]))]
        let parts = CommitStatement.parts(of: batch)
        #expect(
            parts[Int(Family.log.rawValue)].ranges == [
                KeyRange(start: [1], end: [3]), KeyRange(start: [3, 0], end: [5]),
                KeyRange(start: [5, 0], end: [9]),
            ]
        )
        #expect(parts[Int(Family.log.rawValue)].deleted == [[3]])
        #expect(parts[Int(Family.meta.rawValue)].ranges == [])
    }

    /// The pieces hold each key of the range that isn't left out, and no other one.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func piecesAreTheRangeWithoutTheKeys(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        func key() -> Bytes {
            (0..<Int.random(in: 0...3, using: &dice)).map { _ in
                [0, 1, 0xFE, 0xFF][Int.random(in: 0..<4, using: &dice)]
            }
        }
        for _ in 0..<50 {
            let range = KeyRange(start: key(), end: key())
            let left = Set((0..<Int.random(in: 0..<6, using: &dice)).map { _ in key() })
            let pieces = range.pieces(without: left.sorted { precedes($0, $1) })
            for _ in 0..<50 {
                let probe = key()
                let holds = pieces.filter { $0.contains(probe) }.count
                #expect(holds == (range.contains(probe) && !left.contains(probe) ? 1 : 0))
            }
        }
    }
}
