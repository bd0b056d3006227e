// The state on which nodes that have seen the same commits must agree, as text without any node's
// own numbers.
//
// Used by the checks of convergence. Left out: what is local (order, outcomes, conflicts, numbers,
// the increments of requests, which commits ended a life) and what a tombstone says beyond its
// frontier. Where nodes forget,
// they do so at times of their own: then tombstones, horizons, frontiers and the change index are
// left out too.

package import CumulusModel
package import CumulusStorage

package enum ReplicatedState {
    /// The rows of a scope, by name.
    ///
    /// `forgetting`: nodes collect, each when it likes.
    package static func rows(
        of scope: ScopeID,
        in engine: any EngineReader,
        forgetting: Bool = false
    ) throws -> [String: Bytes] {
        let reader = ReadTransaction(engine, reach: .disk)
        guard let number = try reader.scope(scope) else { return [:] }
        var found: [String: Bytes] = [:]
        try addMeta(number, reader, &found)
        for (key, value) in try reader.rows(.meta, .all(.database)) {
            var parts = KeyReader(key)
            guard try parts.number(ScopeNumber.self) == number else { continue }
            let name = "\(try parts.number(UInt8.self)) \(try parts.text())"
            let database = try NumberRow(row: value).number
            try addZones(of: database, named: name, forgetting, reader, &found)
        }
        return found
    }

    /// The names under which two nodes hold something else.
    package static func differences(
        _ one: [String: Bytes],
        _ other: [String: Bytes]
    ) -> [String] {
        Set(one.keys).union(other.keys).filter { one[$0] != other[$0] }.sorted().map { name in
            "\(name): \(one[name]?.hex ?? "nothing") and \(other[name]?.hex ?? "nothing")"
        }
    }

    private static func addMeta(
        _ scope: ScopeNumber,
        _ reader: ReadTransaction,
        _ found: inout [String: Bytes]
    ) throws {
        for subspace in [Subspace.vector, .register] {
            for (key, value) in try reader.rows(.meta, .all(subspace)) {
                var parts = KeyReader(key)
                guard try parts.number(ScopeNumber.self) == scope else { continue }
                found["\(subspace) \(Bytes(key.dropFirst(3)).hex)"] =
                    subspace == .vector ? try RunRow(row: value).end.rowBytes : value
            }
        }
    }

    private static func addZones(
        of database: DatabaseNumber,
        named databaseName: String,
        _ forgetting: Bool,
        _ reader: ReadTransaction,
        _ found: inout [String: Bytes]
    ) throws {
        for (key, value) in try reader.rows(.meta, .zones(of: database)) {
            var parts = KeyReader(key)
            _ = try parts.number(DatabaseNumber.self)
            let name = "\(databaseName)/\(try parts.text())"
            var zone = try ZoneRow(row: value)
            let number = zone.number
            zone.number = 0
            if forgetting { zone.horizon = VersionVector() }
            found["zone \(name)"] = zone.rowBytes
            let state = try reader.get(.zoneState(number))
            found["zone state \(name)"] = state ?? ZoneState().rowBytes
            try addRecords(of: number, named: name, forgetting, reader, &found)
            var ranges = [
                (Subspace.backReference, KeyRange.backReferences(of: number)),
                (.assetUse, .assetUses(of: number)),
            ]
            if !forgetting { ranges.append((.change, .changes(of: number))) }
            for (subspace, range) in ranges {
                for (key, value) in try reader.rows(.index, range) {
                    found["\(subspace) \(name) \(Bytes(key.dropFirst(5)).hex)"] = value
                }
            }
        }
    }

    private static func addRecords(
        of zone: ZoneNumber,
        named name: String,
        _ forgetting: Bool,
        _ reader: ReadTransaction,
        _ found: inout [String: Bytes]
    ) throws {
        for (subspace, range) in [
            (Subspace.record, KeyRange.records(of: zone)), (.sibling, .siblings(of: zone)),
        ] {
            for (key, value) in try reader.rows(.records, range) {
                let row = try RecordRow(value)
                if forgetting, row.isDead { continue }
                var writer = CanonicalWriter()
                for stamp in row.frontier { writer.stamp(stamp) }
                let label = "\(subspace) \(name) \(Bytes(key.dropFirst(5)).hex)"
                found[label] = (row.isDead ? [] : row.content) + writer.bytes
                guard forgetting else { continue }
                // Its digest covers all but counters and frontier; those are written out.
                found[label] = row.digest + row.tag + Bytes("\(row.counters)".utf8)
            }
        }
    }
}
