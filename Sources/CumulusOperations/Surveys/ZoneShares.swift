// The shares in a zone: no row lists them, so all records of the zone are read, some at a time.
//
// Used by `ShareSurvey` before a zone is shared as a whole, and by the audit log of the node, which
// lists the shares of records that ended with their zone.

import CumulusModel
package import CumulusStorage

/// The shares whose records live in a zone, in one state.
package struct ZoneShares: Sendable {
    let zone: ZoneNumber
    package private(set) var names: Set<String> = []
    /// The records that are still to be looked at; nil at the end.
    private var rest: KeyRange?
    /// The state in which the records that were looked at are known.
    private var vector: VersionVector

    init(of zone: ZoneNumber, as vector: VersionVector) {
        (self.zone, self.vector) = (zone, vector)
        rest = .records(of: zone)
    }

    /// The shares of a zone in the private database of a caller; nil if there is no such zone, or
    /// if no record of the scope was ever shared.
    package init?(
        in address: ZoneAddress,
        of scope: ScopeNumber,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws {
        let database = try Authorisation.database(.private, for: caller)
        guard try !reader.shareIDRows(in: scope, after: nil, limit: 1).rows.isEmpty,
            let zone = try reader.locate(address, in: database, of: scope, by: caller)?.number
        else { return nil }
        self.init(of: zone, as: VersionVector())
    }

    /// The names of the shares in force, sorted, without the share of the zone.
    package func ofRecords(in reader: ReadTransaction) throws(EngineError) -> [String] {
        var found: [String] = []
        for name in names.sorted() where name != Names.zoneShare {
            if try reader.shareInForce(name, in: zone) != nil { found.append(name) }
        }
        return found
    }

    package var isComplete: Bool { rest == nil }

    package mutating func look(at count: Int, _ reader: ReadTransaction) throws(EngineError) {
        guard var range = rest else { return }
        var (looked, next, found): (Int, Bytes?, [Bytes]) = (0, nil, [])
        var damage: EngineError?
        try reader.scan(.records, range, backwards: false) { key, value in
            if looked == count {
                next = key
                return false
            }
            looked += 1
            do throws(EngineError) {
                let row = try reader.decoding(key) { () throws(MalformedBytes) in
                    try RecordRow(value)
                }
                if row.isLivingShare { found.append(key) }
                return true
            } catch {
                damage = error
                return false
            }
        }
        if let damage { throw damage }
        for key in found {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            names.insert(try parts.text())
        }
        if let next { range.start = next }
        rest = next == nil ? nil : range
    }

    /// Looks again at records that changed; returns how many did.
    mutating func follow<Reader: RowReader & ~Copyable>(
        _ runs: Runs,
        _ reader: borrowing Reader
    ) throws(EngineError) -> Int {
        let changed = try reader.changedRecords(of: zone, since: vector, runs) ?? []
        for name in changed {
            if try reader.record(zone, name)?.isLivingShare == true {
                names.insert(name)
            } else {
                names.remove(name)
            }
        }
        vector = runs.vector
        return changed.count
    }
}

extension RecordRow {
    fileprivate var isLivingShare: Bool {
        !isDead && StoredName.shown(type) == Names.shareType
    }
}
