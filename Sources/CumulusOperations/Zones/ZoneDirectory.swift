// The zones that fetches found lately, so that a fetch is one read of the store and not three.
//
// Shared by those who read from states between two changes of zones; each change begins a new one.
// hot: once per fetch.

package import CumulusModel
package import CumulusStorage
import Synchronization

package final class ZoneDirectory: Sendable {
    private struct Key: Hashable {
        var scope: ScopeNumber
        var database: DatabaseID
        var zone: String
    }

    private let zones = Mutex<[Key: FoundZone]>([:])
    private static let capacity = 10_000

    package init() {}

    /// Finds a zone as `RowReader.find` does, reading only what was not found before.
    package func find(
        _ address: ZoneAddress,
        in database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws(EngineError) -> FoundZone? {
        guard caller.isOwner(named: address.owner) else { return nil }
        let key = Key(scope: scope, database: database, zone: address.name)
        if let known = zones.withLock({ $0[key] }) { return known }
        let found = try reader.findShown(address, in: database, of: scope, by: caller)
        guard let found else { return nil }
        zones.withLock { zones in
            if zones.count >= ZoneDirectory.capacity { zones = [:] }
            zones[key] = found
        }
        return found
    }
}
