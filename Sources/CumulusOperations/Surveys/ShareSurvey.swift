// Finds the shares of records in a zone that is to be shared as a whole, before the writer's turn:
// no row lists the shares of a zone, so all its records are read.
//
// Begun when `ModifyRecords` says that it needs one; runs on reader threads, some records at a
// time, each time over the newest state. Changes since its begin are found by the rows of changes;
// the writer looks at changes since its end. So a share that this node has made is always found.

import CumulusModel
package import CumulusStorage

package struct ShareSurvey: Sendable {
    private let scope: ScopeNumber
    private var zones: [(address: ZoneAddress, shares: ZoneShares)] = []

    package init(
        _ request: ModifyRecords,
        of scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws {
        self.scope = scope
        let database = try Authorisation.database(request.database, for: caller)
        let vector = try reader.vector(of: scope)
        for address in request.zonesToShare {
            guard let found = try reader.locate(address, in: database, of: scope, by: caller),
                let zone = found.number
            else { continue }
            zones.append((address, ZoneShares(of: zone, as: vector)))
        }
    }

    /// Looks at some records, and at the end again at changed ones; returns whether little is left
    /// for the writer.
    package mutating func advance(
        _ reader: ReadTransaction,
        steps: Int
    ) throws(EngineError) -> Bool {
        for index in zones.indices where !zones[index].shares.isComplete {
            try zones[index].shares.look(at: steps, reader)
            return false
        }
        let runs = try reader.runs(of: scope)
        var count = 0
        for index in zones.indices { count += try zones[index].shares.follow(runs, reader) }
        return count <= steps
    }

    /// The names of the shares that are in a zone now.
    ///
    /// The list is empty if the zone was made anew: everything in it was then saved at the same
    /// time.
    func shares(
        in address: ZoneAddress,
        _ zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        guard var shares = zones.first(where: { $0.address == address })?.shares,
            shares.zone == zone
        else { return [] }
        let runs = try transaction.loadScope(scope).runs
        _ = try shares.follow(runs, transaction)
        return shares.names.sorted()
    }
}
