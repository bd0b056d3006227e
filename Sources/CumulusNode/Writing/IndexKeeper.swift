// Writes the index rows that batches of writes left for later.
//
// Run beside the listener until it is cancelled. After each of its turns the writer is free for
// others for as long as the turn took. The store lists the owed rows (`OwedIndexRows`), and queries
// allow for them until they are written.

import CumulusModel
import CumulusStorage
import CumulusWire
import Logging

package struct IndexKeeper: Sendable {
    private let node: Node

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        await ScopeWork(
            node: node,
            news: node.gate.indexNews.stream,
            problem: "the indexes of some records can't be written now, and queries take longer",
            work: work
        ).run()
    }

    /// Writes all rows that are owed.
    private func work(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        while try await node.gate.reading(.prompt, { try $0.owesIndexRows(of: number) }) {
            try Task.checkCancellation()
            try await pay(number)
        }
    }

    private func pay(_ scope: ScopeNumber) async throws {
        let start = node.environment.now()
        let limit = node.configuration.limits.indexRowsPerTurn / 2
        // Housekeeping also runs on a nearly full disk: deletes make room, and must not wait for
        // it.
        try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
            try ScopeIndexes(of: scope).payRows(limit: max(1, limit), &transaction)
        }
        let milliseconds = node.environment.now().milliseconds - start.milliseconds
        try await node.environment.sleep(max(1, milliseconds))
    }
}
