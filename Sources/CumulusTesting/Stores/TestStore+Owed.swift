// The owed work of a store that a node does in the background: the rest of long cascades,
// comparisons with topics, and rows of indexes.
//
// Called by tests and simulations, which say when it is done.

import CumulusModel
import CumulusReplication
import CumulusStorage

extension TestStore {
    /// Deletes what long cascades owe, as the node does in the background.
    ///
    /// Returns whether no due work is left.
    ///
    /// - Parameters:
    ///   - time: Work that is due by then is done; nil means by now.
    ///   - turns: Stops after so many turns of the writer.
    @discardableResult
    package func payCascades(due time: Int64? = nil, turns: Int = .max) throws -> Bool {
        let scope = try scopeNumber()
        var last: Dot?
        for _ in 0..<turns {
            let next = try reader.cascade(of: scope, after: last, due: time ?? now)
            guard let next = try next ?? reader.cascade(of: scope, after: nil, due: time ?? now)
            else { return true }
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try CascadeCompensation.pay(next, in: scope, &transaction)
            }
            last = next
        }
        return try reader.cascade(of: scope, after: nil, due: time ?? now) == nil
    }

    /// Compares changes that are owed to topics, as the node does in the background.
    ///
    /// - Parameter turns: Stops after so many turns of the writer.
    package func payComparisons(turns: Int = .max) throws {
        let scope = try scopeNumber()
        for _ in 0..<turns {
            guard let type = try reader.owedType(of: scope) else { return }
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                try ScopeFeeds(of: scope).payComparisons(of: type, &transaction)
            }
        }
    }

    /// Writes rows of indexes that are owed, as the node does in the background.
    ///
    /// - Parameters:
    ///   - limit: Rows that a turn of the writer writes.
    ///   - turns: Stops after so many.
    package func payIndexRows(limit: Int = 1_000, turns: Int = .max) throws {
        let scope = try scopeNumber()
        for _ in 0..<turns {
            guard try reader.owesIndexRows(of: scope) else { return }
            try change { (transaction: inout WriteTransaction) throws(EngineError) in
                try ScopeIndexes(of: scope).payRows(limit: limit, &transaction)
            }
        }
    }
}
