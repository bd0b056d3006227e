// The truncation mark, which an operator sets after a whole cluster was restored from a backup:
// what clients saw after that backup is lost, and clients stop waiting for it.
//
// The mark is a register of each scope; only its rank counts. A token says which mark its node
// knew. A token from before the highest mark that covers what a node lacks has expired. The rank is
// the time of the mark, unless the node has met a higher rank: after a mark by a fast clock was
// lost itself, only clients know of it.

package import CumulusModel

package enum Truncation {
    static let namespace = "truncation"

    /// Marks every scope; returns how many there are.
    ///
    /// - Parameter met: The highest mark that a client has shown; the new mark ranks above it.
    package static func mark(
        above met: HybridTime = HybridTime(0),
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let scopes = try ScopeDirectory.all(in: transaction)
        for (_, scope) in scopes {
            let known = max(met, try transaction.truncation(of: scope)).value
            let now = HybridTime(milliseconds: transaction.now).value
            var rank = CanonicalWriter()
            rank.bigEndian(max(now, known == .max ? known : known + 1))
            let register = Commit.Register(namespace: namespace, key: [], value: rank.bytes)
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
        return scopes.count
    }
}

extension RegisterRow {
    /// The rank of a mark; marks of earlier releases rank by their time.
    var rank: HybridTime {
        guard let value, value.count == 8 else { return stamp.time }
        return HybridTime(value.reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension RowReader where Self: ~Copyable {
    /// The rank of a scope's highest mark; 0 before the first mark.
    package borrowing func truncation(of scope: ScopeNumber) throws(EngineError) -> HybridTime {
        try register(scope, Truncation.namespace, [])?.rank ?? HybridTime(0)
    }
}
