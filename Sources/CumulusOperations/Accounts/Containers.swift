// Containers: made by operators, one scope per environment.

package import CumulusModel
package import CumulusStorage

package enum Containers {
    /// Makes both environments of a container.
    ///
    /// True if they existed.
    package static func create(
        _ name: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        var existed = true
        for environment in Environment.allCases {
            let scope = ScopeID(container: name, environment: environment)
            if try transaction.scope(scope) == nil {
                existed = false
                _ = try transaction.makeScope(scope)
            }
        }
        return existed
    }

    /// The names of all containers, sorted.
    package static func all(in reader: ReadTransaction) throws(EngineError) -> [String] {
        var names: Set<String> = []
        for (key, _) in try reader.rows(.meta, .all(.scope)) {
            var parts = KeyReader(key)
            let name = try parts.text()
            if !name.isEmpty { names.insert(name) }
        }
        return names.sorted()
    }

    package static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .badContainer,
            """
            container '\(name)' does not exist on this node; create it with \
            'cumulus container create \(name)' or name it in the node's setting 'container'
            """
        )
    }
}
