// The texts in the one row of `cumulus_site`: the origin of the packs, and the node's secrets.
//
// `SQLPacks` asks for the origin, and `cumulusd` for the secrets, by `PostgresEngine`. A change is
// durable when it returns, and a process that lost its term changes nothing.

import CumulusModel
package import CumulusStorage

/// A secret that the database keeps for its node, if the operator doesn't.
package enum SiteSecret: Sendable {
    case clusterKey
    case operatorToken

    fileprivate var column: SiteColumn {
        switch self {
        case .clusterKey: .clusterKey
        case .operatorToken: .operatorToken
        }
    }
}

enum SiteColumn: String {
    case packOrigin = "pack_origin"
    case clusterKey = "cluster_key"
    case operatorToken = "operator_token"

    fileprivate var reading: Statement {
        Statement(name: "get \(rawValue)", text: "SELECT \(rawValue) FROM cumulus_site")
    }

    fileprivate var writing: Statement {
        Statement(
            name: "set \(rawValue)",
            text: """
                WITH f AS (\(Term.share))
                UPDATE cumulus_site SET \(rawValue) = $2::text WHERE EXISTS (SELECT FROM f)
                RETURNING 1
                """
        )
    }
}

extension PostgresStore {
    /// Reads a text of the row; nil if it was never set.
    func text(of column: SiteColumn) throws(EngineError) -> String? {
        let answer = try NewestRows(store: self).ask([Question(column.reading)])[0]
        return answer.count == 0 || answer.isNull(0, 0) ? nil : answer.text(0, 0)
    }

    func set(_ column: SiteColumn, _ text: String) throws(EngineError) {
        var parameters = Parameters()
        parameters.add(process)
        parameters.add(Bytes(text.utf8))
        _ = try change(Question(column.writing, parameters))
    }
}

extension PostgresEngine {
    /// Reads a secret; nil if the database does not keep it.
    package func secret(_ secret: SiteSecret) throws(EngineError) -> String? {
        try store.text(of: secret.column)
    }

    /// Keeps a secret.
    package func keep(_ text: String, as secret: SiteSecret) throws(EngineError) {
        try store.set(secret.column, text)
    }
}
