// The mark that an operator sets after a whole cluster went back to a backup: what callers saw
// beyond that backup is lost, and nobody is to wait for it.
//
// A register of each scope; only its rank counts. Tokens say which mark their maker knew: one from
// before the highest mark that covers what a node lacks has expired. A rank is the time of the
// mark, unless its node has met a higher one: a mark that was made by a clock that was ahead, and
// was lost itself, is known to callers alone.

package import CumulusModel

package enum Truncation {
    static let namespace = "truncation"

    /// Marks every scope; returns how many there are.
    ///
    /// - Parameter met: The highest mark that callers have shown; the new one ranks above it.
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
            _ = try transaction.perform(
                [.register(register)],
                in: scope,
                zone: nil,
                author: Author()
            )
        }
        return scopes.count
    }
}

extension RegisterRow {
    /// The rank of a mark; those of earlier releases have their time.
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
