// The path `save`: one record per call, each durable before it is answered; many calls in flight,
// and one after the other.
//
// Every call replaces a whole record that exists. Many in flight share flushes: their bound is the
// engine committing the same rows. One in flight waits for its own flush: its bound is the disk.
//
// Folder: one file per measured path. Read `Bench+Save`, then `Bench+Fetch` and `Bench+Replicate`.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Bench {
    func save(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let bounds = target.directory.map { BenchBounds(options, $0, cleanup) }
        let inFlight = options.inFlight
        var many = try await bounds.compare {
            try $0.engine(savesPerCommit: inFlight)
        } with: {
            try await save("save", target, callers: inFlight)
        }
        many.expect(ratio: 0.6)
        var one = try await bounds.compare {
            try $0.flush()
        } with: {
            try await save("save, 1 in flight", target, callers: 1)
        }
        one.expect(ratio: 0.6)
        return [many, one]
    }

    private func save(
        _ name: String,
        _ target: BenchTarget,
        callers: Int
    ) async throws -> BenchFigure {
        let load = BenchLoad(callers: callers, seconds: options.seconds)
        let records = target.records
        return try await BenchFigure.measure(name, target, load) { dice in
            try await target.save([records.record(records.anyID(&dice), &dice)])
        }
    }
}
