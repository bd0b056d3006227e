// Lists the caller's subscriptions of one database, or fetches some by their ids, a page at a time.
//
// The node asks for the next page when the caller has credit for it. All pages of a call are read
// from one snapshot.

package import CumulusModel
package import CumulusStorage

package struct FetchSubscriptions: Sendable {
    package enum Wanted: Sendable {
        /// All subscriptions, in the order of their ids.
        case all
        /// The subscriptions with these ids; an id may be an error that is the item's result.
        case these([Result<Subscription.ID, ServiceError>])
    }

    package var database: DatabaseScope
    package var wanted: Wanted

    package init(database: DatabaseScope, wanted: Wanted) {
        self.database = database
        self.wanted = wanted
    }

    package struct Page: Sendable {
        package var results: [Result<Subscription, ServiceError>] = []
        /// The first result of the next page; nil if this is the last page.
        package var next: Int?
    }

    /// Reads results from the `start`-th on, until `byteLimit` is reached.
    package func page(
        from start: Int = 0,
        byteLimit: Int,
        of scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> Page {
        do {
            let database = try Authorisation.subscriptions(database, of: caller)
            let known = try reader.subscriptions(in: scope, of: caller.user, database)
                .filter { $0.fired == nil }.map(\.subscription)
            return page(of: results(known), from: start, byteLimit)
        } catch {
            throw ReadFailure(error)
        }
    }

    private func results(_ known: [Subscription]) -> [Result<Subscription, ServiceError>] {
        guard case .these(let ids) = wanted else { return known.map { .success($0) } }
        let byID = Dictionary(known.map { ($0.id, $0) }) { first, _ in first }
        return ids.map { id in
            id.flatMap { id in byID[id].map { .success($0) } ?? .failure(.subscriptionNotFound(id))
            }
        }
    }

    private func page(
        of results: [Result<Subscription, ServiceError>],
        from start: Int,
        _ byteLimit: Int
    ) -> Page {
        var page = Page()
        var byteCount = 0
        for (index, result) in results.enumerated().dropFirst(start) {
            if byteCount >= byteLimit {
                page.next = index
                return page
            }
            page.results.append(result)
            byteCount += (try? result.get()).map { $0.storedBytes.count + $0.id.utf8.count } ?? 64
        }
        return page
    }
}
