// Declares in all scopes that what came before is lost, since an operator went back to a backup.
//
// Run by the writer. After that, tokens from before the mark that cover what this node lacks can be
// told from tokens that are ahead of it: see `Truncation`.

package import CumulusModel
package import CumulusStorage

package struct Truncate: ClusterChange {
    private let endsSessions: Bool
    private let met: HybridTime

    /// - Parameters:
    ///   - endsSessions: Whether the sessions of all users end, too.
    ///   - met: The highest mark that callers have shown.
    package init(endsSessions: Bool, above met: HybridTime = HybridTime(0)) {
        self.endsSessions = endsSessions
        self.met = met
    }

    package static var changesEveryScope: Bool { true }

    /// Marks all scopes; the outcome is their number.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Int, ServiceError> {
        if endsSessions { try Sessions.endAll(in: &transaction) }
        return .success(try Truncation.mark(above: met, in: &transaction))
    }
}
