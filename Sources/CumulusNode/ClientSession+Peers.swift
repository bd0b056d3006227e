// What a session does for another node of the cluster: it sends the commits that the peer lacks,
// and goes on as they come.
//
// Each batch is read on a reader thread when the peer has room for it. Where the log is at its end,
// the stream waits for the bell.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire

extension ClientSession {
    /// Whether a HELLO proves that its sender belongs to this cluster.
    func isPeer(_ hello: Hello) -> Bool {
        guard let proof = node.peerProof, hello.clusterID == proof.clusterID else {
            return false
        }
        return proof.isRight(
            hello.proof,
            .dialler,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: hello.nodeID
        )
    }

    /// This node's own proof, for a peer that gave one.
    func proof(for hello: Hello) -> Bytes {
        node.peerProof?.make(
            .listener,
            serverNonce: nonce,
            diallerNonce: hello.nonce,
            nodeID: node.nodeID
        ) ?? []
    }

    func pull(_ stream: UInt32, _ header: CallHeader, _ request: PullRequest) throws {
        let scope =
            header.container.isEmpty
            ? ScopeID.cluster : try scope(header.container, header.environment)
        let isQueued = node.gate.read { [self] in
            finishLater(stream) {
                guard let number = try node.gate.latest(reach: .disk).scope(scope) else {
                    throw Containers.unknown(scope.container)
                }
                let run = request.run == 0 ? nil : Incarnation(request.run)
                let feed = OutboundFeed(scope: number, position: request.vector, run: run)
                return try page(of: feed, isFirst: true)
            }
        }
        if !isQueued { fail(stream, overloaded("too many reads are waiting")) }
    }

    /// The next commits of a feed; how to go on is part of the page.
    private func page(of feed: OutboundFeed, isFirst: Bool = false) throws -> Page {
        var feed = feed
        let rings = node.gate.bell.count
        let snapshot = try node.gate.snapshot(reach: .disk)
        node.meter.engineCalls.add(1)
        guard let batch = try feed.next(snapshot, byteLimit: limits.pageBytes) else {
            throw ServiceError(
                .changeTokenExpired,
                .logTruncated,
                "the log of this node begins later than that; take its state instead"
            )
        }
        let response = PullResponse(commits: batch.commits, vector: batch.vector)
        let rest = feed
        return Page(
            message: response.encoded(),
            next: { [self] in try page(of: rest) },
            idleSince: batch.isAtEnd ? rings : nil,
            isSilent: batch.commits.isEmpty && !isFirst
        )
    }
}
