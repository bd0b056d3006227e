// Converts predicates of Foundation to predicates of queries, and back.
//
// Called by the CloudKit layer when a query or a subscription is sent, archived or received.

package import CumulusModel
package import Foundation

extension NSPredicate {
    /// The predicate as a query carries it.
    ///
    /// Predicates made from formats, from a constant, and compounds of them are supported. The
    /// server refuses more, such as `OR`, and NOT over more than one comparison.
    ///
    /// - Throws: `invalidArguments`, with a sentence on what isn't supported.
    package func queryPredicate() throws(ServiceError) -> Query.Predicate {
        switch self {
        case let predicate as FormatPredicate: return try predicate.result.get()
        case let predicate as NSCompoundPredicate: return try predicate.joined()
        case NSPredicate(value: true): return .all
        case NSPredicate(value: false): return .none
        default:
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                a predicate made from a block can't be sent to the server; use \
                NSPredicate(format:), or filter the results of the query
                """
            )
        }
    }

    /// A text from which `NSPredicate(format:)` makes the same predicate again.
    ///
    /// A predicate that isn't supported gives a text that isn't supported either.
    package var archivableFormat: String {
        do {
            return try queryPredicate().format
        } catch {
            return (self as? FormatPredicate)?.predicateFormat ?? "BLOCKPREDICATE"
        }
    }

    /// A predicate that says the same as one of a query.
    package static func predicate(_ predicate: Query.Predicate) -> NSPredicate {
        FormatPredicate(predicate)
    }
}

extension NSCompoundPredicate {
    fileprivate func joined() throws(ServiceError) -> Query.Predicate {
        let parts = try subpredicates.map { part throws(ServiceError) in
            try part.queryPredicate()
        }
        guard let first = parts.first else {
            return compoundPredicateType == .and ? .all : .none
        }
        let others = parts.dropFirst()
        return switch compoundPredicateType {
        case .and: others.reduce(first) { $0 && $1 }
        case .or: others.reduce(first) { $0 || $1 }
        case .not: !first
        }
    }
}
