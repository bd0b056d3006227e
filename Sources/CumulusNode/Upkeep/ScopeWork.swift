// Work that a node does for all scopes in the background: once at its start, where it takes up what
// the last process left, and again after each piece of news.
//
// Run by `SchemaKeeper`, `CascadeKeeper`, `ComparisonKeeper`, `IndexKeeper` and `DeletionKeeper`.
// Work that fails in one scope holds up no other scope, and is tried again after a growing pause.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Logging

struct ScopeWork: Sendable {
    /// Milliseconds between two tries.
    private static let firstPause: Int64 = 1_000
    private static let longestPause: Int64 = 60_000

    let node: Node
    /// Each element calls for the work.
    let news: AsyncStream<Void>
    /// The message for the operator when the work fails.
    let problem: Logger.Message
    /// Does all pending work of a scope.
    let work: @Sendable (ScopeID, ScopeNumber) async throws -> Void

    /// Returns when the task is cancelled.
    func run() async {
        await tryAll()
        for await _ in news { await tryAll() }
    }

    private func tryAll() async {
        var pause = ScopeWork.firstPause
        while !Task.isCancelled {
            do {
                return try await doAll()
            } catch is CancellationError {
                return
            } catch {
                node.environment.logger.warning(
                    problem,
                    metadata: ["problem": "\(error)", "nextTryInMilliseconds": "\(pause)"]
                )
            }
            try? await node.environment.sleep(pause)
            pause = min(2 * pause, ScopeWork.longestPause)
        }
    }

    /// Throws what failed last, once all scopes had their turn.
    private func doAll() async throws {
        var failure: (any Error)?
        let all = try await node.gate.reading { reader in try ScopeDirectory.all(in: reader) }
        for (scope, number) in all {
            do {
                try await work(scope, number)
            } catch let error as CancellationError {
                throw error
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}
