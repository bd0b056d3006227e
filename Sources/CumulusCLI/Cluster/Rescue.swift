// Hands a node of the cluster what a removed node's directory holds and the cluster lacks: scope by
// scope, by vectors, the assets that commits name before the commits.
//
// Run by `RescueCommand`. It keeps no notes: how far it came is what the node has applied, so a
// second run goes on where the first one was interrupted.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusTerminal

struct Rescue {
    /// The outcome for one scope.
    struct Outcome {
        let scope: ScopeID
        /// Commits of the directory, whichever node made them.
        var found: UInt64 = 0
        /// Commits that the cluster already had.
        var there: UInt64 = 0
        var handedOver: UInt64 = 0
        /// Assets that the others name.
        var assets = 0
        /// Assets whose bytes are neither in the cluster nor all in the directory.
        var assetsNotWhole = 0
        /// Commits with increments that nodes may not recognise if their callers repeated them.
        var mayCountTwice = 0
        /// Why the rest was not handed over; nil if all was.
        var problem: String?

        var lacks: UInt64 { found - there }
    }

    let directory: RemovedDirectory
    let node: NodeOperator
    /// Whether it only counts.
    let isDry: Bool
    /// Milliseconds since 1970 UTC.
    let now: Int64

    /// About how many bytes of commits go in a message; one that is larger goes alone.
    private static let messageBytes = 256 << 10

    /// Hands over all scopes; a problem with one holds up no other.
    ///
    /// - Parameter tell: Told how far a scope is.
    func run(_ tell: (Outcome) -> Void) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for (scope, number) in directory.source.scopes {
            var outcome = Outcome(scope: scope)
            do {
                try await handOver(number, &outcome, tell)
            } catch let error as ServiceError where !error.isUnreachable {
                outcome.problem = error.message
            } catch let error as EngineError {
                outcome.problem = "the directory is damaged: \(error)"
            } catch let error as MalformedBytes {
                outcome.problem = "the directory is damaged: \(error.reason)"
            } catch let error as PackError {
                outcome.problem = "the assets can't be read: \(error)"
            }
            if outcome.found > 0 || outcome.problem != nil { outcomes.append(outcome) }
        }
        return outcomes
    }

    private func handOver(
        _ number: ScopeNumber,
        _ outcome: inout Outcome,
        _ tell: (Outcome) -> Void
    ) async throws {
        let vector = try await vector(of: outcome.scope)
        (outcome.found, outcome.there) = try directory.source.count(of: number, at: vector)
        var outbound = OutboundCommits(scope: number, position: vector)
        var assets: Set<RescueSource.Asset> = []
        var isAtEnd = outcome.lacks == 0
        while !isAtEnd {
            tell(outcome)
            let batch = try directory.source.next(
                of: number,
                from: &outbound,
                byteLimit: Rescue.messageBytes
            )
            guard let batch else {
                outcome.problem = Rescue.logTruncated
                return
            }
            for bytes in batch.commits {
                let commit = try Commit(bytes)
                if RescueSource.mayCountTwice(commit, now: now) { outcome.mayCountTwice += 1 }
                for asset in try RescueSource.assets(of: commit)
                where assets.insert(asset).inserted {
                    try await handOver(asset, number, &outcome)
                }
            }
            if !isDry {
                outcome.handedOver += try await node.rescue(batch.commits, of: outcome.scope)
            }
            isAtEnd = batch.isAtEnd
        }
    }

    private static let logTruncated = """
        the directory's log begins later than what the node has: ask a node that has read more; \
        'cumulusd --read-only' shows what the directory holds
        """

    /// How far the node is; a container that it doesn't know yet would be made before.
    private func vector(of scope: ScopeID) async throws -> VersionVector {
        do {
            return try await node.vector(of: scope)
        } catch let error as ServiceError where error.code == .badContainer && isDry {
            return VersionVector()
        }
    }

    private func handOver(
        _ asset: RescueSource.Asset,
        _ number: ScopeNumber,
        _ outcome: inout Outcome
    ) async throws {
        outcome.assets += 1
        guard let list = try directory.list(of: asset, in: number) else {
            outcome.assetsNotWhole += 1
            return
        }
        if isDry { return }
        let (node, scope) = (node, outcome.scope)
        func missing() async throws -> [Int] {
            try await node.missingChunks(of: list, in: asset.database, of: scope)
        }
        let chunks = try await missing()
        try await directory.read(chunks, of: list, asset, in: number) {
            try await node.rescue($0, in: asset.database, of: scope)
        }
        // It also tells the node that nothing is missing any more.
        if !chunks.isEmpty, try await !missing().isEmpty { outcome.assetsNotWhole += 1 }
    }
}
