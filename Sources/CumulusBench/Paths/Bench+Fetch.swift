// The path `fetch`: one record by its name, many calls in flight.
//
// Its bound is the same client on the same number of connections, against a server without a store
// that answers with records of the same size.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Bench {
    func fetch(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> BenchFigure {
        let load = BenchLoad(callers: options.inFlight, seconds: options.seconds)
        var figure = try await fetch("fetch", target, load)
        if target.directory != nil {
            figure.compare(with: [try await echo(load, cleanup)])
        }
        return figure
    }

    private func fetch(
        _ name: String,
        _ target: BenchTarget,
        _ load: BenchLoad
    ) async throws -> BenchFigure {
        let (database, records) = (target.database, target.records)
        return try await BenchFigure.measure(name, target, load) { dice in
            _ = try await database.record(for: records.anyID(&dice))
        }
    }

    private func echo(
        _ load: BenchLoad,
        _ cleanup: Cleanup
    ) async throws -> BenchFigure.Bound {
        let server = try BenchTarget.openEcho(options, cleanup)
        do {
            let figure = try await fetch("the bound: echo", server, load)
            await server.close()
            let cpu = (figure.serverMicroseconds ?? 0) + (figure.clientMicroseconds ?? 0)
            return BenchFigure.Bound(
                name: "echo",
                perSecond: figure.perSecond,
                cpuMicroseconds: cpu
            )
        } catch {
            await server.close()
            throw error
        }
    }
}
