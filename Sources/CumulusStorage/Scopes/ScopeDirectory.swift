// The scopes that a node knows: its cluster's own and the ones of its containers.
//
// The links to peers, the collector and the status go through all of them.
//
// Folder: the scopes, databases and zones that a store holds. Read `ScopeDirectory`, then
// `ScopeZones`, `StagedZones`, `ZoneCache` and `ScopeRegisters`.

package import CumulusModel

package enum ScopeDirectory {
    /// Every scope with its number, ordered by number: the cluster's comes first.
    package static func all<Reader: RowReader & ~Copyable>(
        in reader: borrowing Reader
    ) throws(EngineError) -> [(scope: ScopeID, number: ScopeNumber)] {
        var found: [(scope: ScopeID, number: ScopeNumber)] = []
        for (key, value) in try reader.rows(.meta, .all(.scope)) {
            let number = try reader.decoding(key) { () throws(MalformedBytes) in
                ScopeNumber(truncatingIfNeeded: try NumberRow(row: value).number)
            }
            found.append((try scope(key), number))
        }
        return found.sorted { $0.number < $1.number }
    }

    private static func scope(_ key: Bytes) throws(EngineError) -> ScopeID {
        var parts = KeyReader(key)
        let container = try parts.text()
        guard let environment = Environment(rawValue: try parts.number(UInt8.self)) else {
            throw .corrupt("a scope of an unknown environment")
        }
        return ScopeID(container: container, environment: environment)
    }
}

// MARK: - In the writer

extension WriteTransaction {
    /// The environment of a scope.
    mutating func environment(of scope: ScopeNumber) throws(EngineError) -> Environment {
        if let known = state.environments[scope] { return known }
        for (scope, number) in try ScopeDirectory.all(in: self) {
            state.environments[number] = scope.environment
        }
        guard let environment = state.environments[scope] else {
            throw .corrupt("scope \(scope) has no name")
        }
        return environment
    }
}
