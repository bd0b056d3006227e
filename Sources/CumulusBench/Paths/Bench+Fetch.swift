// The path `fetch`: one record by its name, many calls in flight.
//
// Its bound is the same client on the same number of connections, against a server without a store
// that answers with records of the same size.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Bench {
    func fetch(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> BenchFigure {
        var figure = try await fetch("fetch", target)
        if target.directory != nil {
            figure.compare(with: [try await echo(cleanup)])
        }
        return figure
    }

    private func fetch(_ name: String, _ target: BenchTarget) async throws -> BenchFigure {
        let (database, records) = (target.database, target.records)
        return try await BenchFigure.measure(name, target, load) { dice in
            _ = try await database.record(for: records.anyID(&dice))
        }
    }

    private func echo(_ cleanup: Cleanup) async throws -> BenchFigure.Bound {
        let server = try BenchTarget.openEcho(options, cleanup)
        return try await server.use { server in
            try await fetch("the bound: echo", server).bound(named: "echo")
        }
    }
}
