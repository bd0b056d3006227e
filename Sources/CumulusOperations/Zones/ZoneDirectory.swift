// Caches the zones that fetches found lately, so that a fetch is one read of the store instead of
// three.
//
// Reads share it as long as no zone or share changes; each such change begins a new one. How the
// records of a scope look goes over to the new one, since an event loop can't read that.
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

    private struct ViewerKey: Hashable {
        var zone: Key
        var user: String
    }

    private let zones = Mutex<[Key: FoundZone]>([:])
    /// The shares that give a user access to a zone.
    private let shares = Mutex<[ViewerKey: [Admission]]>([:])
    /// How the records of scopes look.
    private let lenses: Mutex<[ScopeNumber: RecordLens]>
    private static let capacity = 10_000

    /// - Parameter old: The directory before a change, if records look as they did before it.
    package init(after old: ZoneDirectory? = nil) {
        lenses = Mutex(old?.lenses.withLock { $0 } ?? [:])
    }

    /// Finds a zone as `RowReader.find` does; the store is read only if it was not found before.
    package func find(
        _ address: ZoneAddress,
        in database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws(EngineError) -> FoundZone? {
        guard database.kind == .shared else {
            guard caller.isOwner(named: address.owner) else { return nil }
            return try find(address.name, in: database, of: scope, reader)
        }
        let owner = DatabaseID(kind: .private, owner: address.owner)
        let zone = Key(scope: scope, database: owner, zone: address.name)
        let key = ViewerKey(zone: zone, user: caller.user)
        if let known = shares.withLock({ $0[key] }) {
            return try find(address.name, in: owner, of: scope, reader)?.seen(by: known, reader)
        }
        guard let row = try reader.visibleZone(address, of: scope, to: caller),
            let found = try find(address.name, in: owner, of: scope, reader)
        else { return nil }
        let shares = try reader.shares(lettingIn: caller.user, to: found.located, by: row)
        self.shares.withLock { kept in
            if kept.count >= ZoneDirectory.capacity { kept = [:] }
            kept[key] = shares
        }
        return try found.seen(by: shares, reader)
    }

    /// The zone with the rights of its owner.
    private func find(
        _ name: String,
        in database: DatabaseID,
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> FoundZone? {
        let key = Key(scope: scope, database: database, zone: name)
        if let known = zones.withLock({ $0[key] }) { return known }
        guard let located = try reader.locate(name, in: database, of: scope) else { return nil }
        let found = FoundZone(located, try lens(of: scope, reader))
        zones.withLock { zones in
            if zones.count >= ZoneDirectory.capacity { zones = [:] }
            zones[key] = found
        }
        return found
    }

    private func lens(
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> RecordLens {
        if let known = lenses.withLock({ $0[scope] }) { return known }
        let lens = try RecordLens(of: scope, in: reader)
        lenses.withLock { $0[scope] = lens }
        return lens
    }
}

extension FoundZone {
    /// The zone as a user sees it by these shares; nil if it sees nothing.
    fileprivate func seen(
        by shares: [Admission],
        _ reader: ReadTransaction
    ) throws(EngineError) -> FoundZone? {
        try located.seen(by: shares, in: reader).map { FoundZone($0, lens) }
    }
}
