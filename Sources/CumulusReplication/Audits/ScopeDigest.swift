// A short description of a node's scope: which commits it applied, and the digest of all living
// records.
//
// Nodes with equal digests hold the same records. Nodes that applied the same commits hold the same
// registers and empty zones too, which no digest covers.
//
// Read for the status of a node, by scanning its zones, not their records.

import Crypto
package import CumulusModel
package import CumulusStorage

package struct ScopeDigest: Equatable, Sendable {
    package var scope: ScopeID
    /// Applied here, of all nodes.
    package var commits: UInt64
    /// 16 bytes of a hash of the vector: equal on nodes that applied the same commits.
    package var applied: Bytes
    /// 16 bytes: the sum of the zones' digests modulo 2^128, big-endian.
    package var digest: Bytes
    /// How many runs made the commits, see `Runs`.
    package var (liveRuns, retiredRuns): (Int, Int)
    /// Zones with forgotten deletions.
    package var horizons = 0

    /// The digests of every scope that the node knows, ordered by number.
    package static func all(in reader: ReadTransaction) throws(EngineError) -> [ScopeDigest] {
        try ScopeDirectory.all(in: reader).map { (scope, number) throws(EngineError) in
            try ScopeDigest(scope, number, in: reader)
        }
    }

    package init(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        in reader: ReadTransaction
    ) throws(EngineError) {
        self.scope = scope
        let runs = try reader.runs(of: number)
        commits = runs.rows.values.reduce(0) { $0 &+ $1.seq }
        applied = ScopeDigest.hash(of: runs.vector)
        (liveRuns, retiredRuns) = (runs.live.count, runs.retired.count)
        var sum = UInt128(0)
        for zone in try StateSource(reader, scope: number).zones() where zone.row.exists {
            let state: ZoneState? = try reader.row(.zoneState(zone.row.number))
            sum &+= state?.digest ?? 0
            if !zone.row.horizon.isEmpty { horizons += 1 }
        }
        digest = sum.bigEndianBytes
    }

    private static func hash(of vector: VersionVector) -> Bytes {
        var hash = SHA256()
        for dot in vector.dots {
            for number in [dot.incarnation.value, dot.seq] {
                withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
            }
        }
        return Bytes(hash.finalize().prefix(16))
    }
}
