// How a node leaves its cluster: it takes no more writes, waits until another member has all that
// it has, takes itself off the list, waits until that is known, and ends.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

extension Node {
    /// Returns when other members can do without this node; throws when they can't in time, and
    /// then it stays.
    func leave(by deadline: Instant) async throws {
        guard try await !otherMembers().isEmpty else {
            throw ServiceError(
                .invalidArguments,
                "this node is the only member: nobody could have what it has; stop it instead"
            )
        }
        guard !gate.hasStopped else { throw Node.isLeaving }
        gate.stopWrites(Node.isLeaving)
        do {
            // Behind what the writer was busy with.
            try await gate.change(.housekeeping) { _ in }
            try await handOver(by: deadline)
            leaving.store(true, ordering: .sequentiallyConsistent)
            _ = try await gate.change(.commits) { [nodeID] transaction throws(EngineError) in
                try Members.remove(nodeID, in: &transaction)
            }
        } catch {
            leaving.store(false, ordering: .sequentiallyConsistent)
            gate.resumeWrites()
            throw error
        }
        // Whoever takes the last commit of this node hangs up at once: it may say so, or not.
        try? await handOver(by: environment.now() + 2_000)
        environment.logger.info("this node left the cluster")
        environment.end()
    }

    static let isLeaving: ServiceError = {
        var error = ServiceError(
            .serviceUnavailable,
            .draining,
            "this node is leaving its cluster; use another one"
        )
        error.retryAfterMilliseconds = 0
        return error
    }()

    private func otherMembers() async throws -> Set<Bytes> {
        try await gate.reading { [nodeID] reader in
            Set(
                try Members.all(in: reader).filter { !$0.isRemoved && $0.nodeID != nodeID }
                    .map(\.nodeID)
            )
        }
    }

    /// Waits until one member holds all that is here.
    private func handOver(by deadline: Instant) async throws {
        let vectors = try await gate.reading { reader in
            try ScopeDirectory.all(in: reader).map { ($0.scope, try reader.vector(of: $0.number)) }
        }
        let waits = vectors.map { scope, vector in
            (vector: vector, wait: ReplicaWait(replicas, scope, copies: 1))
        }
        while true {
            let members = try await otherMembers()
            let holders = waits.map { Set($0.wait.holders(of: $0.vector)) }
            let whole = holders.reduce(members) { $0.intersection($1) }
            if !whole.isEmpty { return }
            guard environment.now() < deadline else {
                throw ServiceError(
                    .serviceUnavailable,
                    .notReplicated,
                    """
                    no other member has all that this node has, so it stays; see 'cumulus \
                    cluster status', and try again when one has
                    """
                )
            }
            for (scope, _) in vectors { replicas.ask(scope) }
            gate.bell.ring()
            try await environment.sleep(50)
        }
    }
}
