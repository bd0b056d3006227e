// The path `query`: first pages of 50, and next ones, one call after the other; and the cost of
// indexes for saves.
//
// The type has five indexed fields. Each query is compared with the bare engine, reading as many
// index rows and records as the answer needs. A query that every plan would have to walk for has no
// such bound. The operands follow from the number of records, so that the answers have a fixed
// size.

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

extension Bench {
    func query(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let items = BenchItems(count: options.records)
        try await target.fill(items, options)
        let questions = BenchQuestion.all(items)
        var bounds: [Double] = []
        if let directory = target.directory {
            bounds = try BenchBounds(options, directory, cleanup).reads(questions.map(\.need))
        }
        var figures: [BenchFigure] = []
        for (index, question) in questions.enumerated() {
            var figure = try await measure(question.name, target) { database, dice in
                _ = try await database.ask(question.make(&dice))
            }
            if index < bounds.count {
                let atNode = try await medianAtNode(question, target.database)
                figure.compare(atNode, withBoundOf: bounds[index])
            }
            figures.append(figure)
            guard question.hasNextPage else { continue }
            figures.append(try await nextPages(of: question, figure, target))
        }
        return figures + (try await saves(items, target))
    }

    private func measure(
        _ name: String,
        _ target: BenchTarget,
        _ ask: @escaping @Sendable (Database, inout SeededGenerator) async throws -> Void
    ) async throws -> BenchFigure {
        let load = BenchLoad(callers: 1, seconds: options.seconds / 2)
        let database = target.database
        return try await BenchFigure.measure(name, target, load) { dice in
            try await ask(database, &dice)
        }
    }

    /// The time of a first page according to the node, in milliseconds.
    private func medianAtNode(
        _ question: BenchQuestion,
        _ database: Database
    ) async throws -> Double {
        var dice = SeededGenerator(seed: 11)
        var taken: [Double] = []
        let end = Date(timeIntervalSinceNow: options.seconds / 4)
        repeat {
            let explanation = try await database.explain(
                question.make(&dice),
                inZoneWith: .default,
                resultsLimit: BenchQuestion.page
            )
            taken.append(explanation.duration / .milliseconds(1))
        } while Date() < end
        return taken.sorted()[taken.count / 2]
    }

    private func nextPages(
        of question: BenchQuestion,
        _ first: BenchFigure,
        _ target: BenchTarget
    ) async throws -> BenchFigure {
        var dice = SeededGenerator(seed: 7)
        var cursors: [QueryCursor] = []
        for _ in 0..<200 {
            let page = try await target.database.ask(question.make(&dice))
            if let cursor = page.queryCursor { cursors.append(cursor) }
        }
        let all = cursors
        guard !all.isEmpty else {
            throw BenchProblem(message: "no query of '\(question.name)' has a next page")
        }
        var figure = try await measure("\(question.name), next page", target) { database, dice in
            let cursor = all[Int.random(in: all.indices, using: &dice)]
            _ = try await database.records(
                continuingMatchFrom: cursor,
                resultsLimit: BenchQuestion.page
            )
        }
        let (p50, wanted) = (figure.p50 ?? .infinity, 1.2 * (first.p50 ?? 0))
        figure.targets.append(
            .init(
                text: String(format: "p50 <= %.2f ms (1.2 x first page)", wanted),
                isMet: p50 <= wanted
            )
        )
        return figure
    }

    /// Records that exist are replaced, of a type with five indexes and of one without.
    private func saves(_ items: BenchItems, _ target: BenchTarget) async throws -> [BenchFigure] {
        func measure(_ name: String, type: String) async throws -> BenchFigure {
            let load = BenchLoad(callers: options.inFlight, seconds: options.seconds)
            return try await BenchFigure.measure(name, target, load) { dice in
                let number = Int.random(in: 0..<BenchItems.replaced, using: &dice)
                let seed = Int.random(in: 0..<1 << 40, using: &dice)
                try await target.save([items.record(number, type: type, seed: seed)])
            }
        }
        let plain = try await measure("save, no index", type: "Plain")
        var indexed = try await measure("save, 5 indexes", type: "Item")
        indexed.compare(with: [.init(name: "no index", perSecond: plain.perSecond)])
        indexed.expect(ratio: 0.5)
        return [plain, indexed]
    }
}

