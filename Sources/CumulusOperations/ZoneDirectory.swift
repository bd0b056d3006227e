// The zones that fetches found lately, so that a fetch is one read of the store and not three.
//
// Shared by the sessions of a node; the writer clears it when a batch that changed zones was
// committed, before anybody is told of that batch. hot: once per fetch.

package import CumulusModel
package import CumulusStorage
import Synchronization

package final class ZoneDirectory: Sendable {
    private struct Key: Hashable {
        var scope: ScopeNumber
        var database: DatabaseID
        var zone: String
    }

    private struct State {
        var zones: [Key: FoundZone] = [:]
        /// Counts the times that the directory was cleared.
        var version = 0
    }

    private let state = Mutex(State())
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
        let (known, version) = state.withLock { ($0.zones[key], $0.version) }
        if let known { return known }
        let found = try reader.find(address, in: database, of: scope, by: caller)
        guard let found else { return nil }
        state.withLock { state in
            // What was read before the directory was cleared may be out of date.
            guard state.version == version else { return }
            if state.zones.count >= ZoneDirectory.capacity { state.zones = [:] }
            state.zones[key] = found
        }
        return found
    }

    /// Zones have changed: what was found is forgotten.
    package func clear() {
        state.withLock { state in
            state.zones = [:]
            state.version += 1
        }
    }
}
