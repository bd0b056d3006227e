// The mark that an operator sets after a whole cluster went back to a backup: what callers saw
// beyond that backup is lost, and nobody is to wait for it.
//
// A register of each scope; only its time counts. Tokens say which mark their maker knew: one from
// before the newest mark that covers what a node lacks has expired.

package import CumulusModel

package enum Truncation {
    static let namespace = "truncation"

    /// Marks every scope; returns how many there are.
    package static func mark(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let scopes = try ScopeDirectory.all(in: transaction)
        for (_, scope) in scopes {
            let register = Commit.Register(namespace: namespace, key: [], value: [])
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

extension RowReader where Self: ~Copyable {
    /// The time of a scope's newest mark; 0: there is none.
    package borrowing func truncation(of scope: ScopeNumber) throws(EngineError) -> HybridTime {
        try register(scope, Truncation.namespace, [])?.stamp.time ?? HybridTime(0)
    }
}