/// A kind of query, and what its answer needs at least.
struct BenchQuestion: Sendable {
    /// The rows that the engine has to read for a first page.
    struct Need: Sendable {
        var ranges = 1
        /// Index rows.
        var rows: Int
        /// Records.
        var records: Int
    }

    var name: String
    var need: Need
    var make: @Sendable (inout SeededGenerator) -> Query
    var hasNextPage = false

    static let page = 50

    static func all(_ items: BenchItems) -> [BenchQuestion] {
        let count = items.count
        // The number of letters leaves about a hundred titles.
        let letters = max(1, Int((log(Double(count) / 100) / log(26)).rounded()))
        let alike = max(1, Int(Double(count) / pow(26, Double(letters))))
        let some = Int64(1_000_000_000 * Double(100) / Double(count))
        return [
            BenchQuestion(name: "equal, sorted by another", need: .init(rows: 100, records: 100)) {
                .items(.field("owner") == items.anyOwner(&$0), by: "rank", ascending: false)
            },
            BenchQuestion(
                name: "range in its order",
                need: .init(rows: page, records: page),
                make: { dice in
                    let rank = Int64.random(in: 0..<900_000_000, using: &dice)
                    return .items(.field("rank") > rank, by: "rank")
                },
                hasNextPage: true
            ),
            BenchQuestion(
                name: "narrow range, sorted by another",
                need: .init(rows: 100, records: 100)
            ) {
                let rank = Int64.random(in: 0..<900_000_000, using: &$0)
                return .items(
                    .field("rank") >= rank && .field("rank") < rank + some,
                    by: "title"
                )
            },
            BenchQuestion(
                name: "wide range, sorted by a narrow prefix",
                need: .init(rows: min(alike, 2 * page), records: min(alike, 2 * page))
            ) {
                let prefix = BenchItems.letters(letters, &$0)
                return .items(
                    .field("rank") < Int64(500_000_000) && .field("title").begins(with: prefix),
                    by: "title"
                )
            },
            BenchQuestion(
                name: "prefix",
                need: .init(rows: min(alike, page), records: min(alike, page))
            ) {
                .items(.field("title").begins(with: BenchItems.letters(letters, &$0)), by: "title")
            },
            BenchQuestion(
                name: "one of 20",
                need: .init(ranges: 20, rows: page, records: page),
                make: { dice in
                    let owners = (0..<20).map { _ in items.anyOwner(&dice) }
                    return .items(.field("owner").isIn(owners))
                },
                hasNextPage: true
            ),
            BenchQuestion(name: "word", need: .init(rows: page, records: page)) {
                .items(.tokens(all: items.anyWord(&$0)))
            },
            BenchQuestion(
                name: "radius of 0.1 %, nearest first",
                // A circle is about so many ranges of any curve through all places.
                need: .init(
                    ranges: 16,
                    rows: max(16, count / 1_000),
                    records: min(page, max(1, count / 1_000))
                )
            ) {
                let place = BenchItems.anyPlace(&$0)
                var query = Query.items(
                    .field("place").isWithin(metres: BenchQuestion.thousandth, of: place)
                )
                query.sortDescriptors = [.init(key: "place", relativeLocation: place)]
                return query
            },
            BenchQuestion(
                name: "10 %, sorted by another",
                need: .init(rows: 10 * page, records: 10 * page)
            ) {
                let rank = Int64.random(in: 0..<900_000_000, using: &$0)
                return .items(
                    .field("rank") >= rank && .field("rank") < rank + 100_000_000,
                    by: "title"
                )
            },
        ]
    }

    /// A circle of that radius, in metres, is a thousandth of Earth.
    private static let thousandth = 403_000.0
}

extension Query {
    fileprivate static func items(
        _ predicate: Query.Predicate,
        by key: String? = nil,
        ascending: Bool = true
    ) -> Query {
        Query(
            recordType: "Item",
            predicate: predicate,
            sortDescriptors: key.map { [.init(key: $0, ascending: ascending)] } ?? []
        )
    }
}

extension Database {
    fileprivate func ask(
        _ query: Query
    ) async throws -> (
        matchResults: [(Record.ID, Result<Record, any Error>)], queryCursor: QueryCursor?
    ) {
        try await records(
            matching: query,
            inZoneWith: .default,
            resultsLimit: BenchQuestion.page
        )
    }
}
