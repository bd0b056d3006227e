// Marks that what came before is lost, since an operator went back to a backup, in all scopes.
//
// Run by the writer. Tokens from before a mark that cover what this node lacks are then told apart
// from such as are ahead of it: see `Truncation`.

package import CumulusModel
package import CumulusStorage

package struct Truncate: ClusterChange {
    private let endsSessions: Bool
    private let met: HybridTime

    /// - Parameters:
    ///   - endsSessions: Ends the sessions of all users, too.
    ///   - met: The highest mark that callers have shown.
    package init(endsSessions: Bool, above met: HybridTime = HybridTime(0)) {
        self.endsSessions = endsSessions
        self.met = met
    }

    package static var changesEveryScope: Bool { true }

    /// Returns how many scopes there are.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Int, ServiceError> {
        if endsSessions { try Sessions.endAll(in: &transaction) }
        return .success(try Truncation.mark(above: met, in: &transaction))
    }
}
