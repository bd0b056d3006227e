// The path `batch`: 200 records per call, one call in flight on each connection.
//
// Counted in records. Its bound is the engine committing as many rows at once.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Bench {
    func batch(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> BenchFigure {
        let size = BenchOptions.batchSize
        let load = BenchLoad(callers: options.connections, seconds: options.seconds)
        let records = target.records
        let bounds = target.directory.map { BenchBounds(options, $0, cleanup) }
        let perCommit = size * options.connections
        return try await bounds.compare {
            try $0.engine(savesPerCommit: perCommit)
        } with: {
            try await BenchFigure.measure("batch", target, load, perCall: size) { dice in
                // Neighbours: a request may name each record once.
                let first = Int.random(in: 0...records.ids.count - size, using: &dice)
                let ids = records.ids[first..<first + size]
                try await target.save(ids.map { records.record($0, &dice) })
            }
        }
    }
}
