// How far a caller has seen a scope: what a causal token says before it is sealed.
//
//   content = container · environment · n · n times (incarnation, seq) · truncation
//
// Made by the node for its sessions, and read by them.

package import CumulusModel
import CumulusStorage

package struct CausalToken: Hashable, Sendable {
    package var scope: ScopeID
    /// A short one, see `Runs`.
    package var vector: VersionVector
    /// The rank of the highest mark that its maker knew.
    package var truncation: HybridTime

    package init(scope: ScopeID, vector: VersionVector, truncation: HybridTime = HybridTime(0)) {
        self.scope = scope
        self.vector = vector
        self.truncation = truncation
    }

    package var content: Bytes {
        var writer = CanonicalWriter(reserving: 64)
        writer.scope(scope)
        writer.vector(vector)
        writer.varint(truncation.value)
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        scope = try reader.scope()
        vector = try reader.vector()
        truncation = HybridTime(try reader.varint())
        guard reader.isAtEnd else { throw MalformedBytes("a token is longer than what it says") }
    }
}
