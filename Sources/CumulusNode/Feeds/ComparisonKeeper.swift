// Compares changes of records with the topics of subscriptions where a batch of writes left that to
// be done later.
//
// It runs beside the listener until it is cancelled. After each turn it leaves the writer to others
// for as long as the turn took. The types with owed changes take turns. The owed changes are rows
// of the store (`OwedChange`), and feeds wait for them.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging

package struct ComparisonKeeper: Sendable {
    /// Milliseconds between two tries while another node's state is merged in.
    private static let heldPause: Int64 = 1_000

    private let node: Node

    package init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    package func run() async {
        await ScopeWork(
            node: node,
            news: node.gate.comparisonNews.stream,
            problem: "changes can't be compared with subscriptions now, and feeds wait for that",
            work: work
        ).run()
    }

    /// Compares all changes that are owed.
    private func work(_ scope: ScopeID, _ number: ScopeNumber) async throws {
        var last: WatchedType?
        while true {
            try Task.checkCancellation()
            let after = last
            let next = try await node.gate.reading(.prompt) { reader in
                try reader.owedType(of: number, after: after)
            }
            guard let next else {
                // The first type has its turn again.
                if last == nil { return }
                last = nil
                continue
            }
            try await pay(next, in: scope, number)
            last = next
        }
    }

    private func pay(
        _ type: WatchedType,
        in scope: ScopeID,
        _ number: ScopeNumber
    ) async throws {
        let start = node.environment.now()
        let isHeld = try await node.gate.change(.deletes) {
            [node] transaction throws(EngineError) in
            // While another node's state is merged in, nothing else changes.
            if node.gate.stops.isHeld(scope) { return true }
            try ScopeFeeds(of: number).payComparisons(of: type, &transaction)
            return false
        }
        let milliseconds = node.environment.now().milliseconds - start.milliseconds
        let pause = isHeld ? ComparisonKeeper.heldPause : max(1, milliseconds)
        try await node.environment.sleep(pause)
    }
}
