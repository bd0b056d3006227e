// What a figure of the bench counts, and how it stands in the JSON.

import Foundation
import Testing

@testable import CumulusBench

@Suite struct BenchFigureTests {
    private func figure(operations: Int) -> BenchFigure {
        BenchFigure(path: "save", start: "", seconds: 2, operations: operations, perSecond: 50)
    }

    private func json(_ figure: BenchFigure) throws -> [String: Any] {
        let data = try JSONEncoder().encode(figure)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func rowsOfTheEngineAreToldPerOperation() throws {
        let before = EngineRows(count: 1_000, bytes: 50_000)
        var figure = figure(operations: 100)
        figure.count(EngineRows(count: 1_650, bytes: 290_000), since: before)
        let members = try json(figure)
        #expect(members["serverRows"] as? Double == 6.5)
        #expect(members["serverRowBytes"] as? Double == 2_400)
    }

    /// Also of a figure in whose time nothing was done.
    @Test func rowsThatAreNotKnownAreNotTold() throws {
        let rows = EngineRows(count: 7, bytes: 70)
        var figure = figure(operations: 0)
        for (now, before) in [(rows, nil), (nil, rows), (nil, nil)] as [(EngineRows?, EngineRows?)]
        {
            figure.count(now, since: before)
            let members = try json(figure)
            #expect(members["serverRows"] == nil && members["serverRowBytes"] == nil)
        }
        figure.count(EngineRows(count: 9, bytes: 80), since: rows)
        #expect(figure.serverRows == 2 && figure.serverRowBytes == 10)
    }

    /// A rate alone says nothing of the node: it changes with the machine and its hour.
    @Test func whatIsWantedIsAPartOfABound() throws {
        var figure = BenchFigure(path: "save", start: "", seconds: 1, operations: 9, perSecond: 9)
        figure.expect(ratio: 0.6)
        #expect(figure.targets.isEmpty)
        figure.compare(with: [.init(name: "flush", perSecond: 10)])
        figure.expect(ratio: 0.6)
        figure.compare(with: [.init(name: "flush", perSecond: 30)])
        figure.expect(ratio: 0.6)
        #expect(figure.targets.map(\.text) == [">= 60 % of bound", ">= 60 % of bound"])
        #expect(figure.targets.map(\.isMet) == [true, false])
    }
}
