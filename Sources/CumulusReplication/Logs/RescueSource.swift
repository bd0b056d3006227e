// The store of a node that was removed: what of it a cluster lacks, and which assets that names.
//
// `cumulus cluster rescue` reads it from the node's directory while no process uses it. Vectors
// decide what to hand over, as between peers: `OutboundCommits` reads it from the log.

package import CumulusModel
package import CumulusStorage

package struct RescueSource: Sendable {
    /// An asset that a commit names.
    package struct Asset: Hashable, Sendable {
        package let database: DatabaseID
        package let digest: Bytes
    }

    package let reader: ReadTransaction
    /// The node that owns the store.
    package let node: NodeRow
    /// Scopes in an order in which they can be handed over: containers are made in the cluster's
    /// own.
    package let scopes: [(scope: ScopeID, number: ScopeNumber)]

    /// Throws if the store is new, or if this release can't read it.
    package init(_ reader: ReadTransaction) throws {
        guard let node = try OpenStore.node(in: reader) else {
            throw EngineError.corrupt("it holds no node")
        }
        self.reader = reader
        self.node = node
        scopes = try ScopeDirectory.all(in: reader)
    }

    /// How many of a scope's commits the store has, and how many of them a reader at `vector` has.
    package func count(
        of scope: ScopeNumber,
        at vector: VersionVector
    ) throws(EngineError) -> (found: UInt64, there: UInt64) {
        var (found, there) = (UInt64(0), UInt64(0))
        for last in try reader.vector(of: scope).dots {
            found += last.seq
            there += min(last.seq, vector[last.incarnation])
        }
        return (found, there)
    }

    /// The next commits that a reader of a scope lacks; nil if the log does not reach back so far.
    package func next(
        of scope: ScopeNumber,
        from outbound: inout OutboundCommits,
        byteLimit: Int
    ) throws(EngineError) -> OutboundCommits.Batch? {
        try outbound.next(reader, try reader.vector(of: scope), byteLimit: byteLimit)
    }

    /// The assets that a commit's puts name, each once.
    package static func assets(of commit: Commit) throws(MalformedBytes) -> [Asset] {
        guard let zone = commit.zone else { return [] }
        var found: Set<Bytes> = []
        for case .put(let put) in commit.operations { found.formUnion(try put.fields.assets()) }
        return found.sorted { precedes($0, $1) }.map { Asset(database: zone.database, digest: $0) }
    }

    /// Whether a commit adds to counters by a request that nodes may have forgotten: if its caller
    /// repeated it on another node, it counts twice.
    ///
    /// - Parameter now: In milliseconds since 1970 UTC.
    package static func mayCountTwice(_ commit: Commit, now: Int64) -> Bool {
        let age = now - commit.stamp.time.milliseconds
        guard age > Limits.standard.requestMemoryMilliseconds, !commit.requestID.isEmpty else {
            return false
        }
        return commit.operations.contains { operation in
            if case .put(let put) = operation { !put.increments.isEmpty } else { false }
        }
    }
}
