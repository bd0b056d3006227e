// A plan as questions that are asked together: one for the keys of each family, then one for each
// range.
//
// Made by `RowSource` for each plan, which may have a hundred keys.

import CumulusModel
import CumulusStorage

struct PlanQuestions {
    /// What is asked, in one round trip; empty if nothing has to be.
    let all: [Question]
    private let plan: ReadPlan
    /// The places in the plan of the keys of each family that is asked.
    private let places: [[Int]]

    init(_ plan: ReadPlan) {
        let places = plan.byteLimit > 0 ? PlanQuestions.places(of: plan.keys) : []
        all =
            places.map { PlanQuestions.values(at: $0, of: plan) }
            + plan.ranges.map { PlanQuestions.firstPage(of: $0) }
        self.plan = plan
        self.places = places
    }

    private static func places(of keys: [RowKey]) -> [[Int]] {
        var places = Family.allCases.map { _ in [Int]() }
        for (place, key) in keys.enumerated() { places[Int(key.family.rawValue)].append(place) }
        return places.filter { !$0.isEmpty }
    }

    /// Each family has the room of the plan: so a plan reads four times as much at most.
    private static func values(at places: [Int], of plan: ReadPlan) -> Question {
        var parameters = Parameters()
        parameters.add(array: places.map { plan.keys[$0].bytes })
        parameters.add(Int64(plan.byteLimit))
        return Question(RowStatements.values(of: plan.keys[places[0]].family), parameters)
    }

    private static func firstPage(of wanted: RowRange) -> Question {
        let limit = max(0, min(wanted.limit, PageSize.mostRows))
        return .page(wanted.family, wanted.range, backwards: wanted.backwards, limit: limit)
    }

    // MARK: Answers

    /// The rows of the plan, from the answers to all questions.
    ///
    /// - Parameter source: Has the rows that a range has behind its first page.
    func rows(
        _ answers: [Answer],
        from source: some EngineReader
    ) throws(EngineError) -> ReadRows {
        var ranges: [[(key: Bytes, value: Bytes)]] = []
        for (wanted, answer) in zip(plan.ranges, answers[places.count...]) {
            var rows = (0..<answer.count).map { row in
                (key: answer.bytes(row, 0), value: answer.bytes(row, 1))
            }
            rows += try rest(of: wanted, after: rows, source)
            ranges.append(rows)
        }
        return ReadRows(values: values(answers[..<places.count]), ranges: ranges)
    }

    private func values(_ answers: ArraySlice<Answer>) -> [ReadRows.Value] {
        let isRead = plan.byteLimit > 0
        var values = [ReadRows.Value](
            repeating: isRead ? .missing : .unread,
            count: plan.keys.count
        )
        for (places, answer) in zip(places, answers) {
            for row in 0..<answer.count {
                // PostgreSQL counts from 1.
                let place = places[Int(answer.number(row, 0)) - 1]
                values[place] = answer.isNull(row, 1) ? .unread : .found(answer.bytes(row, 1))
            }
        }
        return values
    }

    private func rest(
        of wanted: RowRange,
        after rows: [(key: Bytes, value: Bytes)],
        _ source: some EngineReader
    ) throws(EngineError) -> [(key: Bytes, value: Bytes)] {
        guard rows.count == PageSize.mostRows, let last = rows.last else { return [] }
        var rest = wanted
        rest.limit -= rows.count
        rest.range.drop(through: last.key, backwards: wanted.backwards)
        return try source.rows(of: [rest])[0]
    }
}
