// How a node leaves its cluster: it stops taking writes, announces that it is about to leave, and
// waits until another member has everything that it has, the bytes of assets included. Then it
// removes itself from the list, waits until that is known, and ends.
//
// Nodes that leave at the same time must not count on each other. Once a node takes no more writes,
// it stops reporting how far it has read: others count it only for what it had by then, which it
// hands over with the rest. It waits for its own mark too: a node that has the mark knows that this
// one is about to leave, and does not count on it.

package import CumulusModel
import CumulusOperations
import CumulusStorage
package import CumulusWire
import Logging
import Synchronization

extension Node {
    /// Returns when other members can do without this node; throws when they can't in time, and
    /// then it stays.
    ///
    /// - Parameter cancellation: It is asked during the waits; true means that the leave is no
    ///   longer wanted.
    package func leave(
        by deadline: Instant,
        unless cancellation: @Sendable () -> ServiceError? = { nil }
    ) async throws {
        if gate.stops.isReadOnly { throw WriteStops.readOnly }
        guard try await !otherMembers().isEmpty else {
            throw ServiceError(
                .invalidArguments,
                "no other member stays: nobody could have what this node has; stop it instead"
            )
        }
        guard gate.stops.begin(Node.isLeaving) else { throw Node.isLeaving }
        do {
            try await Cascades(self).waitForAll(by: deadline, unless: cancellation)
            // Behind what the writer was busy with.
            try await mark(isLeaving: true)
            try await handOver(withAssets: true, by: deadline, unless: cancellation)
            // Callers are shown nothing any more; what they saw until now goes over too.
            leaving.store(true, ordering: .sequentiallyConsistent)
            try await handOver(withAssets: true, by: deadline, unless: cancellation)
            _ = try await gate.change(.commits) { [nodeID] transaction throws(EngineError) in
                try Members.remove(nodeID, in: &transaction)
            }
        } catch {
            leaving.store(false, ordering: .sequentiallyConsistent)
            // Where that fails, it is made up for while the node looks for its peers.
            try? await mark(isLeaving: false)
            gate.stops.resume()
            throw error
        }
        // A peer that takes this node's last commit hangs up at once, with a report or without.
        try? await handOver(withAssets: false, by: environment.now() + 2_000)
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

    /// Takes back the announcement of a leave that failed or was broken off.
    func stay() async {
        guard !gate.stops.hasBegun else { return }
        let isMarked = try? await gate.reading { [nodeID] reader in
            try Members.leaving(in: reader).contains(nodeID)
                && !Members.isRemoved(nodeID, in: reader)
        }
        if isMarked == true, !gate.stops.hasBegun { try? await mark(isLeaving: false) }
    }

    private func mark(isLeaving: Bool) async throws {
        try await gate.change(.commits) { [nodeID] transaction throws(EngineError) in
            try Members.mark(nodeID, isLeaving: isLeaving, in: &transaction)
        }
    }

    /// Other members that are to stay.
    private func otherMembers() async throws -> Set<Bytes> {
        try await gate.reading { [nodeID] reader in
            let others = try Members.others(than: nodeID, in: reader).map(\.nodeID)
            return Set(others).subtracting(try Members.leaving(in: reader))
        }
    }

    /// Whether this node must stay because no other member would.
    ///
    /// If several leave at the same time, the one with the smallest id stays.
    private func isLast() async throws -> Bool {
        try await gate.reading { [nodeID] reader in
            let others = Set(try Members.others(than: nodeID, in: reader).map(\.nodeID))
            return others.isSubset(of: try Members.leaving(in: reader))
                && others.allSatisfy { precedes(nodeID, $0) }
        }
    }

    /// Waits until one member holds everything that is here.
    private func handOver(
        withAssets: Bool,
        by deadline: Instant,
        unless cancellation: @Sendable () -> ServiceError? = { nil }
    ) async throws {
        while true {
            if let cancellation = cancellation() { throw cancellation }
            // Anew each time: what comes from others may leave something to do here.
            let vectors = try await gate.reading { reader in
                try ScopeDirectory.all(in: reader).map {
                    ($0.scope, try reader.vector(of: $0.number))
                }
            }
            let waits = vectors.map { scope, vector in
                (vector: vector, wait: ReplicaWait(replicas, scope, copies: 1))
            }
            // Peers report at once while these exist. An optimised build ends them after their last
            // use, which would be before the pause.
            defer { withExtendedLifetime(waits) {} }
            // In this order: by then it is read here who of them was about to leave.
            let holders = waits.map { Set($0.wait.holders(of: $0.vector)) }
            let members = try await otherMembers()
            let whole = holders.reduce(members) { $0.intersection($1) }
            for member in whole.sorted(by: { precedes($0, $1) }) {
                if !withAssets { return }
                if await hasAllAssets(member, of: vectors.map(\.0)) { return }
            }
            guard try await !isLast() else {
                throw ServiceError(
                    .serviceUnavailable,
                    .notReplicated,
                    "the other members are leaving too, and one has to stay: this one does"
                )
            }
            guard environment.now() < deadline else {
                throw ServiceError(
                    .serviceUnavailable,
                    .notReplicated,
                    """
                    no other member that stays has all that this node has, so it stays too; see \
                    'cumulus cluster status', and try again when one has
                    """
                )
            }
            for (scope, _) in vectors { replicas.ask(scope) }
            gate.bell.ringForAll()
            try await environment.sleep(50)
        }
    }
}
