// Reads of rows by statements: a row by its key, the rows of a plan, or a range page by page.
//
// `NewestRows` and `PostgresSnapshot` say where statements are asked; all else is here. Rows of a
// page stand in memory while they are visited, so a visitor may read others. A page begins small,
// since most scans want few rows, and grows as far as its rows allow.
//
// Folder: reads, from the newest state or from a snapshot. Read `RowSource`, then `PlanQuestions`,
// `NewestRows` and `PostgresSnapshot`.

import CumulusModel
import CumulusStorage

/// A state of the store, or the newest one, that statements ask.
protocol RowSource: EngineReader {
    /// Asks all in one round trip.
    func ask(_ questions: [Question]) throws(EngineError) -> [Answer]
}

extension RowSource {
    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes? {
        guard reach == .disk else { throw .notInMemory }
        var parameters = Parameters()
        parameters.add(key)
        let answer = try ask([Question(RowStatements.row(of: family), parameters)])[0]
        return answer.count == 0 ? nil : answer.bytes(0, 0)
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        var rest = range
        var size = PageSize()
        while precedes(rest.start, rest.end) {
            let page = try ask([.page(family, rest, backwards: backwards, limit: size.rows)])[0]
            var byteCount = 0
            for row in 0..<page.count {
                let (key, value) = (page.lend(row, 0), page.lend(row, 1))
                byteCount += key.count + value.count
                guard visit(key, value) else { return }
            }
            guard page.count == size.rows else { return }
            rest.drop(through: page.bytes(page.count - 1, 0), backwards: backwards)
            size.grow(after: byteCount)
        }
    }

    /// Reads a plan in one round trip, but for what longer ranges have behind their first page.
    func read(_ plan: ReadPlan) throws(EngineError) -> ReadRows {
        let questions = PlanQuestions(plan)
        if questions.all.isEmpty { return try questions.rows([], from: self) }
        do throws(EngineError) {
            return try questions.rows(try ask(questions.all), from: self)
        } catch .corrupt {
            // The database doesn't say which row.
            return try readRowByRow(plan)
        }
    }
}

extension KeyRange {
    /// Drops the keys up to the last one that was read.
    mutating func drop(through last: Bytes, backwards: Bool) {
        // Nothing lies between a key and the same with a zero.
        if backwards { end = last } else { start = last + [0] }
    }
}

/// How many rows the next page of a scan has.
struct PageSize: Equatable {
    private(set) var rows = 16

    static let mostRows = 1_024
    /// Bytes that a page should have at most; a single row may have more.
    private static let mostBytes = 1 << 20

    /// Four times as many, if rows as large as on this page leave room for them.
    mutating func grow(after byteCount: Int) {
        let average = max(byteCount / rows, 1)
        rows = max(1, min(4 * rows, PageSize.mostBytes / average, PageSize.mostRows))
    }
}
